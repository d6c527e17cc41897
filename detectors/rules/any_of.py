"""Several conditions, one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from detectors.sdk.registry import Moment, Standing, composite


@dataclass(frozen=True, slots=True)
class AnyOfArgs:
    """Nothing beside `of`."""


@composite(args=AnyOfArgs, present=max)
def any_of(
    children: Sequence[Standing], own: Standing, child: int, moment: Moment, args: AnyOfArgs
) -> float:
    """At least one condition in `of` is true; the level is that of the most fulfilled one."""
    return max(c.now for c in children)

"""Several conditions, one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from detectors.registry import Standing, composite


@dataclass(frozen=True, slots=True)
class Args:
    """Nothing beside `of`."""


@composite(args=Args)
def any_of(children: Sequence[Standing], own: Standing, child: int, seq: int, args: Args) -> float:
    """At least one condition in `of` is true; the level is that of the most fulfilled one."""
    return max(c.now for c in children)

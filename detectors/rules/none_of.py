"""Several conditions, none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from detectors.sdk.registry import Moment, Standing, composite


@dataclass(frozen=True, slots=True)
class NoneOfArgs:
    """Nothing beside `of`."""


def _remaining(levels: Sequence[float]) -> float:
    return 1.0 - max(levels)


@composite(
    args=NoneOfArgs,
    initial=1.0,
    latches=False,
    present=_remaining,
    absent=lambda args: True,
    effect=lambda args: "opposes",
)
def none_of(
    children: Sequence[Standing], own: Standing, child: int, moment: Moment, args: NoneOfArgs
) -> float:
    """No condition in `of` is true now. For a click, which stays true once made: it was never made.

    A file that is gone says nothing: where it must be there, `file_is` with `whole` belongs beside
    it. What a locked, damaged or too large file may hold counts as held.
    """
    return 1.0 - max(c.now for c in children)

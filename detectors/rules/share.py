"""Several conditions, as many of them as are so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from detectors.sdk.arguments import arg
from detectors.sdk.registry import Moment, Standing, composite


@dataclass(frozen=True, slots=True)
class ShareArgs:
    holding: bool = arg(
        "Whether each must be true at the moment; else each need only have been true once.", False
    )


def _mean(levels: Sequence[float]) -> float:
    return round(math.fsum(levels) / len(levels), 12)


@composite(args=ShareArgs, present=_mean)
def share(
    children: Sequence[Standing], own: Standing, child: int, moment: Moment, args: ShareArgs
) -> float:
    """The part of the conditions in `of` that are true: of four facts, rows, cells or tests, three
    are worth three quarters. One that is true in part counts with that part.
    """
    return _mean([c.now if args.holding else c.best for c in children])

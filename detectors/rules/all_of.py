"""Several conditions, all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from detectors.sdk.arguments import arg
from detectors.sdk.registry import Moment, Standing, composite
from detectors.sdk.window import Window


@dataclass(frozen=True, slots=True)
class AllOfArgs:
    holding: bool = arg(
        "Whether all must be true at the same time; else each need only have been true once.", False
    )
    within: Window | None = arg(
        "How far apart their events may be: {steps: 0} is in one step, {seconds: 5} within five"
        " seconds.",
        None,
    )


@composite(args=AllOfArgs, present=min)
def all_of(
    children: Sequence[Standing], own: Standing, child: int, moment: Moment, args: AllOfArgs
) -> float:
    """Every condition in `of` has been true, in any order; the level is that of the least fulfilled
    one.

    With `within`, the latest events that made them true must be that close to each other.
    """
    level = min(c.now if args.holding else c.best for c in children)
    if args.within is None:
        return level
    if level < 1.0:
        return 0.0
    if own.best >= 1.0 and not args.holding:
        return 1.0
    whens = [c.when for c in children if c.when is not None]
    if not whens:
        return level
    steps, times = [w.step for w in whens], [w.at for w in whens]
    is_close = args.within.holds(max(steps) - min(steps), max(times) - min(times))
    return 1.0 if is_close else 0.0

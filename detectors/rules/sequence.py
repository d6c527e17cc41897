"""Several conditions, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from detectors.sdk.arguments import arg
from detectors.sdk.registry import Moment, Standing, composite
from detectors.sdk.window import Window


@dataclass(frozen=True, slots=True)
class SequenceArgs:
    holding: bool = arg(
        "Whether each earlier one must still be true when a later one comes.", False
    )
    within: Window | None = arg(
        "How far the last may be from the first: {steps: 2}, {seconds: 30}; of several beginnings"
        " the latest counts.",
        None,
    )


@composite(args=SequenceArgs, version=2)
def sequence(
    children: Sequence[Standing], own: Standing, child: int, moment: Moment, args: SequenceArgs
) -> float:
    """The conditions in `of` come true in their order, each by an event after the one before.

    With `holding`, what came earlier must still be true at that moment: the fields right *as*
    Submit is clicked.
    """
    if own.reached is None:
        own.reached = [[] for _ in children]
    reached = own.reached
    came = moment.seq in children[child].at and children[child].now >= 1.0
    # By another reading of the same event.
    told = bool(reached[child]) and reached[child][-1][0] == moment.seq
    if came and not told and (not reached[child] or args.within is not None):
        start = _start(children, reached, child, moment, args)
        if start is not None:
            # Of each part its latest chain, and the one before: two parts may come with the same
            # event.
            reached[child] = [*reached[child], [moment.seq, *start]][-2:]
    return 1.0 if reached[-1] or own.best >= 1.0 else 0.0


def _start(
    children: Sequence[Standing], reached: list[Any], child: int, moment: Moment, args: SequenceArgs
) -> tuple[int, int] | None:
    """(time, step) at which the chain began that the part at ``child`` goes on with; None if there
    is none."""
    if args.holding and any(c.now < 1.0 for c in children[:child]):
        return None
    here = (moment.at, moment.step)
    # A condition that is true without any event of its own (none_of) has no moment to be waited
    # for: it must be so now, and the part before it must have come.
    last = child - 1
    while last >= 0 and not children[last].at:
        if children[last].now < 1.0:
            return None
        last -= 1
    if last < 0:
        return here
    before = [link for link in reached[last] if link[0] < moment.seq]
    if not before:
        return None
    _, at, step = before[-1]
    if args.within is not None and not args.within.holds(moment.step - step, moment.at - at):
        return None
    return at, step

"""Something stays true for a while."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from detectors.sdk.arguments import arg
from detectors.sdk.registry import Moment, Standing, composite
from detectors.sdk.window import Window


@dataclass(frozen=True, slots=True)
class HoldArgs:
    window: Window = arg(
        "How long: {seconds: 5}, {steps: 2}, or both; a step counts when it begins."
    )


@composite(args=HoldArgs, ticks=True, absent=lambda args: True)
def hold(
    children: Sequence[Standing], own: Standing, child: int, moment: Moment, args: HoldArgs
) -> float:
    """Every condition in `of` is true, all the time, for as long as `window` says (a stability
    window).

    Time is looked at when a step begins, is sealed, or the episode closes, and when the condition
    becomes untrue: it pays at the first of these that shows that the window has passed. What was
    true at the start must become untrue first: it would pay for waiting.
    """
    true = min(c.now for c in children) >= 1.0
    since = own.reached
    if own.best >= 1.0:
        return 1.0
    if true and since is None:
        own.reached = since = [moment.at, moment.step] if moment.seen else []
    held = (
        bool(since) and args.window.passed(moment.step - since[1], moment.at - since[0])
        if since
        else False
    )
    if not true:
        own.reached = None
    return 1.0 if held else 0.0

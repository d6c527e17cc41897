"""Something, so many times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from detectors.sdk.arguments import arg
from detectors.sdk.registry import Moment, Standing, composite

MAX_DISTINCT = 64
MAX_TIMES = 1000


@dataclass(frozen=True, slots=True)
class CountArgs:
    at_least: int = arg("How often; the level is the part of it that was reached.")
    at_most: int | None = arg("More than that, and it is not true.", None)
    distinct: bool = arg(
        "Distinct things that are so now (files, fields, buttons, requests: docs/tasks.md), up to"
        " 64; false: every event counts.",
        True,
    )

    def __post_init__(self) -> None:
        most = MAX_DISTINCT if self.distinct else MAX_TIMES
        highest = self.at_least if self.at_most is None else self.at_most
        if not 1 <= self.at_least <= highest < most:
            raise ValueError(f"at_least from 1, at_most not below it, both below {most}")


@composite(
    args=CountArgs,
    absent=lambda args: args.at_most is not None,
    effect=lambda args: "supports" if args.at_most is None else "either",
)
def count(
    children: Sequence[Standing], own: Standing, child: int, moment: Moment, args: CountArgs
) -> float:
    """The conditions in `of` come true so many times, taken together: three files, two different
    buttons.

    `at_most` rests on something not happening: it can become untrue again, and needs
    `must_hold_at_end` or a goal that is decided late to be of use.
    """
    if args.distinct:
        found = sum(level >= 1.0 for c in children for level in (c.keys or {}).values())
    else:
        found = _count_event(children[child], own, moment)
    if args.at_most is not None and found > args.at_most:
        return 0.0
    return min(1.0, found / args.at_least)


def _count_event(read: Standing, own: Standing, moment: Moment) -> int:
    """Count the event at hand, if it made the condition that was read true; return how many did."""
    last, found = own.reached or (0, 0)
    if moment.seen and moment.seq != last and moment.seq in read.at and read.now >= 1.0:
        last, found = moment.seq, min(found + 1, MAX_TIMES)
    own.reached = [last, found]
    return found

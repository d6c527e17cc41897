"""Several conditions, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from detectors.arguments import arg
from detectors.registry import Standing, composite


@dataclass(frozen=True, slots=True)
class Args:
    holding: bool = arg("Whether each earlier one must still be true when a later one comes.", False)


@composite(args=Args)
def sequence(children: Sequence[Standing], own: Standing, child: int, seq: int, args: Args) -> float:
    """The conditions in `of` come true in their order, each by an event after the one before.

    With `holding`, what came earlier must still be true at that moment: the fields right *as* Submit is clicked.
    """
    if own.reached is None:
        own.reached = [0] * len(children)
    reached = own.reached
    if (
        not reached[child]
        and seq in children[child].at
        and children[child].now >= 1.0
        and _may_come(children, reached, child, seq, args.holding)
    ):
        reached[child] = seq
    return 1.0 if reached[-1] or own.best >= 1.0 else 0.0


def _may_come(children: Sequence[Standing], reached: list[int], child: int, seq: int, holding: bool) -> bool:
    if holding and any(c.now < 1.0 for c in children[:child]):
        return False
    if child == 0:
        return True
    before = reached[child - 1]
    # A condition that is true without any event of its own (none_of) has no moment to be waited for.
    silent = before == 0 and not children[child - 1].at and children[child - 1].now >= 1.0
    return silent or 0 < before < seq

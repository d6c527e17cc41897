"""What the task is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from detectors.sdk.arguments import arg
from detectors.sdk.registry import Moment, Standing, composite


@dataclass(frozen=True, slots=True)
class GoalArgs:
    requires: tuple[str, ...] = arg("Ids of the milestones that must all have been reached.", ())


@composite(args=GoalArgs, present=min)
def goal(
    children: Sequence[Standing], own: Standing, child: int, moment: Moment, args: GoalArgs
) -> float:
    """All milestones in `requires` are reached and the condition in `when`, or all of several in
    `of`, hold at the same moment; then the episode is a success.

    A required milestone that was already true at the start counts as reached; a goal that is, pays
    nothing.
    """
    return 1.0 if all(c.now >= 1.0 for c in children) else 0.0

"""What else an episode may be worth, if what nobody saw was as wanted.

A rule that can't know what it is asked (`UnseenError`) leaves two stories: the engine's own, in
which it is not so, and one in which it is, and all later such things too. A step that both pay
alike does not depend on what was not seen; of any other the worth is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from detectors.engine.state import State
from detectors.model.rewards import total
from detectors.model.types import Milestone, Reward

MIN_DIFFERENCE = 1e-9
MAX_STATES = 4
"""Stories of one episode beside its own; of more unseen things than that, the latest takes the last story's place."""


def differs(
    own: State,
    milestones: Iterable[Milestone],
    other: State,
    reward: Reward,
    index: Mapping[str, int],
) -> tuple[str | None, str] | None:
    """Where another story's ``reward`` is not what ``milestones`` of our own pay for the same step:
    the milestone's id (None: what the end is worth) and what may be; None where they agree.

    A milestone that only our own pays was paid in the other before, in a step that was null: what
    is known by now is made up for.
    """
    ours, theirs = _paid(milestones), _paid(reward.milestones)
    for id in sorted(ours.keys() | theirs.keys()):
        mine, its = ours.get(id, 0.0), theirs.get(id, 0.0)
        if abs(mine - its) <= MIN_DIFFERENCE or (
            mine > 0 and its == 0 and _has(own, other, index.get(id))
        ):
            continue
        return (
            (id, f"milestone {id} may have come true")
            if id in index
            else (None, f"{id} may be {its:g}")
        )
    if own.success is not None and own.closed and other.success is not own.success:
        return None, "the goal may have been decided otherwise"
    return (None, reward.reason) if reward.reason is not None else None


def _has(own: State, other: State, n: int | None) -> bool:
    """Whether the other story has paid for the milestone what our own pays only now."""
    if n is None or n not in own.awards or n not in other.awards:
        return False
    mine, its = own.awards[n], other.awards[n]
    return its.best - its.base >= mine.best - mine.base - MIN_DIFFERENCE


def _paid(milestones: Iterable[Milestone]) -> dict[str, float]:
    """What each pays of its level; of what comes with the end and the steps, its worth."""
    found: dict[str, list[float]] = {}
    for m in milestones:
        if not m.baseline:
            found.setdefault(m.id, []).append(m.worth if m.id.startswith("(") else m.value)
    return {id: total(values) for id, values in found.items()}

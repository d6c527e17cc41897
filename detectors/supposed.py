"""The other bound of an episode: what it would be paid if all that nobody saw had been as wanted.

A rule that can't know what it is asked (`UnseenError`) leaves two stories: the engine's own, in which it is not so,
and one in which it is. Where both pay the same, what was not seen does not matter; where the second pays more, takes
back more or punishes more, the step's worth is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from detectors.rewards import total
from detectors.types import Milestone, Reward

LEAST = 1e-9


def differs(reward: Reward | None, milestones: Iterable[Milestone], rules: Mapping[str, int]) -> str | None:
    """Why the step's worth is not known: ``reward`` is the other story's of the same step, ``milestones`` what our own
    pays; None where they agree. A milestone that only our own pays was paid earlier in the other. What the end and a
    potential are worth beside the milestones (``rules`` has their ids) follows from them."""
    if reward is None:
        return None
    ours, theirs = _values(milestones), _values(reward.milestones)
    for id in sorted(theirs.keys() & rules.keys()):
        own, other = ours.get(id, 0.0), theirs[id]
        if abs(other) > abs(own) + LEAST or own * other < 0:
            return f"milestone {id} may have come true"
    return reward.reason


def _values(milestones: Iterable[Milestone]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for m in milestones:
        if not m.baseline:
            found.setdefault(m.id, []).append(m.value)
    return {id: total(values) for id, values in found.items()}

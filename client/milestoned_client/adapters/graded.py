"""A rollout's reward with the rewards of its steps, for frameworks that take both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from milestoned_client.adapters.paid import Paid, payout_of
from milestoned_client.adapters.scoring import (
    UNANSWERED,
    score,
    score_now,
    shared_async,
    shared_client,
)
from milestoned_client.adapters.settings import AdapterSettings
from milestoned_client.json_values import Json
from milestoned_client.models import Milestone, Reward, Sample, Score, Transition

OTHER = "milestoned:other"
"""What was paid for no milestone: by a judge, or by another fold than the sum."""
NOT_EARNED = "milestoned:not_earned"
_SMALL = 1e-9


@dataclass(frozen=True, slots=True)
class GradedRollout:
    """``steps``: the rewards of an episode in order; none where an answer alone was scored."""

    paid: Paid
    steps: tuple[Reward, ...] = ()
    episode: str | None = None

    def info(self) -> dict[str, object]:
        """What is told beside the number, as JSON."""
        return {
            "episode": self.episode,
            "mask": self.paid.reward is None,
            "reason": self.paid.reason,
            "components": dict(self.paid.components),
            **self.paid.logs(),
        }


class RewardPart(NamedTuple):
    """A part of a reward: ``weight`` times ``value``, of 0 to 1; a penalty's weight is negative."""

    name: str
    weight: float
    value: float
    milestones: tuple[Milestone, ...] = ()


async def grade_rollout(label: Json, answer: str, settings: AdapterSettings) -> GradedRollout:
    """Return what an episode or an answer was worth. Raises refusals."""
    (found,) = await score([Sample(label=label, answer=answer)], settings)
    if not isinstance(found, Score) or found.episode is None:
        return GradedRollout(payout_of(found))
    client, gate = shared_async(settings)
    try:
        async with gate:
            episode = client.episode(found.episode)
            transitions = await episode.trajectory(mask_causes=settings.mask_causes)
    except UNANSWERED as error:
        return GradedRollout(payout_of(error), episode=found.episode)
    return _graded(found, transitions)


def grade_rollout_now(label: Json, answer: str, settings: AdapterSettings) -> GradedRollout:
    """Return the same over blocking connections. Raises refusals."""
    (found,) = score_now([Sample(label=label, answer=answer)], settings)
    if not isinstance(found, Score) or found.episode is None:
        return GradedRollout(payout_of(found))
    try:
        episode = shared_client(settings).episode(found.episode)
        transitions = episode.trajectory(mask_causes=settings.mask_causes)
    except UNANSWERED as error:
        return GradedRollout(payout_of(error), episode=found.episode)
    return _graded(found, transitions)


def _graded(found: Score, transitions: Sequence[Transition]) -> GradedRollout:
    steps = tuple(one.reward for one in transitions if one.reward is not None)
    return GradedRollout(payout_of(found), steps, found.episode)


def reward_parts(reward: float, steps: Sequence[Reward]) -> list[RewardPart]:
    """Split a known reward: a part for each milestone, what was paid besides, what was not earned.

    The parts sum to the reward; unless more than 1 was earned, their positive weights sum to 1.
    """
    earned: dict[str, list[Milestone]] = {}
    for step in steps:
        for milestone in step.milestones if step.reward is not None else ():
            earned.setdefault(milestone.id, []).append(milestone)
    parts = [
        RewardPart(id, sum(one.worth for one in times), 1.0, tuple(times))
        for id, times in earned.items()
    ]
    rest = reward - sum(part.weight for part in parts)
    if abs(rest) > _SMALL:
        parts.append(RewardPart(OTHER, rest, 1.0))
    missing = 1.0 - sum(part.weight for part in parts if part.weight > 0)
    if missing > _SMALL:
        parts.append(RewardPart(NOT_EARNED, missing, 0.0))
    return parts

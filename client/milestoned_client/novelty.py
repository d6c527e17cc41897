"""Novelty as pay: values for a template whose milestones are weighed by how seldom earlier episodes
reached them. docs/rewards.md, "Novelty"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from milestoned_client.models import Reward

DIGITS = 3
"""Significant ones of a weight: it gets small, and never 0."""


class NoveltyWeights:
    """Counts in how many episodes each milestone was reached, and says what it is to weigh in the
    next one: 1/√(1 + n), n rounded down to a power of 2.

    ``milestones``: the id of each weighed milestone, by the parameter of the template that is its
    weight. ``counts``: those of an earlier run, by milestone, as `counts` gave them.
    """

    def __init__(
        self, milestones: Mapping[str, str], counts: Mapping[str, int] | None = None
    ) -> None:
        self._milestones = dict(milestones)
        self._counts = dict.fromkeys(self._milestones.values(), 0)
        for name, count in (counts or {}).items():
            if name in self._counts:
                self._counts[name] = count

    @property
    def counts(self) -> dict[str, int]:
        """Episodes that reached each milestone so far, to be kept with a checkpoint."""
        return dict(self._counts)

    def count(self, rewards: Iterable[Reward]) -> None:
        """Count an episode once, by all of its rewards. What a step of which the reward is not
        known may have reached does not count."""
        reached = {
            milestone.id
            for reward in rewards
            if reward.reward is not None
            for milestone in reward.milestones
            if milestone.value > 0
        }
        for name in reached & self._counts.keys():
            self._counts[name] += 1

    def values(self) -> dict[str, float]:
        """Return the weight of each milestone, by the template's parameter. They change when a
        count reaches 1, 2, 4 and so on, so that few versions of the task are made."""
        return {
            parameter: _weight_after(self._counts[name])
            for parameter, name in self._milestones.items()
        }


def _weight_after(count: int) -> float:
    known = 1 << (count.bit_length() - 1) if count else 0
    return float(f"{1 / math.sqrt(1 + known):.{DIGITS}g}")

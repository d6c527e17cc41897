"""Which milestones stored episodes reached, in successes and in failures. Pure.

What is not known counts as such, never as not reached: an episode without a verdict says nothing of
success, and one with a null step, or with a step of which only a penalty is known, says nothing of
a milestone that may have been reached in it, and was not reached in another step.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from api.core.intervals import Z
from api.proposal.weighing import MilestoneWeight
from api.rewards.scored_episode import Result
from detectors.engine.unknown_milestones import UnknownMilestones
from detectors.model.rewards import MilestoneJson, RewardJson

Reached = Literal["yes", "no", "unknown", "at_start"]
"""``at_start``: it was so before the first step, and earned nothing."""
_NOTHING = 1e-9


class ReachedMilestones(NamedTuple):
    """What one episode reached, by the milestone's id; ``success`` None: nobody knows."""

    success: bool | None
    reached: Mapping[str, Reached]


@dataclass(frozen=True, slots=True)
class ReachCount:
    """In how many episodes a milestone was reached (``yes``), of those where it is known.

    ``good`` and ``bad``: episodes that succeeded and failed, and in which it is known; ``in_good``
    and ``in_bad``: those of them that reached it.
    """

    yes: int
    no: int
    unknown: int
    at_start: int
    in_good: int
    good: int
    in_bad: int
    bad: int

    @property
    def known_count(self) -> int:
        """In how many episodes it is known whether the agent reached it."""
        return self.yes + self.no

    @property
    def weight(self) -> MilestoneWeight | None:
        """Return the weight that the counts suggest; None without successes or failures."""
        if not self.good or not self.bad:
            return None
        return MilestoneWeight(self.in_good, self.good, self.in_bad, self.bad)

    def lift_interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the lift: Katz et al. (1978) for a ratio of two shares, of
        the counts as `MilestoneWeight` has them, with a run more that reached it and one that did
        not."""
        in_good, good, in_bad, bad = self.in_good + 1, self.good + 2, self.in_bad + 1, self.bad + 2
        lift = in_good / good / (in_bad / bad)
        width = math.exp(Z * math.sqrt(1 / in_good - 1 / good + 1 / in_bad - 1 / bad))
        return lift / width, lift * width


def read_reached(
    result: Result,
    success: bool | None,
    ids: Iterable[str],
    unknown: UnknownMilestones,
) -> ReachedMilestones:
    """Return which milestones of ``ids`` an episode reached, by what it is worth; ``unknown`` as
    `find_reached` has it."""
    reached = find_reached(
        result["rewards"], result["baseline"], ids, unknown, is_closed=result["closed"]
    )
    return ReachedMilestones(success, reached)


def find_reached(
    rewards: Sequence[RewardJson],
    baseline: Iterable[MilestoneJson],
    ids: Iterable[str],
    unknown: UnknownMilestones,
    *,
    is_closed: bool,
) -> Mapping[str, Reached]:
    """Return which milestones were reached in an episode of these rewards; ``baseline``: those that
    were so at its start."""
    certain: list[MilestoneJson] = []
    unpaid: set[str] = set()
    for reward in rewards:
        certain += _list_certain(reward, unknown.by_step.get(reward["step"], ()))
        if reward["reward"] is None:
            unpaid.update(one["id"] for one in reward["milestones"] if one["value"] > 0)
    facts = _ReachFacts(
        values=_sum_values(certain),
        last_steps={one["id"]: one["step"] for one in certain},
        at_start={one["id"] for one in baseline},
        unknown=unknown,
        unpaid=unpaid & set(unknown.revocable),
        is_whole=bool(rewards) and is_closed,
    )
    return {id: facts.tell(id) for id in ids}


@dataclass(frozen=True, slots=True)
class _ReachFacts:
    """What the steps of an episode say of its milestones. ``values``: what each certainly came to,
    by its id; ``last_steps``: the last step in which it did; ``unpaid``: those that a null step
    reached and that may have been taken back since; ``is_whole``: the episode has steps and is
    closed."""

    values: Mapping[str, float]
    last_steps: Mapping[str, int]
    at_start: Collection[str]
    unknown: UnknownMilestones
    unpaid: Collection[str]
    is_whole: bool

    def tell(self, id: str) -> Reached:
        """Return whether a milestone was reached."""
        if id in self.unpaid:
            return "unknown"
        if abs(self.values.get(id, 0.0)) > _NOTHING:
            return "unknown" if self._may_be_revoked(id) else "yes"
        if not self.is_whole or any(id in ids for ids in self.unknown.by_step.values()):
            return "unknown"
        return "at_start" if id in self.at_start else "no"

    def _may_be_revoked(self, id: str) -> bool:
        """Return whether a step that is not known may have taken the milestone back."""
        open_steps = (step for step, ids in self.unknown.by_step.items() if id in ids)
        return id in self.unknown.revocable and max(open_steps, default=-1) >= self.last_steps[id]


def count_reached(episodes: Sequence[ReachedMilestones], id: str) -> ReachCount:
    """Count the episodes in which a milestone was reached."""
    told = [(one.success, one.reached[id]) for one in episodes]
    of = [reached for _, reached in told]
    return ReachCount(
        yes=of.count("yes"),
        no=of.count("no"),
        unknown=of.count("unknown"),
        at_start=of.count("at_start"),
        in_good=told.count((True, "yes")),
        good=told.count((True, "yes")) + told.count((True, "no")),
        in_bad=told.count((False, "yes")),
        bad=told.count((False, "yes")) + told.count((False, "no")),
    )


def _sum_values(milestones: Iterable[MilestoneJson]) -> dict[str, float]:
    """Return what each milestone came to, a penalty below 0: what was taken back is subtracted."""
    sums: dict[str, float] = {}
    for one in milestones:
        sums[one["id"]] = sums.get(one["id"], 0.0) + one["value"]
    return sums


def _list_certain(reward: RewardJson, unknown: Collection[str]) -> list[MilestoneJson]:
    """Return the milestones of a step that came true for certain, after the first step began: those
    that nothing unobserved could change, and penalties that are paid although the rest of the step
    is not known."""
    is_paid = reward["reward"] is not None
    return [
        one
        for one in reward["milestones"]
        if not one["baseline"] and (one["id"] not in unknown or (is_paid and one["worth"] < 0))
    ]

"""How good each policy version is: pass@k, consistency, and what its steps did (pure).

pass@k is the chance that at least one of k episodes of a task succeeds, pass^k (consistency) that
all k do. Of n episodes whose success is known, c of them successes, both are estimated without
bias: 1 - C(n-c, k)/C(n, k) (Chen et al., Evaluating Large Language Models Trained on Code, 2021,
formula 1) and C(c, k)/C(n, k) (Yao et al., τ-bench, 2024, section 4). A version's figure is the
mean over the tasks with n ≥ k; its interval is Wilson's with tasks as independent draws, which is
wide rather than narrow: a chance from 0 to 1 varies no more than an outcome that is 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from api.core.intervals import Z, wilson
from detectors.model.optional_values import ratio_or_none

NUMBERS_OF_TRIES = (1, 2, 4, 8, 16)


class StepCounts(NamedTuple):
    """Steps of closed episodes by their reward: above 0, 0, below 0, null."""

    earned: int = 0
    idle: int = 0
    wrong: int = 0
    unknown: int = 0

    def plus(self, other: StepCounts) -> StepCounts:
        """Return the sums of both counts, reward by reward."""
        return StepCounts(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class Estimate(NamedTuple):
    """A figure with its 95 % interval, None where too little is known to give one."""

    value: float | None
    low: float | None
    high: float | None


class TaskOutcomes(NamedTuple):
    """A task's closed episodes whose success is known, and the successes among them."""

    known: int
    successes: int


@dataclass(slots=True)
class PolicyOutcomes:
    """Closed episodes of one policy version, or of one part of them (``split``)."""

    version: str
    split: str | None = None
    first_opened: str = ""
    episodes: int = 0
    totals: list[float] = field(default_factory=list)
    steps: StepCounts = StepCounts()
    tasks: dict[int, TaskOutcomes] = field(default_factory=dict)

    def count(
        self, task: int, *, opened_at: str, success: bool | None, total: float | None
    ) -> None:
        """Count a closed episode of the task version ``task``; ``total`` is its share of what the
        task can give."""
        self.first_opened = min(self.first_opened or opened_at, opened_at)
        self.episodes += 1
        if total is not None:
            self.totals.append(total)
        if success is not None:
            known, successes = self.tasks.get(task, TaskOutcomes(0, 0))
            self.tasks[task] = TaskOutcomes(known + 1, successes + success)

    def to_json(self) -> dict[str, object]:
        """Return the figures of this version with their intervals, as JSON."""
        outcomes = list(self.tasks.values())
        known = sum(one.known for one in outcomes)
        successes = sum(one.successes for one in outcomes)
        return {
            "version": self.version,
            "split": self.split,
            "episodes": self.episodes,
            "known": known,
            "success": estimate_share(successes, known)._asdict(),
            "reward": estimate_mean(self.totals)._asdict(),
            "actions": describe_actions(self.steps),
            "pass_at": [row for k in NUMBERS_OF_TRIES for row in _describe_tries(outcomes, k)],
        }


def describe_actions(steps: StepCounts) -> dict[str, float | int | None]:
    """Return the shares of steps that earned, were idle and were wrong, of those whose reward is
    known, and the number of those whose reward is not."""
    known = steps.earned + steps.idle + steps.wrong
    shares = {name: getattr(steps, name) for name in ("earned", "idle", "wrong")}
    return {
        **{name: ratio_or_none(count, known) for name, count in shares.items()},
        "known_steps": known,
        "unknown_steps": steps.unknown,
    }


def _describe_tries(outcomes: Sequence[TaskOutcomes], k: int) -> Iterable[dict[str, object]]:
    """Yield how often any, and all, of ``k`` tries solve a task, over the tasks that were tried so
    often."""
    tried = [one for one in outcomes if one.known >= k]
    if tried:
        any_of = estimate_chance([find_pass_at(one, k) for one in tried])
        all_of = estimate_chance([find_pass_all(one, k) for one in tried])
        yield {
            "k": k,
            "tasks": len(tried),
            "any": any_of._asdict(),
            "all": all_of._asdict(),
        }


def find_pass_at(outcomes: TaskOutcomes, k: int) -> float:
    """Return the unbiased estimate that at least one of ``k`` ≤ ``known`` episodes succeeds."""
    failures = outcomes.known - outcomes.successes
    return 1 - math.comb(failures, k) / math.comb(outcomes.known, k)


def find_pass_all(outcomes: TaskOutcomes, k: int) -> float:
    """Return the unbiased estimate that all of ``k`` ≤ ``known`` episodes succeed."""
    return math.comb(outcomes.successes, k) / math.comb(outcomes.known, k)


def estimate_share(part: int, whole: int) -> Estimate:
    """Return a share with its Wilson interval; all None where ``whole`` is 0."""
    if not whole:
        return Estimate(None, None, None)
    share = part / whole
    return Estimate(share, *wilson(share, whole))


def estimate_chance(chances: Sequence[float]) -> Estimate:
    """Return the mean of chances from 0 to 1, one a task, with Wilson's interval."""
    mean = math.fsum(chances) / len(chances)
    return Estimate(mean, *wilson(mean, len(chances)))


def estimate_mean(values: Sequence[float]) -> Estimate:
    """Return the mean with mean ± 1.96 standard errors. One value has no interval, none has no
    mean."""
    n = len(values)
    if not n:
        return Estimate(None, None, None)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(mean, None, None)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    half = Z * math.sqrt(variance / n)
    return Estimate(mean, mean - half, mean + half)

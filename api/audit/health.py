"""Does the reward still mean what it should, as training goes on? Pure functions over counts of
each policy version.

Each alarm compares a version with the one before it (in the order in which they first opened an
episode); its formula and threshold are in docs/health.md, under the alarm's name.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from api.audit.declared import Declared
from detectors.model.optional_values import ratio_or_none

MIN_EPISODES = 20
MIN_CALLS = 50
MIN_SUCCESSES = 10
REWARD_RISE = 0.05
FARMED = 1.5
JUMP, ERRORS_JUMP, UNNECESSARY_RISE = 0.05, 2.0, 1.5
SLOWER = 1.25
MASK_RISE = 0.02


@dataclass(slots=True)
class Counts:
    """Sums over the closed episodes of one version. ``shares`` are totals as a part of what the
    task can give."""

    version: str
    first_opened: str = ""
    episodes: int = 0
    known_totals: int = 0
    known_shares: int = 0
    shares: float = 0.0
    squares: float = 0.0
    known_goals: int = 0
    successes: int = 0
    steps: int = 0
    steps_of_successes: int = 0
    totals: float = 0.0
    masked: int = 0
    judged: int = 0
    cost: float = 0.0
    masked_while_acting: int = 0
    calls: int = 0
    syntax_errors: int = 0
    execution_errors: int = 0
    repeated_calls: int = 0
    milestones: dict[str, list[int]] = field(default_factory=dict)
    """Task and repeatable milestone → [episodes in which it was reached, times that it was]."""
    components: dict[str, float] = field(default_factory=dict)
    """What the milestones of each component paid, in the episodes whose total is known."""

    @property
    def reward(self) -> float | None:
        """Mean share of what can be earned, over episodes whose total is known."""
        return ratio_or_none(self.shares, self.known_shares)

    @property
    def components_per_episode(self) -> dict[str, float] | None:
        """Mean of what each component paid, over episodes whose total is known; None where none
        is."""
        if not self.known_totals:
            return None
        return {name: paid / self.known_totals for name, paid in sorted(self.components.items())}

    @property
    def goal_rate(self) -> float | None:
        """Successes among episodes whose success is known."""
        return ratio_or_none(self.successes, self.known_goals)

    @property
    def steps_per_success(self) -> float | None:
        """Steps of successful episodes over their number."""
        return ratio_or_none(self.steps_of_successes, self.successes)

    def rate(self, name: str) -> float | None:
        """A count of tool calls (``syntax_errors``, …) over all calls."""
        return ratio_or_none(getattr(self, name), self.calls)

    def per_episode(self, milestone: str) -> float:
        """How often a milestone is paid in an episode that reaches it."""
        reached, times = self.milestones.get(milestone, (0, 0))
        return times / reached if reached else 0.0

    def to_json(self) -> dict[str, Any]:
        """What is told of a version."""
        return {
            "version": self.version,
            "first_opened": self.first_opened,
            "episodes": self.episodes,
            "reward": self.reward,
            "mean_total": ratio_or_none(self.totals, self.known_totals),
            "components": self.components_per_episode,
            "goal_rate": self.goal_rate,
            "steps_per_success": self.steps_per_success,
            "syntax_error_rate": self.rate("syntax_errors"),
            "execution_error_rate": self.rate("execution_errors"),
            "unnecessary_call_rate": self.rate("repeated_calls"),
            "masked_rate": ratio_or_none(self.masked, self.steps),
            "judged": self.judged,
            "judge_cost": self.cost,
            "masked_while_acting_rate": ratio_or_none(self.masked_while_acting, self.steps),
        }


class HealthAlarm(NamedTuple):
    """``version`` against the one ``before``; ``says`` has the numbers."""

    name: str
    version: str
    before: str
    says: str


def alarms(versions: Sequence[Counts]) -> list[HealthAlarm]:
    """Every alarm of versions in their order; a version of too few episodes is passed over."""
    enough = [one for one in versions if one.episodes >= MIN_EPISODES]
    return [
        HealthAlarm(name, now.version, before.version, says)
        for before, now in itertools.pairwise(enough)
        for name, says in _of_pair(before, now)
    ]


def _of_pair(before: Counts, now: Counts) -> Iterator[tuple[str, str]]:
    """Yield the alarms, each (name, words), that a version raises against the one before."""
    for check in (_reward_without_goal, _farmed, _errors, _unnecessary, _slower, _masked):
        yield from check(before, now)


def _reward_without_goal(before: Counts, now: Counts) -> Iterable[tuple[str, str]]:
    """Yield an alarm where the mean reward rises clearly, and the goal rate does not."""
    if before.reward is None or now.reward is None or goal_rises(before, now):
        return
    rise = now.reward - before.reward
    error = math.hypot(_error_of_mean(before), _error_of_mean(now))
    if rise >= REWARD_RISE and rise >= 2 * error:
        yield (
            "reward_without_goal",
            f"reward {before.reward:.3f} → {now.reward:.3f}, goal rate {_goals(before, now)}",
        )


def _farmed(before: Counts, now: Counts) -> Iterable[tuple[str, str]]:
    """Yield an alarm for each milestone that is reached far more often, where the goal rate does
    not rise."""
    if goal_rises(before, now):
        return
    for milestone, (reached, _) in now.milestones.items():
        was = before.per_episode(milestone)
        often = now.per_episode(milestone)
        is_much_more = often >= FARMED * max(was, 1.0)
        if reached >= MIN_EPISODES / 2 and is_much_more:
            says = f"{milestone}: {was:.2f} → {often:.2f} times an episode that reaches it"
            yield "milestone_farmed", f"{says}, goal rate {_goals(before, now)}"


def _errors(before: Counts, now: Counts) -> Iterable[tuple[str, str]]:
    """Yield an alarm for each kind of wrong calls that jumps."""
    for name in ("syntax_errors", "execution_errors"):
        yield from _jump(f"{name}_jump", name, ERRORS_JUMP, before, now)


def _unnecessary(before: Counts, now: Counts) -> Iterable[tuple[str, str]]:
    return _jump("unnecessary_calls_rise", "repeated_calls", UNNECESSARY_RISE, before, now)


def _jump(
    alarm: str, name: str, factor: float, before: Counts, now: Counts
) -> Iterable[tuple[str, str]]:
    """Yield an alarm where a share of the calls is ``factor`` times as large as before, among
    enough calls."""
    was = before.rate(name)
    is_now = now.rate(name)
    if was is None or is_now is None:
        return
    has_few_calls = min(before.calls, now.calls) < MIN_CALLS
    is_jump = is_now >= factor * was and is_now - was >= JUMP
    if is_jump and not has_few_calls:
        yield alarm, f"{was:.1%} → {is_now:.1%} of the tool calls"


def _slower(before: Counts, now: Counts) -> Iterable[tuple[str, str]]:
    """Yield an alarm where a success takes far more steps than before, among enough successes."""
    was = before.steps_per_success
    is_now = now.steps_per_success
    if was is None or is_now is None:
        return
    has_few_successes = min(before.successes, now.successes) < MIN_SUCCESSES
    if is_now >= SLOWER * was and not has_few_successes:
        yield "steps_per_success_grow", f"{was:.1f} → {is_now:.1f} steps a success"


def _masked(before: Counts, now: Counts) -> Iterable[tuple[str, str]]:
    """Yield an alarm where more steps are masked while the agent acts."""
    was = ratio_or_none(before.masked_while_acting, before.steps)
    is_now = ratio_or_none(now.masked_while_acting, now.steps)
    if was is None or is_now is None:
        return
    if is_now - was >= MASK_RISE and is_now >= 2 * was:
        yield "masks_while_acting_rise", f"{was:.1%} → {is_now:.1%} of the steps"


def goal_rises(before: Counts, now: Counts) -> bool:
    """Whether the goal rate rose by more than one standard error of the difference; unknown rates
    do not rise."""
    was, is_now = before.goal_rate, now.goal_rate
    if was is None or is_now is None:
        return False
    error = math.hypot(
        _error_of_rate(was, before.known_goals), _error_of_rate(is_now, now.known_goals)
    )
    return is_now > was and is_now - was >= error


def _error_of_mean(version: Counts) -> float:
    """The standard error of the mean share of what can be earned."""
    n = version.known_shares
    if n < 2:
        return math.inf
    variance = max(0.0, version.squares - version.shares**2 / n) / (n - 1)
    return math.sqrt(variance / n)


def _error_of_rate(rate: float, n: int) -> float:
    return math.sqrt(rate * (1 - rate) / n)


def _goals(before: Counts, now: Counts) -> str:
    return f"{_rate_in_words(before.goal_rate)} → {_rate_in_words(now.goal_rate)}"


def _rate_in_words(rate: float | None) -> str:
    """Return a rate as a percentage, or that it is not known."""
    return "not known" if rate is None else f"{rate:.1%}"


def in_order(found: Iterable[Counts]) -> list[Counts]:
    """Versions in the order in which they first opened an episode."""
    return sorted(found, key=lambda one: (one.first_opened, one.version))


def count(version: Counts, row: Any, facts: Mapping[str, Any], task: Declared) -> None:
    """Add a closed episode's row with its counts, and the parts of its facts, by what its task
    declares."""
    version.first_opened = min(version.first_opened or row.opened_at, row.opened_at)
    version.episodes += 1
    version.masked_while_acting += _masked_while_acting(row, facts)
    for name in _SUMMED:
        setattr(version, name, getattr(version, name) + getattr(row, name))
    if row.success is not None:
        version.known_goals += 1
        version.successes += row.success
        version.steps_of_successes += row.steps if row.success else 0
    for id in task.again & facts["milestones"].keys():
        reached = version.milestones.setdefault(f"{row.task}#{id}", [0, 0])
        reached[0] += 1
        reached[1] += facts["milestones"][id][0]
    if row.total is not None:
        _count_total(version, row.total, facts, task)


_SUMMED = (
    "steps",
    "calls",
    "syntax_errors",
    "execution_errors",
    "repeated_calls",
    "masked",
    "judged",
    "cost",
)
"""Columns of an episode's counts that a version sums under the same name."""


def _count_total(version: Counts, total: float, facts: Mapping[str, Any], task: Declared) -> None:
    """Add a known total, as a share of what the task can give, and by component."""
    version.known_totals += 1
    version.totals += total
    if task.attainable > 0:
        share = total / task.attainable
        version.known_shares += 1
        version.shares += share
        version.squares += share**2
    for id, (_, _, worth) in facts["milestones"].items():
        component = task.components.get(id, "")
        version.components[component] = version.components.get(component, 0.0) + worth


def _masked_while_acting(row: Any, facts: Mapping[str, Any]) -> int:
    """Steps that were masked by a gap that began while the agent acted. What was counted before
    there was such a number knows them by cause alone, where one step may stand with several."""
    by_cause = (while_acting for _, while_acting in facts["masks"].values())
    return int(facts.get("masked_while_acting", min(sum(by_cause), row.masked)))

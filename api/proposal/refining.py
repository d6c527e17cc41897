"""What stored episodes say of a task's milestones: which are of no use, what each should weigh.
Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from api.core.intervals import wilson
from api.proposal.reach import ReachCount, ReachedMilestones, count_reached
from detectors.task.language import MilestoneSpec, Task

MIN_EPISODES = 10
"""Episodes in which a milestone is known, below which never and always say nothing."""
MIN_EACH = 5
"""Successes, and failures, in which a milestone is known, below which its lift says nothing."""
AS_OFTEN = 1.5
"""A lift whose whole interval lies within this factor of 1 is none."""


@dataclass(frozen=True, slots=True)
class MilestoneFinding:
    """What the counts say of a milestone. ``problems``: what is wrong with it; ``unknown``: what
    cannot be told, and why; ``weight``: what the counts suggest, None where they suggest none."""

    id: str
    count: ReachCount
    problems: tuple[str, ...]
    unknown: tuple[str, ...]
    is_penalty: bool
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class TaskRefinement:
    """What stored episodes say of a task, milestone by milestone; ``successes``, ``failures`` and
    ``undecided``: the episodes, by their verdict."""

    findings: Sequence[MilestoneFinding]
    successes: int
    failures: int
    undecided: int
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def weights(self) -> Mapping[str, float]:
        """The weights that the counts suggest, by the milestone's id."""
        return {one.id: one.weight for one in self.findings if one.weight is not None}


def refine(
    task: Task, episodes: Sequence[ReachedMilestones], *, own_verdict: bool
) -> TaskRefinement:
    """Say of each milestone what the episodes tell. ``own_verdict``: an episode is a success if the
    task's own goal says so; of that goal's parts nothing can be told then."""
    counts = {one.id: count_reached(episodes, one.id) for one in task.milestones}
    of_goal = _find_goal_parts(task) if own_verdict else frozenset()
    open_components = {
        one.component for one in task.milestones if not _can_be_weighed(one, counts[one.id])
    }
    findings = []
    for spec in task.milestones:
        count = counts[spec.id]
        suggestion = count.weight
        is_weighed = _is_weighed(task, spec) and spec.component not in open_components
        findings.append(
            MilestoneFinding(
                spec.id,
                count,
                tuple(_find_problems(spec, count, is_of_goal=spec.id in of_goal)),
                tuple(_find_unknown(spec, count, is_of_goal=spec.id in of_goal)),
                spec.penalty is not None,
                suggestion.value if is_weighed and suggestion is not None else None,
            )
        )
    verdicts = [one.success for one in episodes]
    return TaskRefinement(
        findings,
        verdicts.count(True),
        verdicts.count(False),
        verdicts.count(None),
        tuple(_list_notes(open_components, task)),
    )


def describe_finding(finding: MilestoneFinding) -> Iterator[str]:
    """Yield the lines of a report on one milestone: its counts, what is wrong, what is unknown."""
    count = finding.count
    parts = [f"reached in {_share(count.yes, count.known_count)} episodes"]
    if count.at_start:
        parts.append(f"so at the start in {count.at_start}")
    if count.unknown:
        parts.append(f"unknown in {count.unknown}")
    yield ", ".join(parts)
    if count.good and count.bad and (weight := count.weight) is not None:
        low, high = count.lift_interval()
        yield (
            f"in {_share(count.in_good, count.good)} successes and"
            f" {_share(count.in_bad, count.bad)} failures: support {weight.support:.3g},"
            f" lift {weight.lift:.3g} ({low:.3g} to {high:.3g})"
        )
    yield from (f"problem: {problem}" for problem in finding.problems)
    yield from (f"not known: {what}" for what in finding.unknown)


def _find_goal_parts(task: Task) -> frozenset[str]:
    """Return the milestones that the task's own goal is, or requires."""
    goals = [one for one in task.milestones if one.when.rule == "goal"]
    required = {name for one in goals for name in one.when.args.get("requires", ())}
    return frozenset({*(one.id for one in goals), *required})


def _is_weighed(task: Task, spec: MilestoneSpec) -> bool:
    """Return whether a milestone's weight changes what is paid: it pays, and shares its component
    with others."""
    beside = [
        one
        for one in task.milestones
        if one.component == spec.component and one.penalty is None and one is not spec
    ]
    return spec.penalty is None and bool(beside)


def _can_be_weighed(spec: MilestoneSpec, count: ReachCount) -> bool:
    """Return whether the counts suffice for a weight; a penalty needs none."""
    return spec.penalty is not None or (count.good >= MIN_EACH and count.bad >= MIN_EACH)


def _find_problems(spec: MilestoneSpec, count: ReachCount, *, is_of_goal: bool) -> Iterator[str]:
    """Yield what is wrong with a milestone."""
    if spec.penalty is not None:
        if count.in_good:
            yield f"the penalty hits {_share(count.in_good, count.good)} successes"
        return
    if count.known_count >= MIN_EPISODES and not count.yes:
        yield "never reached: it pays nothing, or no policy was able to reach it yet"
    if count.known_count >= MIN_EPISODES and not count.no:
        yield "always reached: it tells no episode from another"
    if is_of_goal or not _can_be_weighed(spec, count):
        return
    if count.lift_interval()[1] < 1:
        yield "failures reach it more often than successes"
    elif _is_as_often(count):
        yield "failures reach it as often as successes: it says nothing of success"


def _find_unknown(spec: MilestoneSpec, count: ReachCount, *, is_of_goal: bool) -> Iterator[str]:
    """Yield what the episodes cannot tell of a milestone."""
    if count.known_count < MIN_EPISODES:
        yield (
            f"whether it is ever reached: {count.known_count} of at least {MIN_EPISODES} known"
            " episodes"
        )
    if is_of_goal:
        yield "whether it tells success: the verdict rests on it"
    elif spec.penalty is None and not _can_be_weighed(spec, count):
        yield (
            f"whether it tells success: it is known in {count.good} successes and"
            f" {count.bad} failures, at least {MIN_EACH} of each are needed"
        )
    elif spec.penalty is None:
        low, high = count.lift_interval()
        if low <= 1 <= high and not _is_as_often(count):
            yield "whether it tells success: the interval of its lift holds 1"


def _is_as_often(count: ReachCount) -> bool:
    """Return whether the whole interval of a lift is about 1."""
    low, high = count.lift_interval()
    return low >= 1 / AS_OFTEN and high <= AS_OFTEN


def _list_notes(open_components: set[str], task: Task) -> Iterator[str]:
    """Yield which components keep their weights because some milestone's is not known."""
    shared = {one.component for one in task.milestones if _is_weighed(task, one)}
    for name in sorted(shared & open_components):
        yield f"the weights within {name} stay: not all of its milestones are known often enough"


def _share(part: int, whole: int) -> str:
    """Return a share with its 95 % interval (Wilson)."""
    if not whole:
        return "0 of 0"
    low, high = wilson(part / whole, whole)
    return f"{part} of {whole} ({low:.0%} to {high:.0%})"

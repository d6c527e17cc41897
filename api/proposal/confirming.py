"""A drafted task held against recordings: what all successes reached stays, the rest goes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from api.proposal.drafting import DRAFT_MARK, DRAFT_SUFFIX
from api.proposal.reach import Reached, find_reached
from api.proposal.support import RecordedRun
from api.proposal.task_text import NotEditableError, TaskText
from api.proposal.weighing import share_components
from api.proposal.writing import RecordingCounts, write_flow
from api.verdicts.recorded import Playback
from detectors.model.json_value import JsonValue
from detectors.model.rewards import milestone_to_json, reward_to_json
from detectors.task.language import Task
from detectors.task.ruleset import compile_task

_WORDS: Mapping[Reached, str] = {
    "no": "not reached in",
    "unknown": "not known in",
    "at_start": "so at the start of",
}


class NotADraftError(NotEditableError):
    """A task that is no draft: its version does not say so."""

    def __init__(self, version: str) -> None:
        super().__init__(f"version: got {version[:80]}, expected {self.expected}")
        self.version = version

    expected = f"that of a draft, such as 1{DRAFT_SUFFIX}"


class NotConfirmedError(ValueError):
    """The recordings do not confirm the draft: ``recording`` is the name of the one that does not,
    None where the draft is of a kind that none can confirm; ``found`` what is so in it."""

    def __init__(self, recording: str | None, found: str, expected: str) -> None:
        super().__init__(f"{found}, expected {expected}")
        self.recording, self.found, self.expected = recording, found, expected


class LeftOut(NamedTuple):
    """A milestone that is not in the confirmed task, and why."""

    id: str
    why: str


class KeptMilestone(NamedTuple):
    """How many successes and failures reached a milestone that stays; ``unknown_bad``: the failures
    in which nobody knows whether it was reached."""

    good: int
    bad: int
    unknown_bad: int


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What recordings say of a draft; ``kept``: the milestones that stay, by their ids."""

    kept: Mapping[str, KeptMilestone]
    left_out: Sequence[LeftOut]


def confirm(task: Task, good: Sequence[RecordedRun], bad: Sequence[RecordedRun]) -> Confirmation:
    """Hold a draft against recordings: each success must reach its goal, and no failure.

    A milestone stays if all successes reached it for certain. Raises `NotConfirmedError`.
    """
    in_good = {log.name: _read_log(task, log) for log in good}
    in_bad = {log.name: _read_log(task, log) for log in bad}
    goals = _goals_of(task)
    if not goals:
        raise NotConfirmedError(None, "milestones: none is a goal", "one, which a success reaches")
    for goal in goals:
        _require_goal_in_successes(task, goal, in_good)
        _require_no_goal_in_failures(goal, in_bad)
    kept: dict[str, KeptMilestone] = {}
    left_out: list[LeftOut] = []
    for spec in task.milestones:
        doubts = _list_doubts(spec.id, in_good)
        if doubts and spec.penalty is None:
            left_out.append(LeftOut(spec.id, ", ".join(doubts)))
            continue
        of_failures = [reached[spec.id] for reached in in_bad.values()]
        kept[spec.id] = KeptMilestone(
            good=len(good) - len(doubts),
            bad=of_failures.count("yes"),
            unknown_bad=of_failures.count("unknown"),
        )
    return Confirmation(kept, left_out)


def _require_goal_in_successes(
    task: Task, goal: str, successes: Mapping[str, Mapping[str, Reached]]
) -> None:
    """Raise `NotConfirmedError` for the first success that is not known to reach the goal."""
    for name, reached in successes.items():
        if reached[goal] == "yes":
            continue
        missing = [id for id in _required_by(task, goal) if reached[id] != "yes"]
        raise NotConfirmedError(
            name,
            f"{goal} is {_WORDS[reached[goal]]} {name}",
            f"a success to reach it; missing: {', '.join(missing) or 'nothing'}",
        )


def _require_no_goal_in_failures(goal: str, failures: Mapping[str, Mapping[str, Reached]]) -> None:
    """Raise `NotConfirmedError` for the first failure that reaches the goal."""
    for name, reached in failures.items():
        if reached[goal] == "yes":
            raise NotConfirmedError(name, f"{goal} is reached in {name}", "no failure to")


def _list_doubts(id: str, successes: Mapping[str, Mapping[str, Reached]]) -> list[str]:
    """Return, for each success that is not known to reach a milestone, how that is."""
    return [
        f"{_WORDS[reached[id]]} {name}"
        for name, reached in successes.items()
        if reached[id] != "yes"
    ]


def write_confirmed(
    text: str,
    task: Task,
    confirmation: Confirmation,
    counts: RecordingCounts,
    tests: Sequence[Mapping[str, JsonValue]],
    notes: Sequence[str],
) -> str:
    """Return a draft's text as a confirmed task: without its mark and what is left out, with the
    recordings as its tests, and ``notes`` at its top. Raises `NotEditableError`."""
    version = written_draft_version(task)
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith(DRAFT_MARK)]
    edited = TaskText("".join(lines))
    edited.set_key("version", write_flow(version))
    kept = [one for one in task.milestones if one.id in confirmation.kept]
    weighed = [
        (one.component, one.weight)
        for one in kept
        if one.penalty is None and one.component != "goal"
    ]
    edited.set_key("weights", write_flow(dict(share_components(weighed))))
    for one in confirmation.left_out:
        edited.remove(one.id)
    for id, reached in confirmation.kept.items():
        edited.comment(id, [_describe_kept(reached, counts)])
    head = f"Drafted by a model, confirmed by {counts.good} successes and {counts.bad} failures."
    left_out = [f"Left out: {one.id}, {one.why}." for one in confirmation.left_out]
    noted = [f"Note: {note}." for note in notes]
    return edited.apply([head, *left_out, *noted], [f"  - {write_flow(test)}" for test in tests])


def _describe_kept(reached: KeptMilestone, counts: RecordingCounts) -> str:
    """Return in how many recordings a milestone was reached, and in how many that is unknown."""
    text = (
        f"in {reached.good} of {counts.good} successes and {reached.bad} of {counts.bad} failures"
    )
    return f"{text}, unknown in {reached.unknown_bad} failures" if reached.unknown_bad else text


def written_draft_version(task: Task) -> str:
    """Return the version that a draft has once it is confirmed. Raises `NotADraftError` for a task
    that is none."""
    version = task.version.partition("+")[0]
    if not version.endswith(DRAFT_SUFFIX) or version == DRAFT_SUFFIX:
        raise NotADraftError(version)
    return version.removesuffix(DRAFT_SUFFIX)


def _read_log(task: Task, log: RecordedRun) -> Mapping[str, Reached]:
    """Return which milestones a recording reached, by their ids."""
    playback = Playback(compile_task(task), log.events[0].episode)
    outcome = playback.take(log.events)
    at_start = [milestone_to_json(one) for one in outcome.milestones if one.baseline]
    rewards = [reward_to_json(reward) for reward in playback.rewards]
    ids = [one.id for one in task.milestones]
    unknown = playback.find_unknown()
    return find_reached(rewards, at_start, ids, unknown, is_closed=playback.engine.closed)


def _goals_of(task: Task) -> list[str]:
    return [one.id for one in task.milestones if one.when.rule == "goal"]


def _required_by(task: Task, goal: str) -> list[str]:
    """Return the milestones that a goal requires."""
    [spec] = [one for one in task.milestones if one.id == goal]
    return [str(name) for name in spec.when.args.get("requires", ())]

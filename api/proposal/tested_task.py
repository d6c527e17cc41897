"""A task file proposed from recordings, with the recordings as its tests: the command and the
service write the same. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from api.proposal.measuring import score_log
from api.proposal.mining import propose
from api.proposal.slots import Values, find_template, read_values
from api.proposal.support import Proposal, RecordedRun
from api.proposal.writing import RecordingCounts, TaskHead, build_spec, write_proposal
from api.replay.task_tests import Kind, find_fault
from api.suggestions.event_values import split_address
from api.tasks.task_files import BadTaskError, Problem, check_task, load_task_yaml
from detectors.engine.engine import Engine
from detectors.model.errors import format_value
from detectors.model.json_value import JsonObject
from detectors.sdk.site import origin_of
from detectors.task.language import Task
from detectors.task.ruleset import Ruleset, compile_task

NO_INSTRUCTION = "What the agent is told."
"""What stands in a file of which nobody said what the agent was told."""
HEAD_KEYS = frozenset(("id", "instruction", "origin"))
"""Keys of a task file that the caller gives and no recording does."""
_ANY_ENTRY: JsonObject = {"id": "any", "when": {"element_clicked": {"role": "button"}}}


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """Recorded successes and failures, and what the agent was told in them: a template's text,
    where the runs have values of its slots."""

    good: Sequence[RecordedRun]
    bad: Sequence[RecordedRun]
    instruction: str

    @property
    def all(self) -> Sequence[RecordedRun]:
        """All recordings: the successes, then the failures."""
        return (*self.good, *self.bad)

    @property
    def examples(self) -> Values:
        """The values of a success of which there is a failure too, so that both are tests of the
        task; else the first success's."""
        of_bad = [run.values for run in self.bad]
        compared = [run.values for run in self.good if run.values in of_bad]
        return compared[0] if compared else self.good[0].values


@dataclass(frozen=True, slots=True)
class ProposedTask:
    """A task file's text, and what it rests on. ``limits``: what each failure earns under it, in
    their order, None where one of its steps is not known; ``tests``: those of the file."""

    text: str
    proposal: Proposal
    counts: RecordingCounts
    limits: Sequence[float | None]
    tests: Sequence[JsonObject]


@dataclass(frozen=True, slots=True)
class TestCandidate:
    """A recording that may be a test of a task; ``file``: how the task's file names it; ``rules``:
    the task with the recording's own values; ``is_example``: these are the task's examples."""

    __test__ = False  # it is none of pytest's

    kind: Kind
    file: str
    run: RecordedRun
    rules: Ruleset
    is_example: bool = True


def check_head(head: TaskHead) -> None:
    """Refuse a head that no task can have, whatever its milestones. Raises `BadTaskError` with its
    problems."""
    problems: list[Problem] = []
    try:
        check_task(build_spec(head, [_ANY_ENTRY]))
    except BadTaskError as error:
        # Of the origin less is said here than is asked below: recorded addresses begin with it.
        own = HEAD_KEYS - {"origin"}
        problems += [one for one in error.problems if one.path in own]
    if head.origin is not None and not _is_origin(head.origin):
        wanted = "an origin as addresses of pages begin, such as https://shop.example"
        problems.append(Problem("origin", None, format_value(head.origin), wanted))
    if problems:
        raise BadTaskError(problems)


def _is_origin(text: str) -> bool:
    """Return whether a text is scheme, host and port of an address, as browsers write them: what
    recorded addresses are compared with."""
    if split_address(text) != (text, "/", ""):
        return False
    without_brackets = text.replace("[", "").replace("]", "")  # those of an IPv6 address
    return origin_of(f"{text}/") == without_brackets and not text.endswith("//")


def fill_slots(runs: ComparedRuns, instructions: Sequence[str]) -> ComparedRuns:
    """Return the runs with what their own ``instructions``, in the order of `ComparedRuns.all`,
    give the slots of a template: of the runs' instruction, or where that is empty, of the template
    that all instructions share. Raises `NoTemplateError`."""
    if runs.instruction:
        template = read_values(runs.instruction, instructions)
    else:
        template = find_template(instructions)
    filled = [
        replace(run, values=values) for run, values in zip(runs.all, template.values, strict=True)
    ]
    count = len(runs.good)
    return ComparedRuns(filled[:count], filled[count:], template.text)


def propose_with_tests(
    id: str, origin: str | None, runs: ComparedRuns, files: Sequence[str]
) -> ProposedTask:
    """Propose a task and write it, with recordings as its tests; ``files``: how the file names
    each of `ComparedRuns.all`. Raises `ValueError` where the successes share nothing, and
    `BadTaskError` where the task language does not take what is proposed."""
    proposal = propose(runs.good, runs.bad, origin, runs.instruction)
    head = TaskHead(id, runs.instruction or NO_INSTRUCTION, origin, runs.examples)
    counts = RecordingCounts(len(runs.good), len(runs.bad))
    draft = write_proposal(head, proposal, counts, ())
    compile_task(load_task_yaml(draft))
    count = len(runs.good)
    # In a task's tests nothing is filled: they hold for the examples alone.
    candidates = [
        TestCandidate(
            "oracle" if number < count else "adversarial",
            file,
            run,
            compile_task(_fill_draft(draft, run)),
            is_example=run.values == head.examples,
        )
        for number, (file, run) in enumerate(zip(files, runs.all, strict=True))
    ]
    limits = [score_log(one.rules, one.run) for one in candidates[count:]]
    tests, faults = choose_tests(candidates)
    explained = replace(proposal, notes=[*proposal.notes, *faults])
    text = write_proposal(head, explained, counts, tests)
    return ProposedTask(text, explained, counts, limits, tests)


def choose_tests(candidates: Iterable[TestCandidate]) -> tuple[list[JsonObject], list[str]]:
    """Return recordings as tests of a task, and a note of each that would fail as one. Of an
    adversarial one the number is the most that it may earn; one of which that is not known is no
    test."""
    tests: list[JsonObject] = []
    faults: list[str] = []
    for one in candidates:
        limit = None if one.kind == "oracle" else score_log(one.rules, one.run)
        if one.kind == "adversarial" and limit is None:
            continue
        at_most = None if limit is None else _round_up(limit)
        if find_fault(one.rules, one.kind, one.run.events, at_most) is not None:
            faults.append(_describe_fault(one))
        elif one.is_example:
            test: JsonObject = {one.kind: one.file}
            tests.append(test if at_most is None else {**test, "at_most": at_most})
    return tests, faults


def _describe_fault(candidate: TestCandidate) -> str:
    """Return why a recording is no test of the task, as a note; what it holds is not quoted."""
    name, events = candidate.run.name, candidate.run.events
    if candidate.kind == "oracle":
        return f"{name} does not earn all that the task pays, and is no test of it"
    if Engine(candidate.rules, events[0].episode).feed(events).rewards[-1].success:
        return (
            f"{name} reaches the goal as the successes do, and is no test of it: record what a"
            " success leaves that it lacks"
        )
    return f"{name} was not recorded to its end, and is no test of the task"


def _fill_draft(draft: str, run: RecordedRun) -> Task:
    """Return a draft's task with the values of a run. Raises `BadTaskError`."""
    values = {f"values.{name}": str(value) for name, value in run.values.items()}
    return load_task_yaml(draft, values)


def _round_up(limit: float) -> float:
    """Return a limit in six digits, rounded up; what a float's own error adds is dropped first."""
    return math.ceil(round(limit * 1e6, 3)) / 1e6

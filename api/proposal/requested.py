"""What is proposed of recordings that somebody sent, and which of them confirm a draft: they are
read, compared and written as a task file. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypedDict, final

from api.proposal.confirmed_task import confirm_with_tests
from api.proposal.confirming import NotADraftError, NotConfirmedError
from api.proposal.slots import NoTemplateError
from api.proposal.support import Proposal, RecordedRun
from api.proposal.task_text import NotEditableError
from api.proposal.tested_task import (
    HEAD_KEYS,
    NO_INSTRUCTION,
    ComparedRuns,
    check_head,
    fill_slots,
    propose_with_tests,
)
from api.proposal.weighing import MilestoneWeight
from api.proposal.writing import RecordingCounts, TaskHead, name_milestones
from api.replay.task_tests import BadTestError, read_of
from api.suggestions.event_values import find_origin
from api.tasks.task_files import BadTaskError
from detectors.model.json_value import JsonObject
from detectors.model.optional_values import without_none

MAX_EVENTS = 50_000
"""Events of all recordings of a request."""


class RequestedRecording(TypedDict):
    """A recording as it was sent: ``content`` is {frames} or {lines}, as in a task's tests;
    ``instruction``: what the agent was told in it, if it is of a template."""

    name: str
    outcome: str
    content: JsonObject
    instruction: str | None


@final
class ProposalRequest(TypedDict):
    """What is proposed from; an ``origin`` of None is found in the recordings. ``instruction``:
    what the agent was told, a template where the recordings have instructions of their own."""

    recordings: list[RequestedRecording]
    instruction: str
    id: str
    origin: str | None


@final
class ConfirmationRequest(TypedDict):
    """A draft's text, and the recordings that are to confirm it; none has an instruction."""

    draft: str
    recordings: list[RequestedRecording]


class MilestoneEvidence(TypedDict):
    """What a milestone of a proposal rests on: in how many successes and failures it was met, and
    the event that it was made of. ``weight`` None: it is a penalty."""

    id: str
    in_good: int
    in_bad: int
    recording: str
    event: int
    support: float
    lift: float
    weight: float | None


class RequestedProposal(TypedDict):
    """A proposed task file, with its evidence. ``limits``: what each failure earns under it, None
    where one of its steps is not known; ``tests``: those of the file, which names recordings."""

    yaml: str
    good: int
    bad: int
    decided: bool
    notes: list[str]
    milestones: list[MilestoneEvidence]
    limits: dict[str, float | None]
    tests: list[JsonObject]


class ConfirmedMilestone(TypedDict):
    """In how many successes and failures a milestone that stays was reached; ``unknown_bad``: the
    failures in which that is not known."""

    id: str
    in_good: int
    in_bad: int
    unknown_bad: int


class DroppedMilestone(TypedDict):
    """A milestone of a draft that the confirmed task does not have, and why."""

    id: str
    why: str


class RequestedConfirmation(TypedDict):
    """A confirmed task file, with its evidence; ``limits`` and ``tests`` as a proposal has them."""

    yaml: str
    good: int
    bad: int
    milestones: list[ConfirmedMilestone]
    left_out: list[DroppedMilestone]
    notes: list[str]
    limits: dict[str, float | None]
    tests: list[JsonObject]


def propose_task(request: ProposalRequest) -> RequestedProposal:
    """Propose a task from the recordings of a request. Raises `BadTestError` for what cannot be
    read or proposed from, which names its place in the request."""
    recordings = request["recordings"]
    _check_head(request)
    runs = _compare(request)
    origin = request["origin"] or find_origin(chain.from_iterable(run.events for run in runs.good))
    files = [_name_file(one) for one in _sort_by_outcome(recordings)]
    try:
        made = propose_with_tests(request["id"], origin, runs, files)
    except BadTaskError as error:
        raise _as_refusal(error, len(recordings)) from None
    except ValueError as error:
        said = "; ".join(str(error).splitlines())
        raise BadTestError("recordings", len(recordings), said) from None
    return {
        "yaml": made.text,
        "good": made.counts.good,
        "bad": made.counts.bad,
        "decided": made.proposal.is_decided,
        "notes": made.proposal.notes,
        "milestones": list(_list_evidence(made.proposal, made.counts)),
        "limits": {run.name: limit for run, limit in zip(runs.bad, made.limits, strict=True)},
        "tests": list(made.tests),
    }


def confirm_draft(request: ConfirmationRequest) -> RequestedConfirmation:
    """Hold a draft against the recordings of a request. Raises `BadTestError` for what cannot be
    read, for a text that is no draft, and for a recording that does not confirm it."""
    recordings = request["recordings"]
    good, bad = _read_outcomes(recordings)
    files = [_name_file(one) for one in _sort_by_outcome(recordings)]
    try:
        made = confirm_with_tests(request["draft"], good, bad, files)
    except BadTaskError as error:
        problem = error.problems[0]
        is_whole = problem.path.startswith("(")  # it is no YAML, or no object
        place = "draft" if is_whole else f"draft.{problem.path}"
        raise BadTestError(place, problem.value, problem.wanted) from None
    except NotADraftError as error:
        raise BadTestError("draft.version", error.version[:80], error.expected) from None
    except NotEditableError as error:
        raise BadTestError("draft", request["draft"][:80], str(error)) from None
    except NotConfirmedError as error:
        raise _as_unconfirmed(error, recordings) from None
    return {
        "yaml": made.text,
        "good": made.counts.good,
        "bad": made.counts.bad,
        "milestones": [
            {"id": id, "in_good": kept.good, "in_bad": kept.bad, "unknown_bad": kept.unknown_bad}
            for id, kept in made.confirmation.kept.items()
        ],
        "left_out": [{"id": one.id, "why": one.why} for one in made.confirmation.left_out],
        "notes": list(made.notes),
        "limits": {run.name: limit for run, limit in zip(bad, made.limits, strict=True)},
        "tests": list(made.tests),
    }


def _as_unconfirmed(
    error: NotConfirmedError, recordings: Sequence[RequestedRecording]
) -> BadTestError:
    """Return the refusal of the recording that does not confirm a draft, else of the draft."""
    names = [one["name"] for one in recordings]
    if error.recording is None:
        return BadTestError("draft", error.found, error.expected)
    return BadTestError(f"recordings[{names.index(error.recording)}]", error.found, error.expected)


def _check_head(request: ProposalRequest) -> None:
    """Refuse what the request itself says of the task. Raises `BadTestError`."""
    instruction = request["instruction"] or NO_INSTRUCTION
    try:
        check_head(TaskHead(request["id"], instruction, request["origin"]))
    except BadTaskError as error:
        raise _as_refusal(error, len(request["recordings"])) from None


def _sort_by_outcome(recordings: Sequence[RequestedRecording]) -> list[RequestedRecording]:
    """Return the successes, then the failures, as `ComparedRuns.all` has them."""
    return sorted(recordings, key=lambda one: one["outcome"] != "good")


def _name_file(recording: RequestedRecording) -> str:
    """Return the name of the file that holds a recording beside its task: with the ending that
    tells what is in it."""
    ending = ".jsonl" if "lines" in recording["content"] else ".mrec"
    name = recording["name"]
    return name if name.endswith(ending) else f"{name}{ending}"


def _compare(request: ProposalRequest) -> ComparedRuns:
    """Return the recordings of a request, with the values of a template's slots where they have
    instructions of their own. Raises `BadTestError`."""
    recordings = request["recordings"]
    good, bad = _read_outcomes(recordings)
    runs = ComparedRuns(good, bad, request["instruction"])
    told = [one["instruction"] for one in _sort_by_outcome(recordings)]
    instructions = without_none(told)
    if not instructions:
        return runs
    if len(instructions) < len(told):
        at = [one["instruction"] for one in recordings].index(None)
        wanted = "what the agent was told in it, as the other recordings say"
        raise BadTestError(f"recordings[{at}].instruction", None, wanted)
    try:
        return fill_slots(runs, instructions)
    except NoTemplateError as error:
        raise _as_place(error, recordings) from None


def _read_outcomes(
    recordings: Sequence[RequestedRecording],
) -> tuple[list[RecordedRun], list[RecordedRun]]:
    """Return the recorded successes, one at least, and failures. Raises `BadTestError`."""
    read = list(_read_runs(recordings))
    good = [run for run, outcome in read if outcome == "good"]
    bad = [run for run, outcome in read if outcome == "bad"]
    if not good:
        raise BadTestError("recordings", len(read), "one at least whose outcome is good")
    return good, bad


def _as_place(error: NoTemplateError, recordings: Sequence[RequestedRecording]) -> BadTestError:
    """Return the refusal of instructions that make no template: of the one that does not fit, or of
    all."""
    if error.index is None:
        return BadTestError("recordings", len(recordings), str(error))
    refused = _sort_by_outcome(recordings)[error.index]
    at = recordings.index(refused)
    return BadTestError(f"recordings[{at}].instruction", refused["instruction"], str(error))


def _as_refusal(error: BadTaskError, count: int) -> BadTestError:
    """Return the refusal of a task that the task language does not take: of a member of the request
    where that is wrong, else of the recordings."""
    of_head = (problem for problem in error.problems if problem.path in HEAD_KEYS)
    problem = next(of_head, None)
    if problem is not None:
        return BadTestError(problem.path, problem.value, problem.wanted)
    return BadTestError("recordings", count, f"a task of them: {error}")


def _read_runs(
    recordings: Sequence[RequestedRecording],
) -> Iterator[tuple[RecordedRun, str]]:
    """Yield each recording with its outcome. Raises `BadTestError`."""
    names: set[str] = set()
    count = 0
    for n, one in enumerate(recordings):
        where = f"recordings[{n}]"
        if one["name"] in names:
            raise BadTestError(f"{where}.name", one["name"], "a name of its own")
        names.add(one["name"])
        events = read_of(one["content"], None, where).events
        count += len(events)
        if not events or count > MAX_EVENTS:
            raise BadTestError(where, count, f"events, at most {MAX_EVENTS} in all recordings")
        yield RecordedRun(one["name"], events), one["outcome"]


def _list_evidence(proposal: Proposal, counts: RecordingCounts) -> Iterator[MilestoneEvidence]:
    """Yield the evidence of each milestone and penalty, in the order of the file."""
    for name, support in name_milestones([*proposal.milestones, *proposal.guards]):
        weight = MilestoneWeight(support.in_good, counts.good, support.in_bad, counts.bad)
        yield {
            "id": name,
            "in_good": support.in_good,
            "in_bad": support.in_bad,
            "recording": support.log,
            "event": support.candidate.event,
            "support": weight.support,
            "lift": weight.lift,
            "weight": None if support in proposal.guards else weight.value,
        }

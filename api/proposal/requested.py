"""A proposal of recordings that somebody sent: read, mined and written as a task file. Pure.

`python -m api.proposal.requested` reads a request on standard input and writes {proposal} or
{problem} as JSON: strangers' recordings are read and mined there (api/proposal/apart.py), under
limits of its own.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TypedDict

import orjson

from api.proposal.candidates import find_origin
from api.proposal.mining import Proposal, RecordedRun, propose, score_log
from api.proposal.weighing import MilestoneWeight
from api.proposal.writing import RecordingCounts, TaskHead, name_milestones, write_proposal
from api.replay.task_tests import BadTestError, read_of
from api.tasks.plugins import load_plugins
from api.tasks.task_files import BadTaskError, load_task_yaml
from detectors.model.json_value import JsonObject
from detectors.task.ruleset import compile_task

MAX_EVENTS = 50_000
"""Events of all recordings of a request."""
MEMORY = 2 << 30
CPU_S = 60


class RequestedRecording(TypedDict):
    """A recording as it was sent: ``content`` is {frames} or {lines}, as in a task's tests."""

    name: str
    outcome: str
    content: JsonObject


class ProposalRequest(TypedDict):
    """What is proposed from; an ``origin`` of None is found in the recordings."""

    recordings: list[RequestedRecording]
    instruction: str
    id: str
    origin: str | None


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
    """A proposed task file, with its evidence. ``limits``: what the known steps of each failure
    earn under it."""

    yaml: str
    good: int
    bad: int
    decided: bool
    notes: list[str]
    milestones: list[MilestoneEvidence]
    limits: dict[str, float]


def propose_task(request: ProposalRequest) -> RequestedProposal:
    """Propose a task from the recordings of a request. Raises `BadTestError` for what cannot be
    read or proposed from, which names its place in the request."""
    runs = list(_read_runs(request["recordings"]))
    good = [run for run, outcome in runs if outcome == "good"]
    bad = [run for run, outcome in runs if outcome == "bad"]
    if not good:
        raise BadTestError("recordings", len(runs), "one at least whose outcome is good")
    origin = request["origin"] or find_origin([run.events for run in good])
    try:
        proposal = propose(good, bad, origin)
    except ValueError as error:
        raise BadTestError("recordings", len(runs), str(error)) from None
    head = TaskHead(request["id"], request["instruction"] or "What the agent is told.", origin)
    counts = RecordingCounts(len(good), len(bad))
    text = write_proposal(head, proposal, counts, ())
    try:
        rules = compile_task(load_task_yaml(text))
    except BadTaskError as error:
        raise BadTestError("recordings", len(runs), f"a task of them: {error}") from None
    return {
        "yaml": text,
        "good": counts.good,
        "bad": counts.bad,
        "decided": proposal.is_decided,
        "notes": proposal.notes,
        "milestones": list(_list_evidence(proposal, counts)),
        "limits": {run.name: score_log(rules, run) for run in bad},
    }


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


def answer_request(content: bytes) -> Mapping[str, object]:
    """Return what is answered to a request: {proposal}, or {problem} with path, value, wanted."""
    try:
        return {"proposal": propose_task(orjson.loads(content))}
    except BadTestError as error:
        return {"problem": [error.path, str(error.value)[:120], error.wanted[:600]]}


def main() -> None:
    """Read standard input, answer on standard output."""
    for what, most in (
        (resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, CPU_S), (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (most, hard) if hard < 0 or hard > most else (hard, hard))
    load_plugins()
    sys.stdout.buffer.write(orjson.dumps(answer_request(sys.stdin.buffer.read())))


if __name__ == "__main__":
    main()

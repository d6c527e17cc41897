"""One episode's work: unpack, decode, score, compare. Whoever does it needs nothing but what it is
handed.

No file and no database is opened here, so the same work runs in this process, in another and on
another machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

import orjson

from api.replay.recordings import RecordingError, read_frames, read_said
from api.rescoring.differences import Differences, compare, evidence_of, is_same
from api.rewards.event_text import line
from api.rewards.scored_episode import Result, ResultSummary, ScoredPlayback, ruleset_of, score_each
from api.tasks.plugins import load_plugins
from detectors.engine.engine import unheard_kinds
from detectors.engine.unknown_milestones import UnknownMilestones
from detectors.model.codec import canonical, sha256
from detectors.task.task_json import TaskError

Status = Literal["same", "changed", "scored", "failed"]
"""``scored``: there was nothing to compare with."""


class RescoreSide(TypedDict):
    """What an outcome says of either side of a comparison."""

    ruleset: str
    task: str
    version: str
    total: float | None
    success: bool | None


class UnknownMilestonesJson(TypedDict):
    """`UnknownMilestones` as JSON, the numbers of steps as texts."""

    by_step: dict[str, list[str]]
    revocable: list[str]


class RescoreOutcome(TypedDict):
    """What came of one episode; what does not apply is None.

    ``content``: the sha256 of the frames; ``evidence``: the events on which differing milestones
    depend, as number → line; ``said``, where it was asked again: the words by which it is scored;
    ``unknown``, where that is asked for: which milestones its steps leave unknown that are not
    known.
    """

    name: str
    content: str
    status: Status
    error: str | None
    episode: str | None
    old: RescoreSide | None
    new: RescoreSide | None
    differences: Differences | None
    evidence: dict[str, str] | None
    result: ResultSummary | None
    said: NotRequired[list[dict[str, Any]]]
    unknown: NotRequired[UnknownMilestonesJson]


class Material(NamedTuple):
    """An episode to score: its zstd frames and a task in canonical form.

    What it was worth before is a task to score it by too (``old_task``), a result in canonical JSON
    (``old_result``), or neither. ``keep``: the whole result is told, not the differences alone.
    ``wrong`` says why there is nothing to score, ``said`` what was said beyond the rules: the
    bodies of the episode's log of verdicts (None: those that the recording itself holds). ``anew``:
    what was said when it was asked again, on the budgets of ``tenant``; ``task`` is scored by that
    instead. ``tells_unknown``: what null steps leave unknown is told.
    """

    name: str
    content: bytes
    task: bytes
    old_task: bytes | None = None
    old_result: bytes | None = None
    keep: bool = True
    wrong: str | None = None
    said: tuple[bytes, ...] | None = None
    anew: list[dict[str, object]] | None = None
    tenant: str = ""
    tells_unknown: bool = False


class EpisodeOutcome(NamedTuple):
    """What came of an episode: its status, and `outcome` as canonical JSON."""

    status: Status
    line: bytes


def work(materials: Sequence[Material]) -> list[EpisodeOutcome]:
    """Return an outcome for each, in their order; often in a process of its own, which must know
    others' rules too."""
    load_plugins()
    outcomes = map(outcome, materials)
    return [EpisodeOutcome(found["status"], canonical(found)) for found in outcomes]


def outcome(material: Material) -> RescoreOutcome:
    """Score one episode and compare it with what it was worth before."""
    if material.wrong is not None:
        return _failed(material, material.wrong)
    try:
        new, old = _score_sides(material)
    except RecordingError as error:
        return _failed(material, str(error))
    except TaskError as error:
        return _failed(material, f"{material.name}: this build can't score by its task: {error}")
    result = new.result() if old is not None or material.keep else None
    summary = new.summary() if result is None else result
    scored = _failed(material, None)
    scored["status"] = "scored"
    scored["episode"] = summary["episode"]
    scored["new"] = _side_of(summary)
    scored["result"] = result if material.keep else None
    if material.anew is not None:
        scored["said"] = material.anew
    if material.tells_unknown:
        unknown = new.find_unknown()
        scored["unknown"] = unknown_to_json(unknown)
    if old is not None and result is not None:
        _compare_sides(scored, old, result, material)
    return scored


def unknown_to_json(unknown: UnknownMilestones) -> UnknownMilestonesJson:
    """Return what an episode leaves unknown as JSON."""
    by_step = {str(step): sorted(ids) for step, ids in unknown.by_step.items()}
    return {"by_step": by_step, "revocable": sorted(unknown.revocable)}


def unknown_from_json(told: UnknownMilestonesJson) -> UnknownMilestones:
    """Make it of what `unknown_to_json` gave."""
    by_step = {int(step): ids for step, ids in told["by_step"].items()}
    return UnknownMilestones(by_step, told["revocable"])


def _score_sides(material: Material) -> tuple[ScoredPlayback, Result | None]:
    """Score the episode by its task, and return what it was worth before, where that is known.
    Raises `RecordingError` and `TaskError`."""
    said = said_of(material)
    sides = [(ruleset_of(material.task), said if material.anew is None else material.anew)]
    if material.old_task is not None:
        sides.append((ruleset_of(material.old_task), said))
    unheard = unheard_kinds(*(rules for rules, _ in sides))
    segments = read_frames(material.content, material.name, unheard=unheard)
    new, *before = score_each(segments, sides)
    if material.old_result is not None:
        return new, orjson.loads(material.old_result)
    return new, before[0].result() if before else None


def _compare_sides(scored: RescoreOutcome, old: Result, new: Result, material: Material) -> None:
    """Write into an outcome how both sides differ."""
    scored["old"] = _side_of(old)
    scored["status"] = "same"
    differences = compare(old, new)
    if not is_same(differences):
        scored["status"] = "changed"
        scored["differences"] = differences
        scored["evidence"] = _events_shown(differences, material)


def said_of(material: Material) -> list[dict[str, object]]:
    """The events of the log of verdicts that was recorded. Raises `RecordingError`."""
    if material.said is None:
        return read_said(material.content, material.name)
    return [orjson.loads(body) for body in material.said]


def broken_outcome(material: Material, why: str) -> EpisodeOutcome:
    """The answer of an episode that could not even be tried to the end."""
    return EpisodeOutcome("failed", canonical(_failed(material, f"{material.name}: {why}")))


def _failed(material: Material, why: str | None) -> RescoreOutcome:
    return {
        "name": material.name,
        "content": sha256(material.content),
        "status": "failed",
        "error": why,
        "episode": None,
        "old": None,
        "new": None,
        "differences": None,
        "evidence": None,
        "result": None,
    }


def _side_of(result: ResultSummary) -> RescoreSide:
    return {
        "ruleset": result["ruleset"],
        "task": result["task"],
        "version": result["version"],
        "total": result["total"],
        "success": result["success"],
    }


def _events_shown(differences: Differences, material: Material) -> dict[str, str]:
    """Return the events that differences name, in words, by number."""
    numbers = set(evidence_of(differences))
    shown = {}
    for segment in read_frames(material.content, material.name):
        for event in segment.events:
            if event.seq in numbers:
                shown[str(event.seq)] = line(event)
        del segment, event  # before the next one is read: of a bomb no two are in memory
    return shown

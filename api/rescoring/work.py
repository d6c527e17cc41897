"""One episode's work: unpack, decode, score, compare. Whoever does it needs nothing but what it is
handed.

No file and no database is opened here, so the same work runs in this process, in another and on
another machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import orjson

from api.replay.recordings import RecordingError, read_frames, read_said
from api.rescoring.differences import compare, evidence_of, is_same
from api.rewards.event_text import line
from api.rewards.scored_episode import Result, ruleset_of, score_each
from api.tasks.plugins import load_plugins
from detectors.model.codec import canonical, sha256
from detectors.task.task_json import TaskError

Status = Literal["same", "changed", "scored", "failed"]
"""``scored``: there was nothing to compare with."""
HEAD = ("ruleset", "task", "version", "total", "success")
"""What is told of both sides of a comparison."""


class Material(NamedTuple):
    """An episode to score: its zstd frames and a task in canonical form.

    What it was worth before is a task to score it by too (``old_task``), a result in canonical JSON
    (``old_result``), or neither. ``keep``: the whole result is told, not the differences alone.
    ``wrong`` says why there is nothing to score, ``said`` what was said beyond the rules: the
    bodies of the episode's log of verdicts (None: those that the recording itself holds). ``anew``:
    what was said when it was asked again, on the budgets of ``tenant``; ``task`` is scored by that
    instead.
    """

    name: str
    content: bytes
    task: bytes
    old_task: bytes | None = None
    old_result: bytes | None = None
    keep: bool = True
    wrong: str | None = None
    said: tuple[bytes, ...] | None = None
    anew: list[dict[str, Any]] | None = None
    tenant: str = ""


class EpisodeOutcome(NamedTuple):
    """What came of an episode: its status, and `outcome` as canonical JSON."""

    status: Status
    line: bytes


def work(materials: Sequence[Material]) -> list[EpisodeOutcome]:
    """An answer for each, in their order; often in a process of its own, which must know others'
    rules too."""
    load_plugins()
    told = map(outcome, materials)
    return [EpisodeOutcome(one["status"], canonical(one)) for one in told]


def outcome(material: Material) -> dict[str, Any]:
    """``{name, content, status, episode, old, new, differences, evidence, error, result}`` of one
    episode.

    ``content`` is the sha256 of the frames; ``old`` and ``new`` are `HEAD` of both sides;
    ``evidence`` shows the events that differing milestones lean on, ``{seq: line}``; what does not
    apply is None. Where it was asked again there is ``said``: the words by which it is scored.
    """
    told = _failed(material, material.wrong)
    if material.wrong is not None:
        return told
    try:
        said, anew = said_of(material), material.anew
        sides = [(ruleset_of(material.task), said if anew is None else anew)]
        sides += [(ruleset_of(material.old_task), said)] if material.old_task is not None else []
        scored, *before = score_each(read_frames(material.content, material.name), sides)
    except RecordingError as error:
        return {**told, "error": str(error)}
    except TaskError as error:
        return {**told, "error": f"{material.name}: this build can't score by its task: {error}"}
    compared = bool(before) or material.old_result is not None
    result = scored.result() if compared or material.keep else scored.summary()
    told |= {
        "episode": result["episode"],
        "new": _head(result),
        "result": result if material.keep else None,
    }
    if anew is not None:
        told["said"] = anew
    if not compared:
        return {**told, "status": "scored"}
    old: Result = (
        before[0].result() if material.old_result is None else orjson.loads(material.old_result)
    )
    told["old"] = _head(old)
    differences = compare(old, result)
    if is_same(differences):
        return {**told, "status": "same"}
    return {
        **told,
        "status": "changed",
        "differences": differences,
        "evidence": _events_shown(differences, material),
    }


def said_of(material: Material) -> list[dict[str, Any]]:
    """The events of the log of verdicts that was recorded. Raises `RecordingError`."""
    if material.said is None:
        return read_said(material.content, material.name)
    return [orjson.loads(body) for body in material.said]


def broken(material: Material, why: str) -> EpisodeOutcome:
    """The answer of an episode that could not even be tried to the end."""
    return EpisodeOutcome("failed", canonical(_failed(material, f"{material.name}: {why}")))


def _failed(material: Material, why: str | None) -> dict[str, Any]:
    told = {
        "name": material.name,
        "content": sha256(material.content),
        "status": "failed",
        "error": why,
    }
    return told | dict.fromkeys(("episode", "old", "new", "differences", "evidence", "result"))


def _head(result: Result) -> dict[str, Any]:
    return {name: result[name] for name in HEAD}


def _events_shown(differences: Mapping[str, Any], material: Material) -> dict[str, str]:
    wanted = set(evidence_of(differences))
    segments = read_frames(material.content, material.name)
    return {str(e.seq): line(e) for segment in segments for e in segment.events if e.seq in wanted}

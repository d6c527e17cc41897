"""Recordings and stored episodes as files of OTLP/JSON, a line an episode, for `milestoned
export`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import orjson

from api.exporting.rows import Exported, scored_result
from api.replay.recordings import read_frames
from api.telemetry.attributes import TracedOutcome
from api.telemetry.otlp import json_line, logs_request, traces_request
from api.telemetry.outline import LogOutline
from api.telemetry.spans import (
    EpisodeTrace,
    TracedEpisode,
    trace_episode,
    unix_ns,
)
from common.trace_context import TraceParent
from detectors.model.json_value import object_or_empty

TRACES, LOGS = "traces.jsonl", "logs.jsonl"


def exported_trace(exported: Exported, opened_ns: int, *, content: bool) -> EpisodeTrace:
    """Return the trace of a whole episode. ``opened_ns``: when a recording was opened, in
    nanoseconds since 1970; a service knows it of its own episodes.

    Raises `RecordingError`, `TaskError`.
    """
    segments = list(read_frames(exported.content, exported.name))
    result = scored_result(exported, segments)
    log = LogOutline()
    for segment in segments:
        log.take(segment.events)
    facts = exported.facts
    opened_at, parent, labels = (facts.get(key) for key in ("opened_at", "traceparent", "labels"))
    task = None if exported.task is None else orjson.loads(exported.task)
    episode = TracedEpisode(
        result["episode"],
        result["task"],
        result["version"],
        result["ruleset"],
        opened_ns if opened_at is None else unix_ns(str(opened_at)),
        None if parent is None else TraceParent.parse(str(parent)),
        object_or_empty(labels),
        None if task is None else task["instruction"],
    )
    outcome = TracedOutcome(
        result["total"], result["success"], result["rewards"], closed=result["closed"]
    )
    return trace_episode(episode, log, result["rewards"], outcome, content=content)


def write_traces(
    folder: Path, traces: Iterable[EpisodeTrace], resource: Mapping[str, str]
) -> tuple[int, int]:
    """Write `traces.jsonl` and `logs.jsonl` below ``folder``, a line an episode, replacing earlier
    ones; return how many spans and evaluations there are. Both appear whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {name: folder / f"{name}.part" for name in (TRACES, LOGS)}
    spans = evaluations = 0
    try:
        with parts[TRACES].open("wb") as traces_file, parts[LOGS].open("wb") as logs_file:
            for trace in traces:
                request = traces_request([trace], resource, with_events=False)
                traces_file.write(json_line(request) + b"\n")
                logs_file.write(json_line(logs_request([trace], resource)) + b"\n")
                spans += len(trace.spans)
                evaluations += len(trace.evaluations)
    except BaseException:
        for part in parts.values():
            part.unlink(missing_ok=True)
        raise
    for name, part in parts.items():
        part.replace(folder / name)
    return spans, evaluations

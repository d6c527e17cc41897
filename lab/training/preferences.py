"""Preferences as lines of JSON, pref/1: read, checked line by line, each side's log turned into
rows of features."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import orjson
from jsonschema import Draft202012Validator

from api.replay.recordings import RecordingError, read_recording
from api.stages.model.features import Row, extract
from api.tasks.task_files import BadTaskError, check_task
from common.regular_file import read_regular
from detectors.engine.engine import Engine
from detectors.model.caches import cache_by_size
from detectors.model.json_value import JsonObject, object_or_empty, require_number, require_object
from detectors.model.memory import size_of
from detectors.model.types import Event, Reward
from detectors.task.ruleset import compile_task
from lab.training.perturbing import perturb_log

Level = Literal["trajectory", "step"]
SCHEMA = Path(__file__).with_name("pref-1.schema.json")


class PreferenceError(ValueError):
    """A file of preferences is wrong; the message names the file, the line and what was wanted."""


@dataclass(frozen=True, slots=True)
class Side:
    """One trajectory, or one ``step`` of it. ``key`` tells it from all others; ``group`` is left
    out as a whole."""

    recording: Path
    instruction: str
    group: str
    task: str
    step: int | None
    rules: JsonObject | None
    perturbed: JsonObject | None

    @property
    def key(self) -> str:
        """The same for the same rows."""
        said = [str(self.recording), self.instruction, self.step, self.rules, self.perturbed]
        return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True, slots=True)
class Pair:
    """``chosen`` is better than ``rejected`` in ``aspect``; of a ``tie`` neither is."""

    id: str
    level: Level
    aspect: str
    source: str
    annotator: str | None
    weight: float
    chosen: Side
    rejected: Side
    tie: bool = False


@dataclass(frozen=True, slots=True)
class LabelledOutcome:
    """One trajectory or step that was good, or not."""

    id: str
    level: Level
    aspect: str
    source: str
    trajectory: Side
    success: bool


@dataclass(frozen=True, slots=True)
class PreferenceSet:
    """All lines of some files. ``digest``: of the files' content, in order."""

    pairs: tuple[Pair, ...]
    outcomes: tuple[LabelledOutcome, ...]
    digest: str
    files: tuple[Path, ...]


def read_preferences(files: Iterable[Path]) -> PreferenceSet:
    """Read and check the files. Raises `PreferenceError`, or OSError."""
    pairs: list[Pair] = []
    outcomes: list[LabelledOutcome] = []
    digest = hashlib.sha256()
    files = tuple(files)
    for file in files:
        content = read_regular(file)
        digest.update(hashlib.sha256(content).digest())
        for line in _lines(file, content):
            one = _parse_line(line, file.parent)
            if isinstance(one, Pair):
                pairs.append(one)
            else:
                outcomes.append(one)
    return PreferenceSet(tuple(pairs), tuple(outcomes), digest.hexdigest(), files)


def _lines(file: Path, content: bytes) -> Iterator[JsonObject]:
    """Yield each line, checked by the schema. Raises `PreferenceError` that names it."""
    validator = _validator()
    for number, text in enumerate(content.splitlines(), 1):
        if not text.strip():
            continue
        where = f"{file}:{number}"
        try:
            line = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise PreferenceError(f"{where}: not JSON: {error}") from None
        for wrong in validator.iter_errors(line):
            place = wrong.json_path.removeprefix("$.")
            raise PreferenceError(f"{where}: {place}: {wrong.message[:300]}")
        if line.get("level") == "step":
            _require_steps(where, line)
        yield line


def _require_steps(where: str, line: JsonObject) -> None:
    """Raise `PreferenceError` where a side of a line about steps names none."""
    sides = [line[name] for name in ("chosen", "rejected", "trajectory") if name in line]
    steps = [object_or_empty(side).get("step") for side in sides]
    if None in steps:
        raise PreferenceError(f"{where}: step is missing on a side, wanted one: level is 'step'")


@lru_cache(maxsize=1)
def _validator() -> Draft202012Validator:
    return Draft202012Validator(orjson.loads(SCHEMA.read_bytes()))


def _parse_line(line: JsonObject, folder: Path) -> Pair | LabelledOutcome:
    """Read a line that the schema allows."""
    level: Level = "step" if line.get("level") == "step" else "trajectory"
    aspect = str(line.get("aspect", "success"))
    about = {"id": str(line["id"]), "source": str(line["source"])}
    if line["kind"] == "outcome":
        trajectory, success = _side(line, "trajectory", folder), bool(line["success"])
        return LabelledOutcome(
            **about, level=level, aspect=aspect, trajectory=trajectory, success=success
        )
    annotator = line.get("annotator")
    return Pair(
        **about,
        level=level,
        aspect=aspect,
        annotator=None if annotator is None else str(annotator),
        weight=require_number(line.get("weight", 1.0), "weight"),
        chosen=_side(line, "chosen", folder),
        rejected=_side(line, "rejected", folder),
        tie=bool(line.get("tie", False)),
    )


def _side(line: JsonObject, name: str, folder: Path) -> Side:
    """Read one side of a line, checked by the schema before; its recording lies in ``folder``."""
    side = require_object(line[name], name)
    group, step = str(side["group"]), side.get("step")
    rules, perturbed = side.get("rules"), side.get("perturbed")
    return Side(
        recording=folder / str(side["recording"]),
        instruction=str(side["instruction"]),
        group=group,
        task=str(side.get("task", group)),
        step=step if isinstance(step, int) else None,
        rules=None if rules is None else require_object(rules, "rules"),
        perturbed=None if perturbed is None else require_object(perturbed, "perturbed"),
    )


def rows_of(side: Side) -> list[Row]:
    """The side's rows of features: of its trajectory, or the one of its step. Raises
    `PreferenceError`."""
    try:
        events = list(perturb_log(_events(side.recording), side.perturbed))
        rows = extract(side.instruction, events, _rewards(side, events))
    except (RecordingError, OSError) as error:
        raise PreferenceError(f"{side.recording}: {error}") from None
    if side.step is None:
        return rows
    if side.step >= len(rows):
        raise PreferenceError(
            f"{side.recording}: step is {side.step}, but the recording has {len(rows)} steps"
        )
    return [rows[side.step]]


@cache_by_size(256 << 20, lambda events, _: size_of([events]))
def _events(recording: Path) -> tuple[Event, ...]:
    """Return all events of a recording in their order."""
    return tuple(event for segment in read_recording(recording) for event in segment.events)


def _rewards(side: Side, events: list[Event]) -> list[Reward]:
    """Return the rewards of a side by its own rules; none where it has none."""
    if side.rules is None or not events:
        return []
    return score_log(side.rules, events)


def score_log(task: JsonObject, events: list[Event]) -> list[Reward]:
    """The rules' rewards of a log, one a step, the last one told last. Raises `PreferenceError` for
    a bad task."""
    try:
        ruleset = compile_task(check_task(task))
    except BadTaskError as error:
        raise PreferenceError(f"task {task.get('id')!r}: {error}") from None
    return Engine(ruleset, events[0].episode).feed(events).rewards

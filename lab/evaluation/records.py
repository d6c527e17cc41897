"""Labelled trajectories: one JSON object a line, gzipped or not."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from common.regular_file import NotRegularError, read_regular
from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    is_number,
    objects_in,
    read_text,
)
from detectors.model.optional_values import entries_without_none, without_none

SUCCESS = 0.5
"""From which reward of its own on the environment calls a trajectory a success."""
_LABELS = {"Successful": True, "Unsuccessful": False, "Unsure": None}
_MISSING = "nothing"
_LARGEST = 1e300
_GZIP = b"\x1f\x8b"
MAX_BYTES = 1 << 30
"""Bytes of a file of trajectories."""
_CHUNK = 1 << 20
_FREE = 1 << 25
_MAX_RATIO = 50
"""What packed bytes may unpack to beyond the first `_FREE`."""


class RecordError(ValueError):
    """A line is no labelled trajectory; the message names the line, the field, the value and what
    was wanted."""


@dataclass(frozen=True, slots=True)
class Record:
    """``terminated``, ``environment`` (the reward that the environment gave): None where it is
    unknown; ``judges``: recorded verdicts by name; ``actions``: what the agent did, without its
    reasoning; ``group``: trajectories of one group are never apart in a fit; ``family``: the kind
    of task, `benchmark` where the line has it, else what stands before the task id's first dot."""

    group: str
    family: str
    goal: str
    actions: tuple[str, ...]
    terminated: bool | None
    environment: float | None
    judges: Mapping[str, bool]
    label: bool

    @property
    def environment_says(self) -> bool | None:
        """Whether the environment calls it a success; None where its reward is unknown."""
        return None if self.environment is None else self.environment >= SUCCESS


def read_records(path: Path) -> tuple[list[Record], int]:
    """The trajectories of a file, and how many were left out because no label decides. Raises
    `RecordError`."""
    try:
        content = read_regular(path, MAX_BYTES)
        text = _unpacked(content) if content.startswith(_GZIP) else content
    except NotRegularError as error:
        raise RecordError(f"{error}; wanted JSON lines, packed or not") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise RecordError(f"no sound gzip: {error}; wanted a whole one, or JSON lines") from None
    found = [
        _record(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()
    ]
    kept = without_none(found)
    return kept, len(found) - len(kept)


def _unpacked(content: bytes) -> bytes:
    """Raises `RecordError` for a bomb: by what has come out of the bytes that were read so far."""
    packed, out = io.BytesIO(content), bytearray()
    with gzip.open(packed) as file:
        while chunk := file.read(_CHUNK):
            out += chunk
            if len(out) > max(_FREE, _MAX_RATIO * packed.tell()):
                what = f"unpacks {packed.tell()} bytes to more than {len(out)}"
                raise RecordError(f"{what}; wanted JSON lines, packed or not")
    return bytes(out)


def _record(number: int, line: bytes) -> Record | None:
    """A line as a trajectory; None where its label decides nothing. Raises `RecordError`."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"line {number}: not JSON: {error}") from None
    if not isinstance(row, dict):
        raise RecordError(f"line {number}: got {str(row)[:80]!r}, wanted an object")
    label = _label(number, row)
    if label is None:
        return None
    return Record(
        group=str(row.get("task_id", number)),
        family=_family(row),
        goal=read_text(row, "goal"),
        actions=tuple(_actions(row.get("action_history"))),
        terminated=_truth(number, row, "terminated"),
        environment=_reward(number, row),
        judges=_verdicts(number, row),
        label=label,
    )


def _family(row: JsonObject) -> str:
    """Return the benchmark that a row is of, or else the first part of its task's name."""
    if isinstance(row.get("benchmark"), str):
        return str(row["benchmark"])
    return str(row.get("task_id", "")).partition(".")[0] or "unnamed"


def _verdicts(number: int, row: JsonObject) -> dict[str, bool]:
    """The verdict of each judge that did not abstain."""
    verdicts = {name: _truth(number, words, "verdict") for name, words in _judges(number, row)}
    return entries_without_none(verdicts)


def _label(number: int, row: JsonObject) -> bool | None:
    """Read whether the trajectory was a success; None for null. Raises `RecordError` for other
    words."""
    label = row.get("label_success")
    if label is None:
        return None
    if not isinstance(label, str) or label not in _LABELS:
        raise RecordError(
            f"line {number}: label_success: got {label!r:.80}, wanted one of {', '.join(_LABELS)},"
            " or null"
        )
    return _LABELS[label]


def _truth(number: int, told: JsonObject, name: str) -> bool | None:
    """True, false, or None for what is null: unknown, and of a judge whose answer could not be
    read, abstained."""
    value = told.get(name, _MISSING)
    if value is not None and not isinstance(value, bool):
        raise RecordError(
            f"line {number}: {name}: got {value!r:.80}, wanted true, false, or null for unknown"
        )
    return value


def _reward(number: int, told: JsonObject) -> float | None:
    """The environment's own reward, a finite number; None for null: unknown."""
    value = told.get("cum_reward", _MISSING)
    if value is None:
        return None
    if not is_number(value) or not -_LARGEST <= value <= _LARGEST:
        raise RecordError(
            f"line {number}: cum_reward: got {value!r:.80}, wanted a finite number, or null for"
            " unknown"
        )
    return float(value)


def _judges(number: int, told: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield each judge's name with its words. Raises `RecordError` for what is no object of
    objects."""
    judges = told.get("judges") or {}
    if not isinstance(judges, dict) or len(objects_in(list(judges.values()))) < len(judges):
        raise RecordError(
            f"line {number}: judges: got {judges!r:.80}, wanted an object of names and their words"
        )
    yield from zip(judges, objects_in(list(judges.values())), strict=True)


def _actions(history: JsonValue) -> Iterator[str]:
    """The numbered actions of a history, each without the agent's reasoning behind it."""
    for line in str(history or "").splitlines():
        number, dot, rest = line.partition(". ")
        if dot and number.isdecimal():
            yield rest.partition(" Reasoning:")[0].rstrip(".")

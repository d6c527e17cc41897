"""Labelled trajectories: one JSON object a line, gzipped or not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUCCESS = 0.5
"""From which reward of its own on the environment calls a trajectory a success."""
_LABELS = {"Successful": True, "Unsuccessful": False, "Unsure": None}
_GZIP = b"\x1f\x8b"


class RecordError(ValueError):
    """A line is no labelled trajectory; the message names the line, the field, the value and what was wanted."""


@dataclass(frozen=True, slots=True)
class Record:
    """``environment``: the reward that the environment gave; ``judges``: recorded verdicts by name; ``actions``: what
    the agent did, without its reasoning; ``group``: trajectories of one group are never apart in a fit."""

    group: str
    goal: str
    actions: tuple[str, ...]
    terminated: bool
    environment: float
    judges: Mapping[str, bool]
    label: bool

    @property
    def environment_says(self) -> bool:
        """Whether the environment calls it a success."""
        return self.environment >= SUCCESS


def read_records(path: Path) -> tuple[list[Record], int]:
    """The trajectories of a file, and how many were left out because no label decides. Raises `RecordError`."""
    content = path.read_bytes()
    text = gzip.decompress(content) if content.startswith(_GZIP) else content
    found = [_record(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    kept = [record for record in found if record is not None]
    return kept, len(found) - len(kept)


def _record(number: int, line: bytes) -> Record | None:
    try:
        told = json.loads(line)
    except ValueError as error:
        raise RecordError(f"line {number}: not JSON: {error}") from None
    if not isinstance(told, dict):
        raise RecordError(f"line {number}: got {str(told)[:80]!r}, wanted an object")
    label = told.get("label_success")
    if label not in _LABELS:
        raise RecordError(f"line {number}: label_success: got {label!r}, wanted one of {', '.join(_LABELS)}")
    verdict = _LABELS[label]
    if verdict is None:
        return None
    return Record(
        group=str(told.get("task_id", number)),
        goal=str(told.get("goal") or ""),
        actions=tuple(_actions(told.get("action_history"))),
        terminated=_field(number, told, "terminated", bool),
        environment=float(_field(number, told, "cum_reward", (int, float))),
        judges={name: _field(number, said, "verdict", bool) for name, said in _judges(number, told)},
        label=verdict,
    )


def _field(number: int, told: Mapping[str, Any], name: str, kind: Any) -> Any:
    value = told.get(name)
    if not isinstance(value, kind):
        raise RecordError(f"line {number}: {name}: got {value!r:.80}, wanted a {getattr(kind, '__name__', 'number')}")
    return value


def _judges(number: int, told: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    judges = told.get("judges", {})
    if not isinstance(judges, dict) or not all(isinstance(said, dict) for said in judges.values()):
        raise RecordError(f"line {number}: judges: got {judges!r:.80}, wanted an object of names and their words")
    # A judge whose answer could not be read abstained.
    yield from ((name, said) for name, said in judges.items() if said.get("verdict") is not None)


def _actions(history: Any) -> Iterator[str]:
    """The numbered actions of a history, each without the agent's reasoning behind it."""
    for line in str(history or "").splitlines():
        number, dot, rest = line.partition(". ")
        if dot and number.isdecimal():
            yield rest.partition(" Reasoning:")[0].rstrip(".")

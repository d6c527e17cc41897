"""A run of the benchmarks as JSON: what was measured, where, and which parts are missing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from benchmarks.figures import Figure

FORMAT = 1
"""The version of the file: a change of what a field means raises it."""
MAX_SHOWN = 80
"""How many characters of a wrong value an error shows."""


class RunFileError(Exception):
    """A file that is no run of the benchmarks; the message names file, field, value and what is
    expected."""


class PartState(BaseModel):
    """What became of a part. ``seconds``: how long it took, None if it did not begin; ``reason``:
    why it failed; ``left_out``: what it could not measure here."""

    model_config = ConfigDict(extra="forbid", strict=True)

    status: Literal["measured", "failed", "interrupted", "not run"] = "not run"
    seconds: float | None = None
    reason: str = ""
    left_out: list[str] = []


class BenchRun(BaseModel):
    """A run. ``commit``: of the tree, empty outside of git; ``is_dirty``: whether the tree has
    changes that are in no commit; loads are of the last minute; ``is_quick``: whether it is the
    short form."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: int = FORMAT
    commit: str
    is_dirty: bool
    python: str
    cores: int
    load_at_start: float
    load_at_end: float
    is_quick: bool
    parts: dict[str, PartState]
    figures: list[Figure]

    @property
    def missing(self) -> dict[str, PartState]:
        """Return the parts that were not measured to their end."""
        return {name: part for name, part in self.parts.items() if part.status != "measured"}


def write_run(run: BenchRun, file: Path) -> None:
    """Write the run in one move, so that a killed process leaves the last whole file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{os.getpid()}.draft")
    draft.write_text(run.model_dump_json(indent=1) + "\n", encoding="utf-8")
    draft.replace(file)


def read_run(file: Path) -> BenchRun:
    """Read a run. Raises `RunFileError` for what is no file, no JSON, of another format, or has
    fields that a run does not have."""
    try:
        document: Any = json.loads(file.read_bytes())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise RunFileError(f"{file}: expected a file of a run, got {reason!r}") from None
    except ValueError as error:
        raise RunFileError(f"{file}: expected JSON, got {error}") from None
    if not isinstance(document, dict):
        raise RunFileError(f"{file}: expected an object, got {_shorten(document)}")
    version = document.get("format")
    if version != FORMAT:
        raise RunFileError(f"{file}: format: expected {FORMAT}, got {_shorten(version)}")
    try:
        run = BenchRun.model_validate(document)
    except ValidationError as error:
        raise RunFileError(f"{file}: {_describe(error)}") from None
    names = [(figure.part, figure.row) for figure in run.figures]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise RunFileError(
                f"{file}: figures.{number}.row: expected a row once, got {name} again"
            )
    return run


def _describe(error: ValidationError) -> str:
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"{field}: expected a value, got none"
    if first["type"] == "extra_forbidden":
        return f"{field}: expected no such field, got {_shorten(first['input'])}"
    expected = first["msg"].removeprefix("Input should be ")
    return f"{field}: expected {expected}, got {_shorten(first['input'])}"


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"

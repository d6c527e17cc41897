"""A rubric: the checklist of criteria that a stage answers one by one, written by the task's
author."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from detectors.model.errors import SpecError
from detectors.model.types import Line
from detectors.model.validation import Path

MAX_CRITERIA = 32
MAX_CHARACTERS = 2_000
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}")


@dataclass(frozen=True, slots=True)
class Rubric:
    """Criteria in their order; an id is given to each that has none: c1, c2, …"""

    lines: tuple[Line, ...]

    WANTED: typing.ClassVar[str] = (
        f"a list of 1 to {MAX_CRITERIA} criteria: a text each, or {{id, text, required}}; ids"
        f" apart, texts of 1 to {MAX_CHARACTERS} characters, one at least required"
    )

    @classmethod
    def parse(cls, spec: object, path: Path, origin: str | None = None) -> Rubric:
        """Make it of its JSON form. Raises `SpecError`."""
        if not isinstance(spec, list) or not 1 <= len(spec) <= MAX_CRITERIA:
            raise SpecError(path, spec, cls.WANTED)
        lines = tuple(_line(item, n, (*path, n - 1)) for n, item in enumerate(spec, 1))
        if len({line.id for line in lines}) < len(lines) or not any(
            line.required for line in lines
        ):
            raise SpecError(path, spec, cls.WANTED)
        return cls(lines)


def rubric_to_json(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """The same, with every default written out."""
    return [{"id": line.id, "text": line.text, "required": line.required} for line in lines]


def _line(item: object, number: int, path: Path) -> Line:
    given = {"text": item} if isinstance(item, str) else item
    if not isinstance(given, dict) or not given.keys() <= {"id", "text", "required"}:
        raise SpecError(path, item, Rubric.WANTED)
    id, text, required = (
        given.get("id", f"c{number}"),
        given.get("text"),
        given.get("required", True),
    )
    if not isinstance(id, str) or not _ID.fullmatch(id) or not isinstance(required, bool):
        raise SpecError(path, item, Rubric.WANTED)
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_CHARACTERS:
        raise SpecError(path, item, Rubric.WANTED)
    return Line(id, text, required)

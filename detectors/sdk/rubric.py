"""A rubric: the checklist of criteria that a stage answers one by one, written by the task's
author."""

from __future__ import annotations

from dataclasses import dataclass, replace

from detectors.model.json_objects import key, object_type, required_key
from detectors.model.json_types import FLAG, JsonType, ListOf, Short, text

MAX_CRITERIA = 32
MAX_CHARACTERS = 2_000
_ID = text("letters, digits, - _ and ., at most 64", pattern=r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}")
_TEXT = text(f"a text of 1 to {MAX_CHARACTERS} characters", max_length=MAX_CHARACTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One criterion of a rubric."""

    id: str = key("What answers name it by; by default c1, c2, … in their order.", _ID, "")
    text: str = required_key("What must be so.", _TEXT, "")
    required: bool = key("Without it there is no success.", FLAG, True)


def _number_lines(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Give an id to each line that has none. Raises `ValueError` for what is no rubric."""
    lines = tuple(line if line.id else replace(line, id=f"c{n}") for n, line in enumerate(lines, 1))
    if len({line.id for line in lines}) < len(lines) or not any(line.required for line in lines):
        raise ValueError(RUBRIC.expected)
    return lines


LINE: JsonType[Line] = Short(_TEXT, lambda criterion: {"text": criterion}, object_type(Line))
RUBRIC = ListOf(
    LINE,
    f"a list of 1 to {MAX_CRITERIA} criteria: a text each, or {{id, text, required}}; ids apart,"
    f" texts of 1 to {MAX_CHARACTERS} characters, one at least required",
    minimum=1,
    maximum=MAX_CRITERIA,
    finish=_number_lines,
)

"""Task files: YAML in, `Task` out, every problem named by file line, path, value and what was
wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from api.core.json_values import fault_of
from common import yaml_text
from common.regular_file import NotRegularError, read_regular
from common.yaml_text import MAX_BYTES, MAX_DEPTH, MAX_NODES, BadYamlError, Lines
from detectors.model.errors import SpecError, format_path, format_value
from detectors.model.json_value import object_or_empty
from detectors.model.optional_values import drop_keys
from detectors.task.language import Task
from detectors.task.task_json import TaskError, at_label, task_from_json
from detectors.task.templates import PARAMETERS, VALUES, fill_template

SCHEDULES_AT = "schedules.at"
"""What evaluates a task's schedules on the command line: `--set schedules.at=5000`."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a task; ``line`` is None where the task was no YAML text."""

    path: str
    line: int | None
    value: str
    wanted: str

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.path}: got {self.value}, wanted {self.wanted}"

    def to_json(self) -> dict[str, Any]:
        """Return the problem as the wire has it."""
        return {"path": self.path, "line": self.line, "value": self.value, "wanted": self.wanted}


class BadTaskError(ValueError):
    """A task is refused; ``problems`` says all that is wrong with it, in the order of the file."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))


def check_task(spec: object, lines: Lines | None = None, *, values_needed: bool = False) -> Task:
    """The task that a JSON value says; ``tests`` in it are not the task's.

    A template is filled with its values, or with its examples unless ``values_needed``. Raises
    `BadTaskError`.
    """
    own = drop_keys(spec, ("tests",)) if isinstance(spec, dict) else spec
    return _checked(own, lines or {}, values_needed=values_needed)


def load_task_yaml(text: str, overrides: dict[str, str] | None = None) -> Task:
    """The task that YAML text says, with top-level keys replaced by ``overrides``. Raises
    `BadTaskError`."""
    return check_task(*read_task_yaml(text, overrides))


def read_task_yaml(text: str, overrides: dict[str, str] | None = None) -> tuple[object, Lines]:
    """What YAML text says, unchecked, and the line of every key. Raises `BadTaskError` for what is
    no YAML."""
    try:
        spec, lines = yaml_text.read_yaml(text)
    except BadYamlError as error:
        raise bad_yaml(error) from None
    if isinstance(spec, dict):
        spec = _override(spec, overrides or {})
    return spec, lines


def _override(spec: dict[str, Any], overrides: dict[str, str]) -> dict[str, Any]:
    """Return a task with top-level keys replaced; `values.NAME` is one value of a template, read as
    JSON where its example is no text."""
    changed = dict(spec)
    for key, text in overrides.items():
        if key == SCHEDULES_AT:
            continue
        head, dot, name = key.partition(".")
        if head == VALUES and dot:
            changed[VALUES] = {**changed.get(VALUES, {}), name: _read_value(spec, name, text)}
        else:
            changed[key] = text
    return changed


def _read_value(spec: dict[str, object], name: str, text: str) -> object:
    """Read a parameter's value: as a text where its example is one, else as JSON, if it is some."""
    declared = spec.get(PARAMETERS)
    parameter = object_or_empty(declared).get(name)
    if isinstance(parameter, dict) and isinstance(parameter.get("example"), str):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def load_task_file(path: Path, overrides: dict[str, str] | None = None) -> Task:
    """The task in a file. Raises `BadTaskError`, or `OSError` for a file that can't be read."""
    return _at_label(check_task(*read_task_file(path, overrides)), overrides or {})


def _at_label(task: Task, overrides: Mapping[str, str]) -> Task:
    """Return a task as an episode with the label `schedules.at` has it. Raises `BadTaskError`."""
    if SCHEDULES_AT not in overrides:
        return task
    text = overrides[SCHEDULES_AT]
    wanted = "a number, of a task with schedules"
    if task.schedules is None:
        raise BadTaskError([Problem(SCHEDULES_AT, None, format_value(text), wanted)])
    try:
        return at_label(task, float(text))
    except (ValueError, OverflowError):
        raise BadTaskError([Problem(SCHEDULES_AT, None, format_value(text), wanted)]) from None


def read_task_file(path: Path, overrides: dict[str, str] | None = None) -> tuple[Any, Lines]:
    """What a file says, unchecked, and the line of every key. Raises as `load_task_file`."""
    try:
        text = read_regular(path, MAX_BYTES).decode("utf-8")
    except NotRegularError as error:
        wanted = f"a regular file of at most {MAX_BYTES} bytes"
        raise BadTaskError([Problem("(file)", None, str(error), wanted)]) from None
    except UnicodeDecodeError as error:
        raise BadTaskError([Problem("(file)", None, f"byte {error.start}", "UTF-8 text")]) from None
    return read_task_yaml(text, overrides)


def _checked(spec: object, lines: Lines, *, values_needed: bool) -> Task:
    """Check a task and fill in its template. Raises `BadTaskError` with each problem's line."""
    fault = fault_of(spec, MAX_DEPTH, MAX_NODES)
    if fault is not None:
        line = yaml_text.line_of(fault.path, lines)
        raise BadTaskError([Problem(format_path(fault.path), line, fault.value, fault.wanted)])
    try:
        return task_from_json(fill_template(spec, values_needed=values_needed))
    except TaskError as error:
        problems = [_problem(one, lines) for one in error.problems]
        raise BadTaskError(sorted(problems, key=lambda p: p.line or 0)) from None


def _problem(error: SpecError, lines: Lines) -> Problem:
    return Problem(
        format_path(error.path),
        yaml_text.line_of(error.path, lines),
        format_value(error.value),
        error.wanted,
    )


def bad_yaml(error: BadYamlError) -> BadTaskError:
    """Text that is no YAML document within bounds, as a task's one problem."""
    return BadTaskError([Problem("(YAML)", error.line, error.found, error.wanted)])

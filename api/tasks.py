"""Task files: YAML in, `Task` out, every problem named by file line, path, value and what was wanted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from detectors.errors import SpecError, dotted, shown
from detectors.task_json import TaskError, task_from_json
from detectors.types import Task

Where = tuple[str | int, ...]


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
        """As the wire has it."""
        return {"path": self.path, "line": self.line, "value": self.value, "wanted": self.wanted}


class BadTaskError(ValueError):
    """A task is refused; ``problems`` says all that is wrong with it, in the order of the file."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))


class _Loader(yaml.CSafeLoader):
    """Safe YAML that refuses a key given twice, where plain YAML silently keeps the last, and one that is no text: JSON
    has none such, and 2024, yes and null want quotes to be names."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                scalar = isinstance(key_node, yaml.ScalarNode)
                wants = (
                    f"{key_node.value!r} wants quotes" if scalar else "a value that begins with a brace wants quotes"
                )
                raise yaml.constructor.ConstructorError(None, None, f"a key is a name; {wants}", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is given twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def check_task(spec: Any, lines: dict[Where, int] | None = None) -> Task:
    """The task that a JSON value says; ``tests`` in it are not the task's. Raises `BadTaskError`."""
    own = {key: value for key, value in spec.items() if key != "tests"} if isinstance(spec, dict) else spec
    return _checked(own, lines or {})


def load_task_yaml(text: str, overrides: dict[str, str] | None = None) -> Task:
    """The task that YAML text says, with top-level keys replaced by ``overrides``. Raises `BadTaskError`."""
    return check_task(*read_task_yaml(text, overrides))


def read_task_yaml(text: str, overrides: dict[str, str] | None = None) -> tuple[Any, dict[Where, int]]:
    """What YAML text says, unchecked, and the line of every key. Raises `BadTaskError` for what is no YAML."""
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            spec = loader.construct_document(node) if node is not None else None
        finally:
            loader.dispose()
        lines: dict[Where, int] = {}
        if node is not None:
            _note_lines(node, (), lines)
    except yaml.YAMLError as error:
        raise BadTaskError([_yaml_problem(error)]) from None
    except (ValueError, TypeError, AttributeError) as error:  # of a value with a tag, and a date that there is not
        raise BadTaskError([Problem("(file)", None, str(error)[:200], "values that YAML knows")]) from None
    except RecursionError:
        raise BadTaskError([Problem("(file)", None, "lists within lists", "nesting that ends")]) from None
    if isinstance(spec, dict):
        spec = {**spec, **(overrides or {})}
    return spec, lines


def load_task_file(path: Path, overrides: dict[str, str] | None = None) -> Task:
    """The task in a file. Raises `BadTaskError`, or `OSError` for a file that can't be read."""
    return check_task(*read_task_file(path, overrides))


def read_task_file(path: Path, overrides: dict[str, str] | None = None) -> tuple[Any, dict[Where, int]]:
    """What a file says, unchecked, and the line of every key. Raises as `load_task_file`."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise BadTaskError([Problem("(file)", None, f"byte {error.start}", "UTF-8 text")]) from None
    return read_task_yaml(text, overrides)


def _checked(spec: Any, lines: dict[Where, int]) -> Task:
    try:
        return task_from_json(spec)
    except TaskError as error:
        problems = [_problem(one, lines) for one in error.problems]
        raise BadTaskError(sorted(problems, key=lambda p: p.line or 0)) from None


def _problem(error: SpecError, lines: dict[Where, int]) -> Problem:
    where = error.path
    while where and where not in lines:
        where = where[:-1]
    return Problem(dotted(error.path), lines.get(where), shown(error.value), error.wanted)


def _note_lines(node: yaml.Node, path: Where, lines: dict[Where, int]) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*path, str(key.value))
            lines[here] = key.start_mark.line + 1
            _note_lines(value, here, lines)
    elif isinstance(node, yaml.SequenceNode):
        # A composite may be written as a bare list; its parts are then reported below `of`.
        for n, item in enumerate(node.value):
            _note_lines(item, (*path, n), lines)
            _note_lines(item, (*path, "of", n), lines)


def _yaml_problem(error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None)
    said = getattr(error, "problem", None) or str(error)
    return Problem("(YAML)", mark.line + 1 if mark else None, said, "a YAML document")

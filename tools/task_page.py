"""docs/task-reference.md: every object of the task language and its keys, from their
declarations."""

from __future__ import annotations

from typing import Any

import orjson

from detectors.model.json_objects import Key, ObjectType
from detectors.model.json_types import JsonType
from detectors.task.language import TASK


def task_page() -> str:
    """Return the page: the task itself, then each object within it by the key that it stands at."""
    return (
        "# Task reference\n\nEvery key of a task file; [task files](tasks.md) explains them by"
        " examples. Conditions are listed in [rules](rules.md).\n"
        f"{object_tables(TASK, 'task')}"
    )


def object_tables(top: ObjectType[Any], heading: str) -> str:
    """A heading and a table of keys for an object, then for each object within it."""
    tables = [f"\n## {heading}\n\n{_paragraph(top.doc)}{_table(top)}"]
    for key in top.keys:
        inner = key.name if top is TASK else f"{heading}.{key.name}"
        tables += [object_tables(part, inner) for part in _objects_in(key.type)]
    return "".join(tables)


def _objects_in(value: JsonType[Any]) -> list[ObjectType[Any]]:
    """The objects that a value is, or that its items are."""
    if isinstance(value, ObjectType):
        return [value]
    return [found for part in value.parts() for found in _objects_in(part)]


def _table(found: ObjectType[Any]) -> str:
    rows = "".join(_row(key) for key in found.keys)
    return f"| key | value | default | |\n| --- | --- | --- | --- |\n{rows}"


def _row(key: Key) -> str:
    cells = (f"`{key.name}`", key.type.label or key.type.expected, _default(key), key.doc)
    return f"| {' | '.join(cell.replace('|', '¦') for cell in cells)} |\n"


def _default(key: Key) -> str:
    """The default as JSON; `required` for a key that must be given."""
    if key.required:
        return "required"
    default = key.schema().get("default")
    return "" if default is None else f"`{orjson.dumps(default).decode()}`"


def _paragraph(doc: str) -> str:
    words = " ".join(doc.split())
    return f"{words}\n\n" if words else ""

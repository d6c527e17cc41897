"""The JSON Schema of task files, by which editors complete and check them: made of the declarations
of the task language and of the rules."""

from __future__ import annotations

from typing import Any

from detectors.model.json_types import JsonType, Schema, object_schema
from detectors.sdk.arguments import GRADE_TYPE, STRUCTURE_TYPE, TEXT_TYPE, URL_TYPE
from detectors.task.conditions import CONDITION, TOP_CONDITION
from detectors.task.language import TASK
from detectors.task.templates import template_schema
from detectors.task.value_types import ID

_TEXT: Schema = {"type": "string"}
_SHARED: tuple[JsonType[Any], ...] = (
    ID,
    TEXT_TYPE,
    STRUCTURE_TYPE,
    GRADE_TYPE,
    URL_TYPE,
    CONDITION,
    TOP_CONDITION,
)
"""What has a place of its own in the schema, to which others refer."""


def task_schema() -> Schema:
    """The schema of a task file (JSON Schema 2020-12). Beside the task it has `tests`, which
    api/replay/task_tests.py reads, and what makes it a template."""
    task = TASK.definition()
    task["properties"] |= {**template_schema(), "tests": _tests_schema()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "milestoned task",
        "description": TASK.doc,
        **task,
        "$defs": {shared.ref: shared.definition() for shared in _SHARED},
    }


def _tests_schema() -> Schema:
    inline = [
        object_schema({"frames": _TEXT}, ("frames",)),
        object_schema({"lines": _TEXT}, ("lines",)),
    ]
    recording: Schema = {"anyOf": [_TEXT, *inline]}
    number = {"type": "number"}
    kinds = [
        object_schema({"oracle": recording, "total": number}, ("oracle",)),
        object_schema({"adversarial": recording, "at_most": number}, ("adversarial",)),
    ]
    return {
        "type": "array",
        "items": {"anyOf": kinds},
        "description": "Recordings that show what the task pays: `milestoned task test`.",
    }

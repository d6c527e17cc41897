"""One declaration for a key of the task language: reader, encoder, schema and reference follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.tasks.schema import task_schema
from detectors.model.codec import canonical
from detectors.model.json_objects import ObjectType, key, object_type, required_key
from detectors.model.json_types import FLAG, JsonType, ListOf, choice, number, text
from detectors.model.validation import TaskReader
from detectors.task.language import TASK
from detectors.task.task_json import TaskError, task_from_json, task_to_json
from tests.support.examples import examples
from tools.task_page import object_tables, task_page

RICH: dict[str, Any] = {
    "id": "t",
    "version": "1",
    "instruction": "Do it.",
    "origin": "http://shop.test",
    "hosts": ["http://cdn.test"],
    "weights": {"nav": 0.3, "ui": 0.2, "goal": 2},
    "objectives": {"care": 0.5},
    "credit": {"nav": "level"},
    "penalty_floor": -2,
    "step_cost": 0.01,
    "settings": {"quiet_ms": 5, "settle_ms": 900},
    "limits": {"steps": 9, "seconds": 3.5},
    "outcome": {"alpha": 0.25, "success": 2, "failure": -1},
    "efficiency": {"weight": 1, "best": 2, "worst": 9},
    "shaping": {"potential": ["ui"], "gamma": 0.9},
    "start": {
        "tabs": ["/a"],
        "files": ["downloads/a.csv"],
        "absent_files": ["downloads/b.csv"],
        "on_mismatch": "refuse",
    },
    "infeasible": False,
    "schedules": {
        "label": "train_step",
        "points": {"outcome.alpha": [[0, 0.25], [9, 0.5]]},
        "default": 0,
        "at": 0,
    },
    "milestones": [
        {"id": "a", "when": {"url_reached": {"url": "/a"}}, "decisive": "both"},
        {
            "id": "go",
            "when": {"element_clicked": {"name": "Go"}},
            "component": "ui",
            "weight": 2,
            "after": ["a"],
            "before": ["harm"],
            "baseline": "transition",
            "revoke_on": {"url_reached": {"url": "/undo"}},
            "only_if": {"probe_answers": {"probe": "rows", "value": 1}},
            "within": {"steps": 3, "seconds": 60},
            "since": "a",
            "credit_to": "cause",
        },
        {
            "id": "harm",
            "when": {"element_clicked": {"name": "Delete"}},
            "component": "form",
            "penalty": 1,
            "repeat": 3,
        },
        {"id": "help", "when": {"element_clicked": {"name": "Help"}}, "component": "care"},
        {"id": "done", "when": {"goal": {"requires": ["go"]}}, "must_hold_at_end": True},
    ],
    "observations": {"page_bytes": 4096},
    "hints": True,
    "probes": [
        {"id": "rows", "get": "/api/rows"},
        {"id": "theme", "script": {"url": "/*", "expression": "1"}, "when": ["close"]},
        {"id": "notes", "file": {"root": "home", "path": "n.json", "as": "json"}, "budget_ms": 9},
        {"id": "fonts", "command": {"argv": ["fc-list", "-v"]}},
    ],
    "escalation": {
        "route": "blend",
        "escalate": ["goal", "unscored"],
        "audit": 1,
        "confident": 1,
        "tiers": ["judge"],
        "weights": {"rule": 0.6, "judge": 0.4},
        "decisive": "none",
        "share": 0.5,
        "goal_first": True,
        "patience_s": 3,
        "rubric": {"goal": ["It is.", {"id": "z", "text": "Kind.", "required": False}], "step": ["b"]},
        "budget": {"episode": {"calls": 4, "cost": 1}, "day": {"cost": 2.5}},
    },
}  # fmt: skip
"""A task with every key."""
SCHEMA = task_schema()


def objects(found: JsonType[Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], ObjectType[Any]]]:  # fmt: skip
    """Each object of the language and the keys that lead to it."""
    if isinstance(found, ObjectType):
        yield path, found
        for one in found.keys:
            yield from objects(one.type, (*path, one.name))
    else:
        for part in found.parts():
            yield from objects(part, path)


def values_at(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """The values under keys, of all items of a list and all names of an open object."""
    if isinstance(value, list):
        for item in value:
            yield from values_at(item, path)
    elif not path:
        yield value
    elif path[0] in value:
        yield from values_at(value[path[0]], path[1:])


def schemas_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object's properties in a schema."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema["properties"]
        for part in schema.values():
            yield from schemas_in(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from schemas_in(part)


OBJECTS = dict(objects(TASK))
READ_ONLY = {"tools", "$schema"}
"""Keys that are expanded before the task is read, or that are for editors."""


def test_the_language_has_its_objects() -> None:
    """So that the tests below are about all of them."""
    assert {(), ("milestones",), ("probes",), ("probes", "file"), ("escalation", "budget"),
            ("outcome",), ("limits",), ("tools", "pay", "which")} <= OBJECTS.keys()  # fmt: skip


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: ".".join(path) or "task")
def test_each_declared_key_is_in_schema_and_reference(path: tuple[str, ...]) -> None:
    found = OBJECTS[path]
    assert any(set(found.names) <= properties.keys() for properties in schemas_in(SCHEMA))
    page = task_page().split("\n## ")
    (table,) = [part for part in page if part.startswith(f"{'.'.join(path) or 'task'}\n")]
    assert all(f"\n| `{name}` |" in table for name in found.names)
    assert all(one.doc for one in found.keys), "each has its sentence"


@pytest.mark.parametrize(
    "path",
    [path for path in OBJECTS if path[:1] != ("tools",)],
    ids=lambda path: ".".join(path) or "task",
)
def test_each_declared_key_is_in_the_canonical_form(path: tuple[str, ...]) -> None:
    """Of a task that has them all, over all milestones and probes together."""
    written = task_to_json(task_from_json(RICH))
    if path == ("escalation", "budget"):
        places = list(written["escalation"]["budget"].values())
    else:
        places = list(values_at(written, path))
    names = set().union(*(place.keys() for place in places))
    assert names == set(OBJECTS[path].names) - READ_ONLY


@dataclass(frozen=True, slots=True)
class Lamp:
    """A made-up object."""

    name: str = required_key("What it is called.", text("a name"), "")
    colour: str = key("Its colour.", choice(("red", "blue")), "red")
    watts: float | None = key("What it takes.", number(above=0), None)
    is_lit: bool = key("Whether it is on.", FLAG, False, name="lit", omit_default=True)


LAMPS = ListOf(object_type(Lamp), "a list of lamps")


def test_a_made_up_key_is_read_written_described_and_listed() -> None:
    """Nothing but its declaration says that it exists."""
    lamp = object_type(Lamp)
    read = lamp.read(TaskReader(), {"name": "desk", "watts": 5, "lit": True}, ())
    assert read == Lamp("desk", "red", 5.0, True)
    assert lamp.write(read) == {"name": "desk", "colour": "red", "watts": 5.0, "lit": True}
    assert lamp.write(Lamp("desk")) == {"name": "desk", "colour": "red"}
    schema = lamp.definition()
    assert schema["required"] == ["name"]
    assert schema["properties"]["colour"] == {
        "enum": ["red", "blue"],
        "default": "red",
        "description": "Its colour.",
    }
    assert schema["properties"]["watts"]["exclusiveMinimum"] == 0
    table = object_tables(lamp, "lamp")
    assert "| `name` | a name | required | What it is called. |" in table
    assert '| `colour` | one of red, blue | `"red"` | Its colour. |' in table


def test_every_problem_is_noted_with_path_value_and_what_was_expected() -> None:
    """The rest of a list and of an object is read all the same."""
    reader = TaskReader()
    given = [{"name": "a", "color": "red", "watts": 0}, 7, {"lit": "on"}]
    lamps = LAMPS.read(reader, given, ("lamps",))
    assert [str(problem) for problem in reader.problems] == [
        "lamps[0].color: got 'red', wanted no such key (did you mean colour?); there are name,"
        " colour, watts, lit",
        "lamps[0].watts: got 0, wanted a number above 0",
        "lamps[1]: got 7, wanted an object with name, colour, watts, lit",
        "lamps[2].name: got None, wanted this key; it must be given",
        "lamps[2].lit: got 'on', wanted true or false",
    ]
    assert lamps == (Lamp("a"), Lamp(""))


OPTIONAL = sorted(RICH.keys() - {"id", "version", "instruction", "origin", "milestones", "probes"})
OF_MILESTONES = [(n, name) for n, m in enumerate(RICH["milestones"]) for name in m if name not in ("id", "when")]  # fmt: skip


@settings(max_examples=examples(150), deadline=None)
@given(st.sets(st.sampled_from(OPTIONAL)), st.sets(st.sampled_from(OF_MILESTONES)))
def test_what_is_read_is_written_and_read_as_the_same(
    dropped: set[str], dropped_of_milestones: set[tuple[int, str]]
) -> None:
    """Whatever keys are left out; the canonical form is read as the same task and written as the
    same bytes, and the schema accepts it."""
    milestones = [
        {name: value for name, value in m.items() if (n, name) not in dropped_of_milestones}
        for n, m in enumerate(RICH["milestones"])
    ]
    kept = {name: value for name, value in RICH.items() if name not in dropped}
    try:
        task = task_from_json({**kept, "milestones": milestones})
    except TaskError:
        return
    written = task_to_json(task)
    assert task_from_json(written) == task
    assert canonical(task_to_json(task_from_json(written))) == canonical(written)
    jsonschema.Draft202012Validator(SCHEMA).validate(written)


def test_a_probe_s_id_that_is_no_text_is_refused_beside_a_rule_that_names_a_probe() -> None:
    """It was an error of the reader's own."""
    probes = [{"id": [], "get": "/api"}, *RICH["probes"]]
    with pytest.raises(TaskError, match=r"probes\[0\]\.id: got \[\]"):
        task_from_json({**RICH, "probes": probes[:1]})

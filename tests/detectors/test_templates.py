"""Templates: what a slot becomes, what is refused, and that each filling is a task of its own."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.task.ruleset import compile_task
from detectors.task.task_json import TaskError, task_from_json
from detectors.task.templates import fill_template

TEMPLATE: dict[str, Any] = {
    "id": "shop/order",
    "version": "1",
    "instruction": "Order {amount} of {item}.",
    "origin": "http://shop.test",
    "parameters": {
        "item": {"example": "desk lamp", "description": "The product's name."},
        "amount": {"example": 2},
    },
    "milestones": [
        {"id": "found", "when": {"url_reached": {"url": "/search?q={item}"}}},
        {
            "id": "filled",
            "when": {"field_filled": {"field": "Amount", "value": {"integer": "{amount}"}}},
        },
        {"id": "done", "when": {"goal": {"requires": ["found", "filled"]}}},
    ],
}
VALUES: dict[str, Any] = {"item": "tea & cake", "amount": 3}


def with_changes(**changes: Any) -> dict[str, Any]:
    return {**TEMPLATE, **changes}


def fill(spec: Any, **more: Any) -> Any:
    return fill_template(spec, **more)


def test_a_filled_template_is_a_task() -> None:
    filled = fill(with_changes(values=VALUES))
    assert filled["instruction"] == "Order 3 of tea & cake."
    found, amount, _ = (one["when"] for one in filled["milestones"])
    assert found["url_reached"]["url"] == "/search?q=tea%20%26%20cake"
    assert amount["field_filled"]["value"] == {"integer": 3}
    assert filled.keys() == TEMPLATE.keys() - {"parameters"}
    assert compile_task(task_from_json(filled)).task.version == filled["version"]


def test_each_filling_is_a_version_of_its_own() -> None:
    versions = [
        fill(with_changes(values={**VALUES, "amount": amount}))["version"] for amount in (3, 4, 3)
    ]
    assert versions[0] == versions[2] != versions[1]
    assert versions[0].startswith("1+")
    in_other_order = fill(with_changes(values=dict(reversed(VALUES.items()))))
    assert in_other_order["version"] == versions[0]


def test_without_values_the_examples_are_taken() -> None:
    filled = fill(TEMPLATE)
    assert (filled["version"], filled["instruction"]) == ("1+example", "Order 2 of desk lamp.")


def test_a_task_that_is_no_template_stays_as_it_is() -> None:
    plain = {"id": "a", "instruction": "Type {item}.", "milestones": []}
    assert fill(plain) is plain
    assert fill(plain, values_needed=True) is plain
    assert fill("no object") == "no object"


TEXTS: list[tuple[dict[str, Any], str, Any]] = [
    ({"a": "x"}, "{a}", "x"),
    ({"a": 4.5}, "{a}", 4.5),
    ({"a": True}, "{a}", True),
    ({"a": 4.5}, "{a} kg", "4.5 kg"),
    ({"a": True}, "is {a}", "is true"),
    ({"a": "x", "b": "{a}"}, "{b} {a}", "{a} x"),
    ({"a": "x"}, "{a} {other} {{a}}", "x {other} {x}"),
    ({"a": "x y"}, "http://shop.test/{a}", "http://shop.test/x%20y"),
    ({"a": "x/y"}, "/p/{a}", "/p/x%2Fy"),
]


@pytest.mark.parametrize(("values", "text", "expected"), TEXTS)
def test_what_a_slot_becomes(values: dict[str, Any], text: str, expected: Any) -> None:
    """A value is data: a slot in it is none, and it breaks out of no address."""
    parameters = {name: {"example": value} for name, value in values.items()}
    filled = fill({"parameters": parameters, "values": values, "all": "{a} {b}", "text": text})
    assert filled["text"] == expected


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("no values", {"values": None}, "values: got None, wanted an object with a value for each of"),
    ("one is missing", {"values": {"item": "x"}}, "values.amount: got None, wanted a number"),
    ("one too many", {"values": {**VALUES, "color": "red"}}, "values.color: got 'red', wanted"),
    ("another type", {"values": {**VALUES, "amount": "3"}}, "values.amount: got '3', wanted a num"),
    ("a truth for a number", {"values": {**VALUES, "amount": True}}, "values.amount: got True"),
    ("an empty text", {"values": {**VALUES, "item": ""}}, "values.item: got '', wanted a text"),
    ("a list", {"values": {**VALUES, "item": ["x"]}}, "values.item: got "),
    ("a pattern in an address", {"values": {**VALUES, "item": "*"}}, "values.item: got '*', wan"),
    ("no parameters", {"parameters": {}}, "parameters: got "),
    ("values alone", {"parameters": None, "values": VALUES}, "parameters: got None, wanted"),
    ("no example", {"parameters": {"item": {}}}, "parameters.item: got "),
    (
        "a key that is none",
        {"parameters": {"item": {"example": "x", "default": "y"}}},
        "parameters.item.default: got 'y'",
    ),
    ("a name that is none", {"parameters": {"Item": {"example": "x"}}}, "parameters.Item: got"),
    (
        "a parameter that stands nowhere",
        {"parameters": {**TEMPLATE["parameters"], "color": {"example": "red"}}},
        "parameters.color: got None, wanted a slot {color} somewhere in the task",
    ),
    (
        "a slot in an expression",
        {"milestones": [{"id": "a", "when": {"cel": "data.name == '{item}'"}}]},
        "milestones[0].when.cel: got",
    ),
    (
        "a slot in a pattern",
        {"milestones": [{"id": "a", "when": {"said": {"regex": "{item}.*"}}}]},
        "milestones[0].when.said.regex: got",
    ),
    (
        "a slot in a key",
        {"weights": {"{item}": 1}},
        "wanted a key without a slot",
    ),
]


@pytest.mark.parametrize(
    ("changes", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_what_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError) as refused:
        fill(with_changes(**changes))
    assert any(message in str(problem) for problem in refused.value.problems), refused.value


def test_examples_are_not_enough_where_values_are_needed() -> None:
    with pytest.raises(TaskError, match="values: got None, wanted an object with a value for each"):
        fill(TEMPLATE, values_needed=True)

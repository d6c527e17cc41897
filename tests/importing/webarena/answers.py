"""Answers to tasks that retrieve something, written in other ways, and wrong ones."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

from tests.importing.webarena.hars import PLACES, Case, answered, entry, timed

Json = dict[str, Any]
Way = Callable[[Any], Any]


def minutes(value: Any) -> int:
    """A duration such as 2h 30min or 45min, in minutes."""
    text, total = str(value).lower().replace(" ", ""), 0
    for unit, many in (("h", 60), ("m", 1)):
        digits, found, rest = text.partition(unit)
        if found and digits.isdecimal():
            total, text = total + int(digits) * many, rest.lstrip("abcdefghijklmnopqrstuvwxyz")
    return total


def _day(value: Any, form: str) -> str:
    return date.fromisoformat(str(value)).strftime(form)


def _kilometres(value: Any) -> float:
    text = str(value).replace(" ", "")
    return (
        float(text.removesuffix("km"))
        if text.endswith("km")
        else float(text.removesuffix("m")) / 1000
    )


TEXT: dict[str, Way] = {
    "upper case": lambda value: str(value).upper(),
    "blanks around": lambda value: f"  {value} ",
    "quoted": lambda value: f'"{value}"',
    "a point after it": lambda value: f"{value}.",
}
NUMBER: dict[str, Way] = {"as a text": str, "with decimals": lambda value: f"{float(value):.1f}"}
MONEY: dict[str, Way] = {
    "with a sign": lambda value: f"${float(value):.2f}",
    "plain": lambda value: f"{float(value):.2f}",
    "with thousands": lambda value: f"${float(value):,.2f}",
    "as in Europe": lambda value: "€" + f"{float(value):,.2f}".translate(str.maketrans(",.", ".,")),
}
WAYS: dict[str, dict[str, Way]] = {
    "string": TEXT,
    "location-name": TEXT,
    "number": NUMBER,
    "integer": NUMBER,
    "currency": MONEY,
    "boolean": {
        "yes or no": lambda value: "Yes" if value else "no",
        "a digit": lambda value: "1" if value else "0",
        "a text": lambda value: str(value).upper(),
    },
    "duration": {
        "in words": lambda value: f"{minutes(value) // 60} hours {minutes(value) % 60} minutes",
        "short": lambda value: f"{minutes(value) // 60}h{minutes(value) % 60}m",
        "a minute more": lambda value: f"{minutes(value) + 1} min",
        "too long": lambda value: f"{int(minutes(value) * 1.2) + 5} min",
    },
    "distance": {
        "in metres": lambda value: f"{_kilometres(value) * 1000:.1f}m",
        "in miles": lambda value: f"{_kilometres(value) * 0.621371:.6f} miles",
        "five metres more": lambda value: f"{_kilometres(value) * 1000 + 5:.1f} m",
        "too far": lambda value: f"{_kilometres(value) * 1.05 + 0.05:.3f} km",
    },
    "date": {
        "American": lambda value: _day(value, "%m/%d/%Y"),
        "European": lambda value: _day(value, "%d/%m/%Y"),
        "in words": lambda value: _day(value, "%B %d, %Y"),
        "short": lambda value: _day(value, "%b %d %Y"),
    },
    "month": {
        "short": lambda value: str(value)[:3],
        "lower case": lambda value: str(value).lower(),
    },
    "coordinates": {"a text": lambda value: value},
    "url": {},
}
"""By kind of value, how it may be written otherwise; whether that is right, their own evaluator says."""


def rewritten(value: Any, schema: Any, way: str) -> Any:
    """The value with each leaf that has such a way written in it."""
    if isinstance(value, list):
        return [rewritten(one, (schema or {}).get("items"), way) for one in value]
    if isinstance(value, dict):
        properties = (schema or {}).get("properties") or {}
        return {name: rewritten(one, properties.get(name), way) for name, one in value.items()}
    kind = (schema or {}).get("format") or (schema or {}).get("type") or "string"
    change = WAYS.get(kind, {}).get(way)
    if change is None or value is None:
        return value
    try:
        return change(value)
    except ValueError:
        return value


def _ways(schema: Any) -> set[str]:
    inner = [schema.get("items"), *(schema.get("properties") or {}).values()] if schema else []
    own = WAYS.get((schema or {}).get("format") or (schema or {}).get("type") or "string", {})
    return set(own).union(*(_ways(one) for one in inner if one))


def variations(task: Json) -> Iterator[Case]:
    """Each task that retrieves something, and does nothing on the network."""
    said, *network = task["eval"]
    if said["expected"]["task_type"] != "retrieve" or network:
        return
    home = timed([entry("GET", PLACES.rendered(f"__{task['sites'][0].upper()}__/"), 200)])
    right, schema = answered(said), said.get("results_schema")

    def made(name: str, **changed: Any) -> Case:
        return Case(task["task_id"], name, {**right, **changed}, home)

    found = right["retrieved_data"]
    yield made("right")
    for way in sorted(_ways(schema)):
        yield made(way, retrieved_data=rewritten(found, schema, way))
    for n, options in enumerate(said["expected"].get("retrieved_data") or []):
        for option in options if isinstance(options, list) else []:
            if not (isinstance(option, str) and option.startswith("^")):
                yield made(
                    "an alternative",
                    retrieved_data=[*found[:n], PLACES.rendered(option), *found[n + 1 :]],
                )
    yield made("another status", status="UNKNOWN_ERROR")
    yield made("another kind of task", task_type="navigate")
    for name, wrong in (
        ("null", None), ("nothing", []), ("a text", "not an array"), ("a number", 42), ("an object", {"in": "valid"}),
    ):  # fmt: skip
        yield made(name, retrieved_data=wrong)
    if found:
        yield made("reversed", retrieved_data=found[::-1])
        yield made("more", retrieved_data=[*found, "extra_item", "another_extra"])
        yield made("less", retrieved_data=found[:-1])
        yield made("doubled", retrieved_data=[*found, found[0]])
        wrong = copy.deepcopy(found)
        wrong[0] = (
            {**wrong[0], "more": 1} if isinstance(wrong[0], dict) else f"{wrong[0]} and more of it"
        )
        yield made("something beside it", retrieved_data=wrong)
    lacking = {key: value for key, value in right.items() if key != "retrieved_data"}
    yield Case(task["task_id"], "lacking", lacking, home)
    fenced = f"Here it is:\n```json\n{json.dumps(right)}\n```"
    yield Case(task["task_id"], "in a fence", fenced, home)

"""WebArena-Verified's expected values and schemas as values of a kind
(detectors/matchers/lenient.py)."""

from __future__ import annotations

from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    read_list,
    read_object,
    require_list,
    require_object,
)
from lab.benchmarks.patterns import is_pattern, rewrite_pattern
from lab.benchmarks.verified_sites import Sites


def leaf(value: JsonValue, kind: str, sites: Sites) -> JsonObject | None:
    """Convert one value, or a list of alternatives, of a kind; null stays null."""
    if value is None:
        return None
    values = value if isinstance(value, list) else [value]
    alternatives = [sites.rendered(part) for part in values]
    patterns = [rewrite_pattern(part) for part in alternatives if is_pattern(part)]
    converted: dict[str, JsonValue] = {
        kind: [part for part in alternatives if not is_pattern(part)]
    }
    if patterns:
        converted["pattern"] = patterns
    return converted


def kind_of(schema: JsonObject) -> str:
    """The kind that a schema names: its format before its type, a text if it says nothing."""
    return str(schema.get("format") or schema.get("type") or "string")


def value(expected: JsonValue, schema: JsonObject, sites: Sites) -> JsonObject | None:
    """Convert an expected value as its schema asks; null stays null."""
    if expected is None:
        return None
    type_name = schema.get("type")
    if type_name == "array":
        items = read_object(schema, "items")
        parts = require_list(expected, "an array's value")
        return {"items": [value(part, items, sites) for part in parts]}
    if not isinstance(expected, dict):
        return leaf(expected, kind_of(schema), sites)
    properties: JsonObject = {}
    if type_name == "object":
        properties = read_object(schema, "properties")
    elif kind_of(schema) == "coordinates":
        return {"coordinates": [expected]}
    members: dict[str, JsonValue] = {}
    for name, part in expected.items():
        members[name] = value(part, read_object(properties, name), sites)
    return {"object": members}


def answer(config: JsonObject, sites: Sites) -> JsonObject:
    """What the agent is to answer: kind of task and status, and of a task that retrieves what it is
    to retrieve."""
    expected = require_object(config["expected"], "expected")
    keys: dict[str, JsonValue] = {
        name: leaf(expected[name], "string", sites) for name in ("task_type", "status")
    }
    if expected["task_type"] == "retrieve":
        schema = read_object(read_object(config, "results_schema"), "items")
        data = read_list(expected, "retrieved_data")
        retrieved: dict[str, JsonValue] = {"items": [value(item, schema, sites) for item in data]}
        if config.get("ordered"):
            retrieved["ordered"] = True
        keys["retrieved_data"] = retrieved
    return {"object": keys, "more": True}

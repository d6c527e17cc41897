"""WebArena-Verified's expected values and schemas as values of a kind
(detectors/matchers/lenient.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.benchmarks.patterns import is_pattern, rewritten
from lab.benchmarks.verified_sites import Sites


def leaf(value: object, kind: str, sites: Sites) -> dict[str, Any] | None:
    """Convert one value, or a list of alternatives, of a kind; null stays null."""
    if value is None:
        return None
    alternatives = [
        sites.rendered(part) for part in (value if isinstance(value, list) else [value])
    ]
    converted: dict[str, Any] = {kind: [part for part in alternatives if not is_pattern(part)]}
    patterns = [rewritten(part) for part in alternatives if is_pattern(part)]
    if patterns:
        converted["pattern"] = patterns
    return converted


def kind_of(schema: Mapping[str, Any] | None) -> str:
    """The kind that a schema names: its format before its type, a text if it says nothing."""
    schema = schema or {}
    return str(schema.get("format") or schema.get("type") or "string")


def value(expected: Any, schema: Mapping[str, Any] | None, sites: Sites) -> dict[str, Any] | None:
    """Convert an expected value as its schema asks; null stays null."""
    schema = schema or {}
    if expected is None:
        return None
    if schema.get("type") == "array":
        items = schema.get("items") or {}
        return {"items": [value(item, items, sites) for item in expected]}
    if not isinstance(expected, dict):
        return leaf(expected, kind_of(schema), sites)
    is_object = schema.get("type") == "object"
    if not is_object and kind_of(schema) == "coordinates":
        return {"coordinates": [expected]}
    properties = (schema.get("properties") or {}) if is_object else {}
    parts = {name: value(part, properties.get(name), sites) for name, part in expected.items()}
    return {"object": parts}


def answer(config: Mapping[str, Any], sites: Sites) -> Any:
    """What the agent is to answer: kind of task and status, and of a task that retrieves what it is
    to retrieve."""
    expected = config["expected"]
    keys: dict[str, Any] = {
        name: leaf(expected[name], "string", sites) for name in ("task_type", "status")
    }
    if expected["task_type"] == "retrieve":
        schema = (config.get("results_schema") or {}).get("items")
        data = expected.get("retrieved_data") or []
        retrieved: dict[str, Any] = {"items": [value(item, schema, sites) for item in data]}
        if config.get("ordered"):
            retrieved["ordered"] = True
        keys["retrieved_data"] = retrieved
    return {"object": keys, "more": True}

"""WebArena-Verified's expected values and schemas as values of a kind
(detectors/matchers/lenient.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.benchmarks.patterns import is_pattern, rewritten
from lab.benchmarks.verified_sites import Sites


def leaf(value: Any, kind: str, sites: Sites) -> Any:
    """One value, or a list of alternatives, of a kind; null stays null."""
    if value is None:
        return None
    found = [sites.rendered(one) for one in (value if isinstance(value, list) else [value])]
    patterns = [rewritten(one) for one in found if is_pattern(one)]
    out: dict[str, Any] = {kind: [one for one in found if not is_pattern(one)]}
    return {**out, "pattern": patterns} if patterns else out


def kind_of(schema: Mapping[str, Any] | None) -> str:
    """The kind that a schema names: its format before its type, a text if it says nothing."""
    return str((schema or {}).get("format") or (schema or {}).get("type") or "string")


def value(expected: Any, schema: Mapping[str, Any] | None, sites: Sites) -> Any:
    """A value by its schema."""
    kind = (schema or {}).get("type")
    if expected is None:
        return None
    if kind == "array":
        items = (schema or {}).get("items") or {}
        return {"items": [value(one, items, sites) for one in expected]}
    if kind == "object" and isinstance(expected, dict):
        properties = (schema or {}).get("properties") or {}
        return {
            "object": {
                name: value(one, properties.get(name), sites) for name, one in expected.items()
            }
        }
    if isinstance(expected, dict):
        return (
            {"coordinates": [expected]}
            if kind_of(schema) == "coordinates"
            else {"object": {name: value(one, None, sites) for name, one in expected.items()}}
        )
    return leaf(expected, kind_of(schema), sites)


def answer(config: Mapping[str, Any], sites: Sites) -> Any:
    """What the agent is to answer: kind of task and status, and of a task that retrieves what it is
    to retrieve."""
    expected = config["expected"]
    keys: dict[str, Any] = {
        name: leaf(expected[name], "string", sites) for name in ("task_type", "status")
    }
    if expected["task_type"] == "retrieve":
        found = expected.get("retrieved_data")
        items = (config.get("results_schema") or {}).get("items")
        wanted = {"items": [value(one, items, sites) for one in found or []]}
        keys["retrieved_data"] = {**wanted, "ordered": True} if config.get("ordered") else wanted
    return {"object": keys, "more": True}

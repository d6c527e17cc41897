"""JSON Schema of what is compared leniently: structures, addresses and contents
(detectors/matchers/lenient.py)."""

from __future__ import annotations

from typing import Any

from detectors.matchers.lenient_kinds import KINDS
from detectors.matchers.structures import MAX_ITEMS

Schema = dict[str, Any]
_TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
_PATTERN: Schema = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "additionalProperties": False,
            "minProperties": 1,
            "properties": {"all": _TEXTS, "none": _TEXTS},
        },
    ]
}
_PART: Schema = {"$ref": "#/$defs/structure"}


def _closed(properties: Schema, *required: str) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": list(required),
    }


def structure() -> Schema:
    """Null, objects, lists, values of a kind."""
    parts: Schema = {"type": "object", "minProperties": 1, "additionalProperties": _PART}
    patterns: Schema = {"type": "array", "items": _PATTERN}
    kinds = [_closed({kind: {"type": "array"}, "pattern": patterns}, kind) for kind in KINDS]
    return {
        "anyOf": [
            {"type": "null"},
            _closed({"object": parts, "more": {"type": "boolean", "default": False}}, "object"),
            _closed(
                {
                    "items": {"type": "array", "maxItems": MAX_ITEMS, "items": _PART},
                    "ordered": {"type": "boolean", "default": False},
                },
                "items",
            ),
            *kinds,
        ]
    }


def addresses() -> Schema:
    """Alternatives of an address with their queries."""
    query: Schema = {"type": "object", "additionalProperties": _PART}
    one: Schema = {
        "anyOf": [
            _closed({"address": {"type": "string"}, "query": query}, "address"),
            _closed({"pattern": _PATTERN, "query": query}, "pattern"),
        ]
    }
    return _closed(
        {
            "any": {"type": "array", "minItems": 1, "items": one},
            "ignore": {"type": "array", "items": _PATTERN},
            "encoded": {"type": "boolean", "default": False},
            "scope": _TEXTS,
        },
        "any",
    )


def content() -> Schema:
    """The schema of a list of facts about a body."""
    text: Schema = {"type": "string"}
    facts = [
        _closed({name: schema, "is": _PART}, name, "is")
        for name, schema in (("name", text), ("json", text), ("pattern", _PATTERN))
    ]
    return {"type": "array", "minItems": 1, "items": {"anyOf": facts}}

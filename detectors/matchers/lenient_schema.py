"""JSON Schema of what is compared leniently: structures, addresses and contents
(detectors/matchers/lenient.py)."""

from __future__ import annotations

from detectors.matchers.lenient_kinds import KINDS
from detectors.matchers.structures import MAX_ITEMS
from detectors.model.json_types import Schema, object_schema

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
_FLAG: Schema = {"type": "boolean", "default": False}
_PART: Schema = {"$ref": "#/$defs/structure"}


def structure() -> Schema:
    """Null, objects, lists, values of a kind."""
    parts: Schema = {"type": "object", "minProperties": 1, "additionalProperties": _PART}
    patterns: Schema = {"type": "array", "items": _PATTERN}
    kinds = [
        object_schema({kind: {"type": "array"}, "pattern": patterns}, [kind]) for kind in KINDS
    ]
    return {
        "anyOf": [
            {"type": "null"},
            object_schema({"object": parts, "more": _FLAG}, ["object"]),
            object_schema(
                {
                    "items": {"type": "array", "maxItems": MAX_ITEMS, "items": _PART},
                    "ordered": _FLAG,
                },
                ["items"],
            ),
            *kinds,
        ]
    }


def addresses() -> Schema:
    """Alternatives of an address with their queries."""
    query: Schema = {"type": "object", "additionalProperties": _PART}
    one: Schema = {
        "anyOf": [
            object_schema({"address": {"type": "string"}, "query": query}, ["address"]),
            object_schema({"pattern": _PATTERN, "query": query}, ["pattern"]),
        ]
    }
    return object_schema(
        {
            "any": {"type": "array", "minItems": 1, "items": one},
            "ignore": {"type": "array", "items": _PATTERN},
            "encoded": _FLAG,
            "scope": _TEXTS,
        },
        ["any"],
    )


def content() -> Schema:
    """The schema of a list of facts about a body."""
    text: Schema = {"type": "string"}
    facts = [
        object_schema({name: schema, "is": _PART}, [name, "is"])
        for name, schema in (("name", text), ("json", text), ("pattern", _PATTERN))
    ]
    return {"type": "array", "minItems": 1, "items": {"anyOf": facts}}

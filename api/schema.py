"""The JSON Schema of task files, made of what the rules declare, so that editors complete and check them."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from detectors.arguments import FieldsMatch, declared
from detectors.matchers import BodyMatch, FactsMatch, IntRange, StatusMatch, TextMatch, UrlMatch, ValueMatch
from detectors.matchers.text import MODES
from detectors.probes import LONGEST, MOST, MOST_MS, WHEN
from detectors.registry import Composite, Rule, rules
from detectors.task_json import COMPONENTS, DEFAULT_WEIGHTS

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_IDS: Schema = {"type": "array", "items": {"$ref": "#/$defs/id"}}


def task_schema() -> Schema:
    """The schema of a task file (JSON Schema 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "milestoned task",
        "description": "What is asked of the agent, and what counts. See docs/tasks.md.",
        **_object(_task_properties(), ("id", "version", "instruction", "milestones")),
        "$defs": {
            "id": {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9_.\-/]*$"},
            "text": _text_schema(),
            "url": _url_schema(),
            "milestone": _object(_milestone_properties(), ("id", "when")),
            "condition": _condition_schema(nested=True),
            "top": _condition_schema(nested=False),
        },
    }


def _object(properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    out: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**out, "required": list(required)} if required else out


def _task_properties() -> Schema:
    weight = {"type": "number", "minimum": 0}
    credit = {"enum": ["progress", "level"]}
    millis = {"type": "integer", "minimum": 0, "maximum": 60000}
    return {
        "$schema": _TEXT,
        "id": {"$ref": "#/$defs/id"},
        "version": _TEXT,
        "instruction": {**_TEXT, "description": "What the agent is told."},
        "origin": {**_TEXT, "description": "What the task's paths resolve against, such as https://shop.example."},
        "weights": {
            **_object(dict.fromkeys(COMPONENTS, weight)),
            "description": f"The worth of each component; by default {dict(DEFAULT_WEIGHTS)}.",
        },
        "credit": {"anyOf": [credit, _object(dict.fromkeys(COMPONENTS, credit))]},
        "penalty_floor": {"type": "number", "maximum": 0, "default": -1.0},
        "settings": _object({"quiet_ms": {**millis, "default": 50}, "settle_ms": {**millis, "default": 1000}}),
        "milestones": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/milestone"}},
        "probes": {
            "type": "array",
            "maxItems": MOST,
            "items": _probe_schema(),
            "description": "Facts that no event shows, read by the daemon. See docs/probes.md.",
        },
    }


def _milestone_properties() -> Schema:
    return {
        "id": {"$ref": "#/$defs/id"},
        "when": {"$ref": "#/$defs/top"},
        "component": {"enum": list(COMPONENTS)},
        "weight": {"type": "number", "exclusiveMinimum": 0, "description": "Relative within the component."},
        "penalty": {"type": "number", "exclusiveMinimum": 0, "description": "Paid negative, each time up to repeat."},
        "after": {**_IDS, "description": "Pays only once these have been reached."},
        "before": {**_IDS, "description": "Pays only while none of these has been reached."},
        "repeat": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 1},
        "baseline": {
            "enum": ["never", "transition"],
            "default": "never",
            "description": "transition: what was true at the start may pay once it became untrue and true again.",
        },
        "must_hold_at_end": {"type": "boolean", "default": False},
        "revoke_on": {"$ref": "#/$defs/condition"},
    }


def _condition_schema(nested: bool) -> Schema:
    names = [name for name in rules() if not (nested and name == "goal")]
    body = {name: _rule_schema(rules()[name]) for name in names}
    return {**_object(body), "minProperties": 1, "maxProperties": 1}


def _rule_schema(found: Rule | Composite) -> Schema:
    properties = {a.name: {**_type_schema(a.type), "description": a.doc} for a in declared(found.args)}
    required = tuple(a.name for a in declared(found.args) if a.required)
    doc = " ".join(found.doc.split("\n\n")[0].split())
    if isinstance(found, Rule):
        return {**_object(properties, required), "description": doc}
    if found.name == "goal":
        return {**_object({**properties, "when": {"$ref": "#/$defs/condition"}}), "description": doc}
    parts = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/condition"}}
    return {"anyOf": [parts, _object({"of": parts, **properties}, ("of",))], "description": doc}


def _text_schema() -> Schema:
    common: Schema = {"ignore_case": {"type": "boolean", "default": False}}
    forms: list[Schema] = [{"type": ["string", "number"]}]
    for mode in MODES:
        if mode == "number":
            forms.append(_object({"number": {"type": "number"}, "tolerance": {"type": "number"}}, ("number",)))
        elif mode == "one_of":
            forms.append(_object({"one_of": {"type": "array", "minItems": 1, "items": _TEXT}, **common}, ("one_of",)))
        else:
            forms.append(_object({mode: _TEXT, **common}, (mode,)))
    return {"anyOf": forms}


def _url_schema() -> Schema:
    text = {"$ref": "#/$defs/text"}
    parts = {
        "origin": _TEXT,
        "path": _TEXT,
        "query": {"type": "object", "additionalProperties": text},
        "fragment": text,
    }
    return {"anyOf": [_TEXT, _object(parts, ("path",))]}


def _fields(value: Schema) -> Schema:
    return {"type": "object", "minProperties": 1, "additionalProperties": value}


def _status_schema() -> Schema:
    one: Schema = {
        "anyOf": [{"type": "integer", "minimum": 100, "maximum": 599}, {"type": "string", "pattern": "^[1-5]xx$"}]
    }
    return {"anyOf": [*one["anyOf"], {"type": "array", "minItems": 1, "items": one}]}


def _range_schema() -> Schema:
    whole = {"type": "integer"}
    return {"anyOf": [whole, {**_object({"min": whole, "max": whole}), "minProperties": 1}]}


def _value_schema() -> Schema:
    number = {"type": "number"}
    limits = {**_object({"min": number, "max": number}), "minProperties": 1}
    return {"anyOf": [{"type": ["boolean", "null"]}, limits, {"$ref": "#/$defs/text"}]}


def _probe_schema() -> Schema:
    as_: Schema = {"enum": ["text", "json"], "default": "text"}
    text = {**_TEXT, "minLength": 1, "maxLength": LONGEST}
    moments = {"type": "array", "minItems": 1, "items": {"enum": list(WHEN)}, "default": list(WHEN)}
    common = {
        "id": {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$"},
        "when": {**moments, "description": "At the start always; at the end of every step; at the close."},
        "budget_ms": {"type": "integer", "minimum": 1, "maximum": MOST_MS, "default": 500},
    }
    argv = {"type": "array", "minItems": 1, "items": _TEXT}
    kinds: dict[str, Schema] = {
        "script": _object({"url": {"$ref": "#/$defs/url"}, "expression": text}, ("url", "expression")),
        "get": {"anyOf": [_TEXT, _object({"url": text}, ("url",))]},
        "file": _object({"root": text, "path": text, "as": as_}, ("root", "path")),
        "command": _object({"argv": argv, "as": as_}, ("argv",)),
    }
    return {"anyOf": [_object({**common, kind: body}, ("id", kind)) for kind, body in kinds.items()]}


_TYPES: dict[Any, Callable[[], Schema]] = {
    TextMatch: lambda: {"$ref": "#/$defs/text"},
    UrlMatch: lambda: {"$ref": "#/$defs/url"},
    IntRange: _range_schema,
    StatusMatch: _status_schema,
    BodyMatch: lambda: _fields({"$ref": "#/$defs/text"}),
    FieldsMatch: lambda: _fields({"anyOf": [{"type": "boolean"}, {"$ref": "#/$defs/text"}]}),
    FactsMatch: lambda: _fields(_value_schema()),
    ValueMatch: _value_schema,
    bool: lambda: {"type": "boolean"},
    str: lambda: _TEXT,
}


def _type_schema(hint: Any) -> Schema:
    if hint in _TYPES:
        return _TYPES[hint]()
    if typing.get_origin(hint) is typing.Literal:
        return {"enum": list(typing.get_args(hint))}
    if typing.get_origin(hint) is tuple:
        return _IDS
    raise TypeError(f"a rule declares an argument of type {hint!r}, which has no JSON Schema here")

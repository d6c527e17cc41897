"""JSON Schema of the values in a task: texts and their typed forms, addresses, ranges, windows."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from api.tasks import lenient_schema
from detectors.matchers import (
    AddressesMatch,
    BodyMatch,
    ContentMatch,
    FactsMatch,
    IntRange,
    StateMatch,
    StatusMatch,
    StructureMatch,
    TextMatch,
    UrlMatch,
    ValueMatch,
    state,
)
from detectors.matchers.text import MODES
from detectors.matchers.typed import TYPES
from detectors.model.types import Window
from detectors.sdk.arguments import FieldsMatch, SchemaMatch
from detectors.sdk.rubric import MAX_CHARACTERS, MAX_CRITERIA, Rubric

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
IDS: Schema = {"type": "array", "items": {"$ref": "#/$defs/id"}}


def object_(properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    """An object of these properties and no others."""
    out: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**out, "required": list(required)} if required else out


def rubric_schema() -> Schema:
    """Criteria: texts, or {id, text, required}."""
    text: Schema = {**TEXT, "minLength": 1, "maxLength": MAX_CHARACTERS}
    line = object_(
        {"id": {"$ref": "#/$defs/id"}, "text": text, "required": {"type": "boolean"}}, ("text",)
    )
    return {
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_CRITERIA,
        "items": {"anyOf": [text, line]},
    }


def window_schema() -> Schema:
    """{steps?, seconds?}, at least one."""
    steps = {"type": "integer", "minimum": 0}
    return {
        **object_({"steps": steps, "seconds": {"type": "number", "minimum": 0}}),
        "minProperties": 1,
    }


def text_schema() -> Schema:
    common: Schema = {"ignore_case": {"type": "boolean", "default": False}}
    forms: list[Schema] = [{"type": ["string", "number"]}]
    for mode in MODES:
        if mode == "typed":
            continue
        if mode == "number":
            forms.append(
                object_(
                    {"number": {"type": "number"}, "tolerance": {"type": "number"}}, ("number",)
                )
            )
        elif mode == "one_of":
            forms.append(
                object_(
                    {"one_of": {"type": "array", "minItems": 1, "items": TEXT}, **common},
                    ("one_of",),
                )
            )
        else:
            forms.append(object_({mode: TEXT, **common}, (mode,)))
    forms.extend(_typed_schema(name, options) for name, (_, options) in TYPES.items())
    return {"anyOf": forms}


def _typed_schema(name: str, options: frozenset[str]) -> Schema:
    """One typed form (detectors/matchers/typed.py) with the options that may stand beside it."""
    beside = {option: {**_OPTIONS[option]} for option in sorted(options)}
    must = tuple(option for option in ("threshold", "value") if option in options)
    return object_({name: _FORMS.get(name, TEXT), **beside}, (name, *must))


def url_schema() -> Schema:
    text = {"$ref": "#/$defs/text"}
    parts = {
        "origin": TEXT,
        "path": TEXT,
        "query": {"type": "object", "additionalProperties": text},
        "fragment": text,
        "hosts": {"type": "array", "items": TEXT},
        "ignore": {"type": "array", "items": TEXT},
    }
    return {"anyOf": [TEXT, object_(parts, ("path",))]}


def _fields(value: Schema) -> Schema:
    return {"type": "object", "minProperties": 1, "additionalProperties": value}


def _status_schema() -> Schema:
    one: Schema = {
        "anyOf": [
            {"type": "integer", "minimum": 100, "maximum": 599},
            {"type": "string", "pattern": "^[1-5]xx$"},
        ]
    }
    return {"anyOf": [*one["anyOf"], {"type": "array", "minItems": 1, "items": one}]}


def _range_schema() -> Schema:
    whole = {"type": "integer"}
    return {"anyOf": [whole, {**object_({"min": whole, "max": whole}), "minProperties": 1}]}


def _value_schema() -> Schema:
    number = {"type": "number"}
    limits = {**object_({"min": number, "max": number}), "minProperties": 1}
    return {"anyOf": [{"type": ["boolean", "null"]}, limits, {"$ref": "#/$defs/text"}]}


def _state_schema() -> Schema:
    values: Schema = {"type": "array", "items": {}}
    fact = object_(
        {
            "path": TEXT,
            "value": {},
            "all": values,
            "none": values,
            "without": {**values, "items": TEXT},
        },
        ("path",),
    )
    return {"type": "array", "minItems": 1, "maxItems": state.MAX_FACTS, "items": fact}


def facts_schema() -> Schema:
    """Dotted paths and what must stand there."""
    return _fields(_value_schema())


_NUMBER: Schema = {"type": "number"}
_ITEMS: Schema = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/text"}}
_FORMS: dict[str, Schema] = {
    "integer": {"type": "integer"},
    "percentage": _NUMBER,
    "money": _NUMBER,
    "duration": {"type": ["string", "number"]},
    "distance": {"type": ["string", "number"]},
    "coordinates": {"type": "array", "minItems": 2, "maxItems": 2, "items": _NUMBER},
    "boolean": {"type": "boolean"},
    "url": {"$ref": "#/$defs/url"},
    "any_of": _ITEMS,
    "all_of": _ITEMS,
    "list": _ITEMS,
    "table": {"type": "array", "minItems": 1, "items": _ITEMS},
}
_OPTIONS: dict[str, Schema] = {
    "tolerance": {"type": "number", "minimum": 0},
    "currency": {**TEXT, "description": "The currency's code, such as USD."},
    "locale": {**TEXT, "default": "en"},
    "day_first": {"type": "boolean", "default": False},
    "ignore_case": {"type": "boolean", "default": False},
    "threshold": {"type": "number", "minimum": 0.5, "maximum": 1},
    "separator": {**TEXT, "minLength": 1, "maxLength": 1, "default": ","},
    "ordered": {"type": "boolean"},
    "header": {"type": "boolean", "default": False},
    "every": {"type": "boolean", "default": False},
    "value": _value_schema(),
}

_TYPES: dict[Any, Callable[[], Schema]] = {
    TextMatch: lambda: {"$ref": "#/$defs/text"},
    UrlMatch: lambda: {"$ref": "#/$defs/url"},
    IntRange: _range_schema,
    AddressesMatch: lenient_schema.addresses,
    ContentMatch: lenient_schema.content,
    StructureMatch: lambda: {"$ref": "#/$defs/structure"},
    StateMatch: _state_schema,
    StatusMatch: _status_schema,
    BodyMatch: lambda: _fields({"$ref": "#/$defs/text"}),
    FieldsMatch: lambda: _fields({"anyOf": [{"type": "boolean"}, {"$ref": "#/$defs/text"}]}),
    FactsMatch: facts_schema,
    ValueMatch: _value_schema,
    SchemaMatch: lambda: {"type": ["object", "boolean"]},
    Rubric: rubric_schema,
    Window: window_schema,
    tuple[UrlMatch, ...]: lambda: {
        "type": "array",
        "minItems": 1,
        "items": {"$ref": "#/$defs/url"},
    },
    int: lambda: {"type": "integer"},
    bool: lambda: {"type": "boolean"},
    str: lambda: TEXT,
}


def type_schema(hint: Any) -> Schema:
    """The schema of a rule's argument of that type."""
    if hint in _TYPES:
        return _TYPES[hint]()
    if typing.get_origin(hint) is typing.Literal:
        return {"enum": list(typing.get_args(hint))}
    if typing.get_origin(hint) is tuple:
        return IDS
    raise TypeError(f"a rule declares an argument of type {hint!r}, which has no JSON Schema here")

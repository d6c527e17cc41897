"""JSON Schema of what matchers are made of: texts and their typed forms, addresses, ranges."""

from __future__ import annotations

from detectors.matchers import state
from detectors.matchers.text import MODES
from detectors.matchers.typed import TYPES
from detectors.model.json_types import Schema, object_schema

TEXT: Schema = {"type": "string"}
_TEXT_FORM: Schema = {"$ref": "#/$defs/text"}


def text_schema() -> Schema:
    """A text, its relaxations and the typed forms."""
    common: Schema = {"ignore_case": {"type": "boolean", "default": False}}
    forms: list[Schema] = [{"type": ["string", "number"]}]
    for mode in MODES:
        if mode == "typed":
            continue
        if mode == "number":
            forms.append(
                object_schema(
                    {"number": {"type": "number"}, "tolerance": {"type": "number"}}, ("number",)
                )
            )
        elif mode == "one_of":
            forms.append(
                object_schema(
                    {"one_of": {"type": "array", "minItems": 1, "items": TEXT}, **common},
                    ("one_of",),
                )
            )
        else:
            forms.append(object_schema({mode: TEXT, **common}, (mode,)))
    forms.extend(_typed_schema(name, options) for name, (_, options) in TYPES.items())
    return {"anyOf": forms}


def _typed_schema(name: str, options: frozenset[str]) -> Schema:
    """One typed form (detectors/matchers/typed.py) with the options that may stand beside it."""
    beside = {option: {**_OPTIONS[option]} for option in sorted(options)}
    must = tuple(option for option in ("threshold", "value") if option in options)
    return object_schema({name: _FORMS.get(name, TEXT), **beside}, (name, *must))


def url_schema() -> Schema:
    """An address, as a text or in its parts."""
    parts = {
        "origin": TEXT,
        "path": TEXT,
        "query": {"type": "object", "additionalProperties": _TEXT_FORM},
        "fragment": _TEXT_FORM,
        "hosts": {"type": "array", "items": TEXT},
        "ignore": {"type": "array", "items": TEXT},
    }
    return {"anyOf": [TEXT, object_schema(parts, ("path",))]}


def fields_schema(value: Schema) -> Schema:
    return {"type": "object", "minProperties": 1, "additionalProperties": value}


def body_schema() -> Schema:
    """Names of fields of a body and their texts."""
    return fields_schema(_TEXT_FORM)


def form_schema() -> Schema:
    """Names of fields and their texts, or true and false for boxes."""
    return fields_schema({"anyOf": [{"type": "boolean"}, _TEXT_FORM]})


def status_schema() -> Schema:
    one: Schema = {
        "anyOf": [
            {"type": "integer", "minimum": 100, "maximum": 599},
            {"type": "string", "pattern": "^[1-5]xx$"},
        ]
    }
    return {"anyOf": [*one["anyOf"], {"type": "array", "minItems": 1, "items": one}]}


def range_schema() -> Schema:
    whole = {"type": "integer"}
    return {"anyOf": [whole, {**object_schema({"min": whole, "max": whole}), "minProperties": 1}]}


def value_schema() -> Schema:
    number = {"type": "number"}
    limits = {**object_schema({"min": number, "max": number}), "minProperties": 1}
    return {"anyOf": [{"type": ["boolean", "null"]}, limits, _TEXT_FORM]}


def state_schema() -> Schema:
    values: Schema = {"type": "array", "items": {}}
    fact = object_schema(
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
    return fields_schema(value_schema())


_NUMBER: Schema = {"type": "number"}
_ITEMS: Schema = {"type": "array", "minItems": 1, "items": _TEXT_FORM}
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
    "value": value_schema(),
}

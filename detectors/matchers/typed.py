"""Texts that mean something: a date, an amount of money, a distance, a list. The table of the typed
forms.

A typed form is ``{name: value, options…}`` wherever a task has a text. Each reads the *whole* text,
after the normalisation of `text`, and compares what it means: "$1,234.50" and "1234.5 USD" are one
amount, "$1,234.50 or so" is none. What comes from agent or page is only read, never compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from detectors.matchers import loose, moments, places, quantities, structures
from detectors.matchers.answer import ValueMatch
from detectors.matchers.text import ITEMS, TEXT
from detectors.matchers.typed_base import (
    CURRENCY,
    DEGREES,
    FLAG_OFF,
    IN_ANY_ORDER,
    IN_ORDER,
    LOCALE,
    SEPARATOR,
    THRESHOLD,
    TOLERANCE,
    Form,
    Option,
    Path,
    read_options,
)
from detectors.model.errors import SpecError
from detectors.model.json_types import Parsed, Schema, object_schema
from detectors.model.types import Json

Parse = Callable[[Json, Mapping[str, Json], Path], Form]
"""(value, options, path) → the form. Raises `SpecError`."""


class TypedForm(NamedTuple):
    """How a form is read, the JSON Schema of its value, and the options beside it."""

    parse: Parse
    value: Schema
    options: Mapping[str, Option] = {}

    def schema(self, name: str) -> Schema:
        """The JSON Schema of the form, which is called ``name``."""
        options = {key: self.options[key].schema() for key in sorted(self.options)}
        required = [key for key, option in self.options.items() if option.required]
        return object_schema({name: self.value, **options}, (name, *required))


_NUMBER: Schema = {"type": "number"}
_TEXT_OR_NUMBER: Schema = {"type": ["string", "number"]}
_PAIR: Schema = {"type": "array", "minItems": 2, "maxItems": 2, "items": _NUMBER}
_VALUE = Option(
    Parsed(
        ValueMatch.WANTED,
        lambda _reader, value, path: ValueMatch.parse(value, path),
        ValueMatch.schema,
    ),
    required=True,
)
_NEAR = {"tolerance": TOLERANCE}
_MONEY = {"currency": CURRENCY, "locale": LOCALE, "tolerance": TOLERANCE}
_LIST = {"separator": SEPARATOR, "ordered": IN_ANY_ORDER}
_TABLE = {"separator": SEPARATOR, "ordered": IN_ORDER, "header": FLAG_OFF}

TYPES: Mapping[str, TypedForm] = {
    "integer": TypedForm(quantities.integer, {"type": "integer"}, _NEAR),
    "percentage": TypedForm(quantities.percentage, _NUMBER, _NEAR),
    "money": TypedForm(quantities.money, _NUMBER, _MONEY),
    "duration": TypedForm(quantities.duration, _TEXT_OR_NUMBER, _NEAR),
    "distance": TypedForm(quantities.distance, _TEXT_OR_NUMBER, _NEAR),
    "date": TypedForm(moments.date, TEXT, {"day_first": FLAG_OFF}),
    "time": TypedForm(moments.time, TEXT, _NEAR),
    "coordinates": TypedForm(places.coordinates, _PAIR, {"tolerance": DEGREES}),
    "address": TypedForm(places.address, TEXT),
    "boolean": TypedForm(loose.boolean, {"type": "boolean"}),
    "url": TypedForm(loose.url, {"$ref": "#/$defs/url"}),
    "path": TypedForm(loose.path_glob, TEXT),
    "regex": TypedForm(loose.regex, TEXT, {"ignore_case": FLAG_OFF}),
    "fuzzy": TypedForm(loose.fuzzy, TEXT, {"threshold": THRESHOLD}),
    "any_of": TypedForm(loose.any_of, ITEMS),
    "all_of": TypedForm(loose.all_of, ITEMS),
    "list": TypedForm(structures.listing, ITEMS, _LIST),
    "table": TypedForm(structures.table, {"type": "array", "minItems": 1, "items": ITEMS}, _TABLE),
    "json": TypedForm(structures.json_path, TEXT, {"value": _VALUE, "every": FLAG_OFF}),
}
"""The table of the typed forms."""

LINEAR = frozenset(("regex", "json", "any_of", "all_of"))
"""Forms that look into a text of any length in linear time, or leave that to their parts."""


def parse_typed(name: str, spec: Mapping[str, Json], path: Path) -> Form:
    """The form ``name`` of a task's JSON. Raises `SpecError`."""
    form = TYPES[name]
    for key in spec:
        if key != name and key not in form.options:
            allowed = ", ".join(sorted(form.options)) or "none"
            raise SpecError((*path, key), spec[key], f"no such option; {name} has {allowed}")
    options = read_options(form.options, spec, path)
    return form.parse(spec[name], options, (*path, name))

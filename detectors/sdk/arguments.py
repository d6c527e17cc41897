"""How a rule's typed arguments are read: a frozen dataclass of matchers is the declaration.

A field's type says how its JSON is parsed, its default whether it may be left out, its metadata
``doc`` what it means. The JSON Schema for editors is made of the same declaration
(api/tasks/schema.py).
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any

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
    text_key,
    third_party,
)
from detectors.matchers.faults import answers
from detectors.model.codec import canonical
from detectors.model.errors import SpecError
from detectors.model.types import Window
from detectors.sdk.rubric import Rubric
from detectors.sdk.window import window_from_json

MATCHERS: tuple[Any, ...] = (
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
)
"""What an argument may be, beside names, numbers and choices."""
Path = tuple[str | int, ...]
MAX_SCHEMA = 16_384


@dataclass(frozen=True, slots=True)
class FieldsMatch:
    """Expected fields of a form: names to texts, numbers, matchers, or true/false for boxes;
    ``keys``: the names as an index has them."""

    fields: tuple[tuple[str, TextMatch | bool], ...]
    keys: tuple[str, ...]

    WANTED: typing.ClassVar[str] = (
        "an object of field names and their texts, or true/false for a box"
    )

    @classmethod
    def parse(cls, spec: object, path: Path, origin: str | None = None) -> FieldsMatch:
        """Make it of its JSON form. Raises `SpecError`."""
        if not isinstance(spec, dict) or not spec:
            raise SpecError(path, spec, cls.WANTED)
        fields = tuple(
            (name, value if isinstance(value, bool) else TextMatch.parse(value, (*path, name)))
            for name, value in sorted(spec.items())
        )
        return cls(fields, tuple(text_key(name) for name, _ in fields))


@dataclass(frozen=True, slots=True)
class SchemaMatch:
    """A JSON Schema that a value must conform to; compiled when the task is, its cost counted
    before it is evaluated (detectors/matchers/schema_cost.py)."""

    schema: bytes

    WANTED: typing.ClassVar[str] = (
        "a JSON Schema (draft 2020-12) of at most 16 kB, without references to elsewhere"
    )

    @classmethod
    def parse(cls, spec: object, path: Path, origin: str | None = None) -> SchemaMatch:
        """Make it of its JSON form. Raises `SpecError`."""
        text = canonical(spec)
        if not isinstance(spec, dict | bool) or len(text) > MAX_SCHEMA:
            raise SpecError(path, spec, cls.WANTED)
        try:
            third_party.check_schema(text)
        except ValueError as error:
            raise SpecError(path, spec, str(error)) from None
        return cls(text)

    @answers(False)
    def matches(self, value: object) -> bool:
        """Whether ``value`` conforms to the schema. Raises `BudgetError`."""
        return third_party.conforms(self.schema, value)


class Argument(typing.NamedTuple):
    """One declared argument: its name, type, whether it must be given, and its sentence for the
    docs."""

    name: str
    type: Any
    required: bool
    doc: str


def arg(doc: str, default: object = MISSING) -> Any:
    """Declare one argument of a rule; without a default it must be given."""
    if default is MISSING:
        return field(metadata={"doc": doc})
    return field(default=default, metadata={"doc": doc})


@cache
def declared(cls: type) -> tuple[Argument, ...]:
    """The arguments that a rule's dataclass declares, in order."""
    hints = typing.get_type_hints(cls)
    return tuple(
        Argument(f.name, _inner(hints[f.name]), f.default is MISSING, f.metadata.get("doc", ""))
        for f in fields(cls)
    )


def parse_args(cls: type, spec: object, path: Path, origin: str | None) -> Any:
    """Read a rule's arguments from JSON into its dataclass. Raises `SpecError` naming the first
    wrong one."""
    arguments = {a.name: a for a in declared(cls)}
    if not isinstance(spec, Mapping):
        raise SpecError(path, spec, f"an object with {', '.join(arguments) or 'nothing in it'}")
    for name in spec:
        if name not in arguments:
            raise SpecError(
                (*path, str(name)),
                spec[name],
                f"no such argument; there are {', '.join(arguments)}",
            )
    missing = [a.name for a in arguments.values() if a.required and a.name not in spec]
    if missing:
        raise SpecError((*path, missing[0]), None, "this argument; it must be given")
    values = {
        name: _value(arguments[name].type, value, (*path, name), origin)
        for name, value in spec.items()
    }
    try:
        return cls(**values)
    except ValueError as error:  # a dataclass's own check of its arguments together
        raise SpecError(path, spec, str(error)) from None


def _inner(hint: object) -> Any:
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return next(part for part in typing.get_args(hint) if part is not type(None))
    return hint


def _value(hint: Any, value: Any, path: Path, origin: str | None) -> Any:
    """Read one argument by its declared type."""
    if hint in MATCHERS or hint in (FieldsMatch, SchemaMatch, Rubric):
        return hint.parse(value, path, origin)
    if hint is Window:
        return window_from_json(value, path)
    if hint in _PLAIN:
        return _plain_value(hint, value, path)
    if hint == tuple[UrlMatch, ...]:
        return _addresses(value, path, origin)
    if typing.get_origin(hint) is typing.Literal:
        return _choice(typing.get_args(hint), value, path)
    if typing.get_origin(hint) is tuple and not _are_names(value):
        raise SpecError(path, value, "a list of names")
    return tuple(value) if isinstance(value, list) else value


def _addresses(value: object, path: Path, origin: str | None) -> tuple[UrlMatch, ...]:
    if not isinstance(value, list) or not value:
        raise SpecError(path, value, "a list of addresses")
    return tuple(UrlMatch.parse(item, (*path, n), origin) for n, item in enumerate(value))


def _choice(choices: tuple[object, ...], value: object, path: Path) -> Any:
    if value not in choices:
        raise SpecError(path, value, f"one of {', '.join(map(str, choices))}")
    return value


_PLAIN = {int: "a whole number", bool: "true or false", str: "a text"}
"""The types of arguments that JSON has itself, and what is expected of each."""


def _plain_value(hint: type, value: object, path: Path) -> Any:
    is_plain = isinstance(value, str) if hint is str else type(value) is hint
    if not is_plain:
        raise SpecError(path, value, _PLAIN[hint])
    return value


def _are_names(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)

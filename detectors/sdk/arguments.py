"""How a rule's typed arguments are read: a frozen dataclass of matchers is the declaration.

A field's type says how its JSON is read and described (`TYPES`), its default whether it may be left
out, `arg` what it means. The JSON Schema for editors and docs/rules.md are made of the same
declaration.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Protocol

from detectors.matchers import (
    AddressesMatch,
    AddressTextMatch,
    BodyMatch,
    ContentMatch,
    FactsMatch,
    Grade,
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
from detectors.matchers.text import TEXT_FORM
from detectors.model.codec import canonical
from detectors.model.errors import SpecError
from detectors.model.json_objects import Key, ObjectType
from detectors.model.json_types import (
    FLAG,
    JsonType,
    ListOf,
    Parsed,
    Schema,
    checked_type,
    choice,
    fields_schema,
    names,
    number,
)
from detectors.model.types import Json
from detectors.model.validation import NotedError, Path, TaskReader
from detectors.sdk.rubric import RUBRIC, Line
from detectors.sdk.window import WINDOW, Window

MAX_SCHEMA = 16_384


@dataclass(frozen=True, slots=True)
class FieldsMatch:
    """Expected fields of a form: names to texts, numbers, matchers, or true/false for boxes;
    ``keys``: the names as an index has them."""

    fields: tuple[tuple[str, TextMatch | bool], ...]
    keys: tuple[str, ...]

    WANTED: ClassVar[str] = "an object of field names and their texts, or true/false for a box"

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of names of fields and their texts, or true and false for boxes."""
        return fields_schema({"anyOf": [{"type": "boolean"}, TEXT_FORM]})

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

    text: bytes

    WANTED: ClassVar[str] = (
        "a JSON Schema (draft 2020-12) of at most 16 kB, without references to elsewhere"
    )

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of schemas, roughly."""
        return {"type": ["object", "boolean"]}

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
        return third_party.conforms(self.text, value)


class Matcher(Protocol):
    """What a matcher declares: how it is read, its JSON Schema, and in words what it may be."""

    WANTED: ClassVar[str]

    @classmethod
    def schema(cls) -> Schema: ...

    @classmethod
    def parse(cls, spec: object, path: Path, origin: str | None = None) -> Matcher: ...


def matcher_type(matcher: type[Matcher], label: str, ref: str | None = None) -> JsonType[Any]:
    """The JSON of a matcher: how it is read, and how described."""

    def parse(reader: TaskReader, value: Json, path: Path) -> Matcher:
        return matcher.parse(value, path, reader.origin)

    return Parsed(matcher.WANTED, parse, matcher.schema, label=label, ref=ref)


TEXT_TYPE = matcher_type(TextMatch, "text", "text")
URL_TYPE = matcher_type(UrlMatch, "address", "url")
FACTS_TYPE = matcher_type(FactsMatch, "facts")
SCHEMA_TYPE = matcher_type(SchemaMatch, "JSON Schema")
STRUCTURE_TYPE = matcher_type(StructureMatch, "lenient structure", "structure")
GRADE_TYPE = matcher_type(Grade, "grade", "grade")
ID_REF: Schema = {"$ref": "#/$defs/id"}
MATCHERS: Mapping[type, JsonType[Any]] = {
    TextMatch: TEXT_TYPE,
    AddressTextMatch: matcher_type(AddressTextMatch, "text", "text"),
    UrlMatch: URL_TYPE,
    FactsMatch: FACTS_TYPE,
    StructureMatch: STRUCTURE_TYPE,
    Grade: GRADE_TYPE,
    IntRange: matcher_type(IntRange, "range"),
    AddressesMatch: matcher_type(AddressesMatch, "lenient addresses"),
    ContentMatch: matcher_type(ContentMatch, "lenient content"),
    StateMatch: matcher_type(StateMatch, "facts of a state"),
    StatusMatch: matcher_type(StatusMatch, "status"),
    BodyMatch: matcher_type(BodyMatch, "fields of a body"),
    ValueMatch: matcher_type(ValueMatch, "value"),
}
"""How the JSON of each matcher is read and described."""
TYPES: Mapping[Any, JsonType[Any]] = {
    **MATCHERS,
    FieldsMatch: matcher_type(FieldsMatch, "fields"),
    SchemaMatch: SCHEMA_TYPE,
    Window: WINDOW,
    tuple[Line, ...]: RUBRIC,
    tuple[UrlMatch, ...]: ListOf(URL_TYPE, "a list of addresses", minimum=1),
    tuple[str, ...]: names("a list of names", ID_REF, minimum=1),
    tuple[float, ...]: ListOf(number(), "a list of numbers", minimum=2, maximum=4),
    int: checked_type(lambda value: type(value) is int, "a whole number", {"type": "integer"}, int),
    bool: FLAG,
    str: checked_type(lambda value: isinstance(value, str), "a text", {"type": "string"}, str),
}
"""What an argument may be, beside one of a few choices (`Literal`)."""


def is_met(matcher: TextMatch | UrlMatch | AddressesMatch | None, value: object) -> bool:
    """Whether ``value``, as a text, is what an argument asks for; any is where it was not given."""
    return matcher is None or matcher.matches(str(value))


def arg(doc: str, default: object = MISSING) -> Any:
    """Declare one argument of a rule; without a default it must be given."""
    if default is MISSING:
        return field(metadata={"doc": doc})
    return field(default=default, metadata={"doc": doc})


@cache
def declared_arguments(cls: type) -> ObjectType[Any]:
    """The object of arguments that a rule's dataclass declares."""
    hints = typing.get_type_hints(cls)
    keys = tuple(
        Key(
            f.name,
            _type_of(hints[f.name], f"{cls.__module__}: argument {f.name}"),
            f.metadata.get("doc", ""),
            attribute=f.name,
            required=f.default is MISSING,
            default=None if f.default is MISSING else f.default,
        )
        for f in fields(cls)
    )
    listed = ", ".join(one.name for one in keys)
    return ObjectType(cls, keys, "", f"an object with {listed or 'nothing in it'}", noun="argument")


def read_args(reader: TaskReader, cls: type, spec: Json, path: Path) -> Any:
    """Read a rule's arguments from JSON into its dataclass; every problem is noted. Raises
    `NotedError` if there is one, or `SpecError`."""
    before = len(reader.problems)
    values = declared_arguments(cls).read_values(reader, spec, path)
    if len(reader.problems) > before:
        raise NotedError
    try:
        made = cls(**values)
    except ValueError as error:  # a dataclass's own check of its arguments together
        raise SpecError(path, spec, str(error)) from None
    explain = getattr(made, "explain_mismatches", None)
    for name, expected in () if explain is None else explain():
        reader.note_new((*path, name), spec[name], expected)
    if values.get("loaded") is not None and getattr(made, "url", made) is None:
        raise SpecError((*path, "loaded"), values["loaded"], "it only beside `url`, the address")
    return made


def parse_args(cls: type, spec: Json, path: Path, origin: str | None) -> Any:
    """Read a rule's arguments as `read_args`. Raises `SpecError` naming the first wrong one."""
    reader = TaskReader(origin=origin)
    try:
        args = read_args(reader, cls, spec, path)
    except NotedError:
        raise reader.problems[0] from None
    if reader.problems:
        raise reader.problems[0]
    return args


def _type_of(hint: Any, where: str) -> JsonType[Any]:
    """Return how an argument is read, by its declared type; ``where``: the argument's name for a
    message. Raises `TypeError`."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is typing.Literal:
        return choice(typing.get_args(hint))
    if hint not in TYPES:
        named = ", ".join(
            str(known) if typing.get_args(known) else known.__name__ for known in TYPES
        )
        got = getattr(hint, "__name__", repr(hint))
        raise TypeError(f"{where}: expected a type of {named} or a Literal, got {got}")
    return TYPES[hint]

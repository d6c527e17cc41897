"""Declarations of JSON values: how a value is read, written and described follows from one
declaration.

A `JsonType` reads a value (`read`), writes it in its canonical form (`write`) and describes it as
JSON Schema (`schema`) and in words (`expected`): the words of the error messages and of the
reference page. An object is a dataclass whose fields are declared by `key` or `required_key`, each
with its type, its default and its sentence for the docs; `ObjectType` derives the rest.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from detectors.model.errors import SpecError
from detectors.model.json_value import is_number
from detectors.model.types import Json
from detectors.model.validation import Path, TaskReader, is_text

Schema = dict[str, Json]
T = TypeVar("T")
MAX_NUMBER = 1e6
"""The size of a number stays below it, unless the number has a larger maximum."""


class JsonType(Generic[T]):
    """What a value may be. ``expected`` says it in words, ``label`` in one or two, for tables;
    ``ref`` names its place in the `$defs` of the schema, if it has one."""

    expected: str
    label: str | None = None
    ref: str | None = None

    def read(self, reader: TaskReader, value: Json, path: Path) -> T:
        """The value of its JSON form. What is wrong with parts of it is noted; raises `SpecError`
        or `NotedError` where nothing can be made of it."""
        raise NotImplementedError

    def write(self, value: T) -> Json:
        """The canonical JSON form, which `read` takes."""
        return value

    def definition(self) -> Schema:
        """The JSON Schema of the value."""
        raise NotImplementedError

    def schema(self) -> Schema:
        """The JSON Schema as it stands where the value does: a reference, if it has one."""
        return self.definition() if self.ref is None else {"$ref": f"#/$defs/{self.ref}"}

    def parts(self) -> Iterator[JsonType[Any]]:
        """The types of the values within it."""
        yield from ()


@dataclass(frozen=True)
class Parsed(JsonType[T]):
    """A value that is read as a whole. ``described`` is called for its JSON Schema."""

    expected: str
    parse: Callable[[TaskReader, Json, Path], T]
    described: Callable[[], Schema]
    to_json: Callable[[T], Json] = lambda value: value
    label: str | None = None
    ref: str | None = None

    def read(self, reader: TaskReader, value: Json, path: Path) -> T:
        return self.parse(reader, value, path)

    def write(self, value: T) -> Json:
        return self.to_json(value)

    def definition(self) -> Schema:
        return self.described()


def checked_type(
    is_valid: Callable[[Json], bool],
    expected: str,
    schema: Schema,
    convert: Callable[[Json], T],
    to_json: Callable[[T], Json] = lambda value: value,
    ref: str | None = None,
) -> JsonType[T]:
    """A value that a predicate accepts or refuses; ``convert`` makes it of its JSON form,
    ``to_json`` that of it."""

    def parse(reader: TaskReader, value: Json, path: Path) -> T:
        if not is_valid(value):
            raise SpecError(path, value, expected)
        return convert(value)

    return Parsed(expected, parse, lambda: dict(schema), to_json, ref=ref)


def as_written(inner: JsonType[Any]) -> JsonType[Json]:
    """What ``inner`` accepts, kept in the JSON form in which it was given."""

    def parse(reader: TaskReader, value: Json, path: Path) -> Json:
        inner.read(reader, value, path)
        return value

    return Parsed(inner.expected, parse, inner.schema, label=inner.label)


_BOUNDS: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (operator.ge, "from"),
    "exclusiveMinimum": (operator.gt, "above"),
    "maximum": (operator.le, "to"),
    "exclusiveMaximum": (operator.lt, "below"),
}
"""The bounds of a number as JSON Schema calls them: the comparison, and its word in a message."""


def _bounded(noun: str, hint: str, bounds: Mapping[str, float | None]) -> tuple[str, Schema]:
    """What a message says of a number within ``bounds``, and these as JSON Schema has them."""
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    words = " and ".join(f"{_BOUNDS[name][1]} {bound}" for name, bound in given.items())
    words = words.replace(" and to ", " to ")
    if words.startswith("to "):
        words = f"up {words}"
    return f"{noun} {words}".rstrip() + (f": {hint}" if hint else ""), given


def _is_within(value: float, bounds: Schema) -> bool:
    if not abs(value) < max(MAX_NUMBER, bounds.get("maximum", 0) + 1):
        return False
    return all(_BOUNDS[name][0](value, bound) for name, bound in bounds.items())


def number(
    minimum: float | None = None,
    maximum: float | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
    noun: str = "a number",
    hint: str = "",
    keeps_int: bool = False,
) -> JsonType[float]:
    """A number within bounds. ``noun`` and ``hint``: what a message says of it; ``keeps_int``: a
    whole number is written as it was given, without a point."""
    asked = {"minimum": minimum, "exclusiveMinimum": above}
    asked |= {"maximum": maximum, "exclusiveMaximum": below}
    expected, bounds = _bounded(noun, hint, asked)

    def is_valid(value: Json) -> bool:
        return is_number(value) and _is_within(value, bounds)

    def convert(value: Json) -> float:
        return value if keeps_int else float(value)

    return checked_type(is_valid, expected, {"type": "number", **bounds}, convert)


def whole(
    minimum: int, maximum: int, *, noun: str = "a whole number", hint: str = ""
) -> JsonType[int]:
    """A whole number from ``minimum`` to ``maximum``."""
    expected, bounds = _bounded(noun, hint, {"minimum": minimum, "maximum": maximum})

    def is_valid(value: Json) -> bool:
        return type(value) is int and _is_within(value, bounds)

    return checked_type(is_valid, expected, {"type": "integer", **bounds}, int)


def text(
    expected: str = "a text",
    *,
    pattern: str | None = None,
    max_length: int | None = None,
    is_valid: Callable[[str], bool] = is_text,
    ref: str | None = None,
) -> JsonType[str]:
    """A text, not of blanks alone. ``pattern`` matches all of it; ``is_valid``: what else it must
    be."""
    compiled = None if pattern is None else re.compile(pattern)
    schema: Schema = {"type": "string"}
    if pattern is not None:
        schema["pattern"] = f"^{pattern}$"
    if max_length is not None:
        schema["maxLength"] = max_length

    def accepts(value: Json) -> bool:
        if not is_text(value) or (max_length is not None and len(value) > max_length):
            return False
        return is_valid(value) and (compiled is None or compiled.fullmatch(value) is not None)

    return checked_type(accepts, expected, schema, str, ref=ref)


def choice(values: Sequence[T], expected: str | None = None) -> JsonType[T]:
    """One of a few values, which a message lists unless ``expected`` says it in other words."""
    listed = tuple(values)
    if expected is None:
        expected = f"one of {', '.join(map(str, listed))}"

    def pick(value: Json) -> T:
        return listed[listed.index(value)]

    return checked_type(lambda value: value in listed, expected, {"enum": list(listed)}, pick)


def names(
    expected: str,
    items: Schema,
    *,
    minimum: int = 0,
    is_name: Callable[[str], bool] = lambda name: True,
) -> JsonType[tuple[str, ...]]:
    """A list of texts that name something. ``items``: the JSON Schema of one; ``is_name``: what
    each must be beside a text."""

    def is_valid(value: Json) -> bool:
        if not isinstance(value, list | tuple) or len(value) < minimum:
            return False
        return all(isinstance(name, str) and is_name(name) for name in value)

    schema: Schema = {"type": "array", "items": items}
    if minimum:
        schema["minItems"] = minimum
    return checked_type(is_valid, expected, schema, tuple, list)


FLAG: JsonType[bool] = checked_type(
    lambda value: isinstance(value, bool), "true or false", {"type": "boolean"}, bool
)


@dataclass(frozen=True)
class ListOf(JsonType[tuple[T, ...]]):
    """A list of so many items; ``expected`` says of what. ``finish`` is called with the items once
    each was read, and raises `ValueError` for what they can't be together."""

    item: JsonType[T]
    expected: str
    minimum: int = 0
    maximum: int | None = None
    finish: Callable[[tuple[T, ...]], tuple[T, ...]] | None = None

    def read(self, reader: TaskReader, value: Json, path: Path) -> tuple[T, ...]:
        if not isinstance(value, list) or len(value) < self.minimum:
            raise SpecError(path, value, self.expected)
        if self.maximum is not None and len(value) > self.maximum and not reader.stored:
            raise SpecError(path, f"{len(value)} items", f"at most {self.maximum}")
        items = []
        for n, item in enumerate(value):
            with reader.noting():
                items.append(self.item.read(reader, item, (*path, n)))
        if self.finish is None or len(items) < len(value):
            return tuple(items)
        try:
            return self.finish(tuple(items))
        except ValueError as error:
            raise SpecError(path, value, str(error)) from None

    def write(self, value: tuple[T, ...]) -> Json:
        return [self.item.write(item) for item in value]

    def definition(self) -> Schema:
        limits = {"minItems": self.minimum or None, "maxItems": self.maximum}
        given = {name: limit for name, limit in limits.items() if limit is not None}
        return {"type": "array", **given, "items": self.item.schema()}

    def parts(self) -> Iterator[JsonType[Any]]:
        yield self.item


@dataclass(frozen=True)
class MapOf(JsonType[Mapping[str, T]]):
    """An object of names and values of one type. ``names``: the only ones that there are, None for
    any; ``base``: what those are that are not given."""

    item: JsonType[T]
    expected: str
    names: tuple[str, ...] | None = None
    base: Mapping[str, T] = field(default_factory=dict)

    def read(self, reader: TaskReader, value: Json, path: Path) -> Mapping[str, T]:
        if not isinstance(value, Mapping):
            raise SpecError(path, value, self.expected)
        if self.names is not None:
            reader.note_unknown(value, self.names, path)
        values = dict(self.base)
        for name in value if self.names is None else self.names:
            if name in value:
                with reader.noting():
                    values[name] = self.item.read(reader, value[name], (*path, name))
        return values

    def write(self, value: Mapping[str, T]) -> Json:
        return {name: self.item.write(item) for name, item in value.items()}

    def definition(self) -> Schema:
        if self.names is None:
            return {"type": "object", "additionalProperties": self.item.schema()}
        return object_schema(dict.fromkeys(self.names, self.item.schema()))

    def parts(self) -> Iterator[JsonType[Any]]:
        yield self.item


@dataclass(frozen=True)
class Short(JsonType[T]):
    """A value that has a short form beside its ``full`` one, which is an object; ``expand`` makes
    this of that."""

    short: JsonType[Any]
    expand: Callable[[Any], Json]
    full: JsonType[T]
    expected: str = field(init=False)

    def __post_init__(self) -> None:
        expected = f"{self.short.expected}, or {self.full.expected}"
        object.__setattr__(self, "expected", expected)

    def read(self, reader: TaskReader, value: Json, path: Path) -> T:
        if isinstance(value, Mapping):
            return self.full.read(reader, value, path)
        try:
            short = self.short.read(reader, value, path)
        except SpecError:
            raise SpecError(path, value, self.expected) from None
        return self.full.read(reader, self.expand(short), path)

    def write(self, value: T) -> Json:
        return self.full.write(value)

    def definition(self) -> Schema:
        return {"anyOf": [self.short.schema(), self.full.schema()]}

    def parts(self) -> Iterator[JsonType[Any]]:
        yield self.full


def object_schema(properties: Schema, required: Sequence[str] = ()) -> Schema:
    """The JSON Schema of an object of these properties and no others."""
    schema: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def fields_schema(value: Schema) -> Schema:
    """The JSON Schema of an object of at least one name, each with such a value."""
    return {"type": "object", "minProperties": 1, "additionalProperties": value}

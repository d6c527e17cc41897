"""Objects of JSON as dataclasses: each field is declared once, by `key` or `required_key`; reader,
encoder, JSON Schema and reference page follow from the fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cached_property
from typing import Any, TypeVar, overload

from detectors.model.errors import SpecError
from detectors.model.json_types import JsonType, Schema, object_schema
from detectors.model.types import Json
from detectors.model.validation import Path, TaskReader

T = TypeVar("T")
UNSET: Json = object()
"""No value at all."""


@dataclass(frozen=True)
class Key:
    """One key of an object. ``name``: in JSON; ``attribute``: of the dataclass, None where the key
    is only read (by who expands it); ``stand_in``: what takes the place of a required value that is
    missing or wrong, so that the reading goes on; ``nullable``: null is as if it were not given;
    ``is_written``: whether an object has it in its canonical form."""

    name: str
    type: JsonType[Any]
    doc: str
    attribute: str | None = None
    required: bool = False
    default: Json = None
    stand_in: Json = UNSET
    nullable: bool = False
    is_written: Callable[[Any], bool] | None = None

    def schema(self) -> Schema:
        """The key's JSON Schema, with its default and its sentence."""
        schema = self.type.schema()
        if self.default not in (None, "", (), {}):
            schema["default"] = self.type.write(self.default)
        if self.doc:
            schema["description"] = self.doc
        return schema


@overload
def key(doc: str, type: JsonType[T], default: T, **more: Any) -> T: ...
@overload
def key(doc: str, type: JsonType[T], default: None, **more: Any) -> T | None: ...
def key(doc: str, type: JsonType[Any], default: Any, **more: Any) -> Any:
    """Declare a key that may be left out: a field of a dataclass. ``more``: as in `Key`; of
    ``omit_default`` the canonical form has the key only where its value is another."""
    metadata = {"doc": doc, "type": type, **more}
    if isinstance(default, Mapping):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def required_key(doc: str, type: JsonType[T], stand_in: T) -> T:
    """Declare a key that must be given. ``stand_in`` takes its place where it is missing or wrong,
    so that the rest of the object is read and checked as well."""
    metadata = {"doc": doc, "type": type, "stand_in": stand_in}
    return field(metadata=metadata)  # type: ignore[no-any-return]


def keys_of(cls: type) -> tuple[Key, ...]:
    """The keys that a dataclass's fields declare."""
    return tuple(_key_of(f) for f in fields(cls))


def _key_of(f: Field[Any]) -> Key:
    said = dict(f.metadata)
    name, omit_default = said.pop("name", f.name), said.pop("omit_default", False)
    default = f.default if f.default_factory is MISSING else f.default_factory()
    default = None if default is MISSING else default
    if omit_default:
        said["is_written"] = lambda made: getattr(made, f.name) != default
    return Key(name, attribute=f.name, required="stand_in" in f.metadata, default=default, **said)


@dataclass(frozen=True)
class ObjectType(JsonType[T]):
    """An object with ``keys``, made by ``make`` of their values. ``doc`` says what it is;
    ``at_least_one``: it may not be empty; ``exactly_one``: of these keys it has one; ``noun``: what
    a message calls a key."""

    make: Callable[..., T]
    keys: tuple[Key, ...]
    doc: str
    expected: str
    at_least_one: bool = False
    exactly_one: tuple[str, ...] = ()
    noun: str = "key"
    ref: str | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all keys, as declared."""
        return tuple(one.name for one in self.keys)

    @cached_property
    def required(self) -> tuple[Key, ...]:
        """The keys that must be given."""
        return tuple(one for one in self.keys if one.required)

    def read(self, reader: TaskReader, value: Json, path: Path) -> T:
        return self.make(**self.read_values(reader, value, path))

    def read_values(self, reader: TaskReader, value: Json, path: Path) -> dict[str, Json]:
        """The values of the keys that are given and right, by attribute; of the required ones that
        are not, what stands in. Every problem is noted; raises `SpecError` for what is no such
        object."""
        self._check_shape(reader, value, path)
        values: dict[str, Json] = {}
        for one in self.required:
            if one.attribute is not None and one.stand_in is not UNSET:
                values[one.attribute] = one.stand_in
        for one in self.keys:
            given = value.get(one.name, UNSET)
            if one.attribute is None or given is UNSET or (given is None and one.nullable):
                continue
            with reader.noting():
                values[one.attribute] = one.type.read(reader, given, (*path, one.name))
        return values

    def _check_shape(self, reader: TaskReader, value: Json, path: Path) -> None:
        """Note keys that there are not, and required ones that are missing."""
        if not isinstance(value, Mapping) or (self.at_least_one and not value):
            raise SpecError(path, value, self.expected)
        reader.note_unknown(value, self.names, path, self.noun)
        if self.exactly_one and sum(name in value for name in self.exactly_one) != 1:
            raise SpecError(path, value, self.expected)
        for one in self.required:
            if one.name not in value:
                reader.note((*path, one.name), None, f"this {self.noun}; it must be given")

    def write(self, value: T) -> dict[str, Json]:
        """The object in its canonical form: what is None is left out."""
        out: dict[str, Json] = {}
        for one in self.keys:
            part = None if one.attribute is None else getattr(value, one.attribute)
            if part is not None and (one.is_written is None or one.is_written(value)):
                out[one.name] = one.type.write(part)
        return out

    def definition(self) -> Schema:
        properties = {one.name: one.schema() for one in self.keys}
        schema = object_schema(properties, [one.name for one in self.required])
        if self.at_least_one:
            schema["minProperties"] = 1
        if self.exactly_one:
            schema["oneOf"] = [{"required": [name]} for name in self.exactly_one]
        return schema

    def parts(self) -> Iterator[JsonType[Any]]:
        yield from (one.type for one in self.keys)


def object_type(
    cls: type[T],
    *,
    expected: str | None = None,
    at_least_one: bool = False,
    exactly_one: tuple[str, ...] = (),
    extra: tuple[Key, ...] = (),
    ref: str | None = None,
) -> ObjectType[T]:
    """The object that a dataclass declares by its fields. ``extra``: keys that are no fields, which
    others read before."""
    keys = (*keys_of(cls), *extra)
    if expected is None:
        expected = f"an object with {', '.join(one.name for one in keys)}"
    return ObjectType(cls, keys, cls.__doc__ or "", expected, at_least_one, exactly_one, ref=ref)

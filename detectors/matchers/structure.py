"""JSON of a known shape whose values are compared leniently: objects, lists, null, values of a
kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from detectors.matchers.faults import answers
from detectors.matchers.lenient import Lenient, Read
from detectors.matchers.structures import MAX_ITEMS, is_assignable
from detectors.matchers.typed_base import FLAG_OFF, KeyedForm, Option, list_type, read_each
from detectors.model.errors import SpecError
from detectors.model.json_types import Schema, checked_type, fields_schema
from detectors.model.safe_json import json_or_none

MAX_DEPTH = 8
PART: Schema = {"$ref": "#/$defs/structure"}

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Nothing:
    """Null, or nothing at all."""

    def matches(self, value: object, read: Read | None = None) -> bool:
        """Whether ``value`` is null, or is not there at all."""
        return value is None


@dataclass(frozen=True, slots=True)
class Object:
    """These keys and, unless ``more``, no others; a key that is missing holds null."""

    keys: Mapping[str, Any]
    more: bool

    def matches(self, value: object, read: Read | None = None) -> bool:
        """Whether ``value``, an object or a text that is one, has them."""
        if isinstance(value, str) and value.lstrip().startswith("{"):
            value = _object(value, read)
        if not isinstance(value, dict) or not (self.more or value.keys() <= self.keys.keys()):
            return False
        return all(part.matches(value.get(key), read) for key, part in self.keys.items())


@dataclass(frozen=True, slots=True)
class Items:
    """A list of these and no others; what is no list is a list of itself, an empty one is null."""

    items: tuple[Any, ...]
    ordered: bool

    def matches(self, value: object, read: Read | None = None) -> bool:
        """Whether ``value`` is such a list."""
        found = value if isinstance(value, list) else [value]
        if value is None:
            found = []
        if len(found) != len(self.items) or len(found) > MAX_ITEMS:
            return False
        if self.ordered:
            return all(
                wanted.matches(one, read) for wanted, one in zip(self.items, found, strict=True)
            )
        seen: Read = {} if read is None else read
        return is_assignable(self.items, found, lambda wanted, one: wanted.matches(one, seen))


_KEYS = checked_type(
    lambda value: isinstance(value, Mapping) and len(value) > 0,
    "an object of keys, and for each a value of a known shape",
    fields_schema(PART),
    dict,
)
_OBJECT = KeyedForm(
    "{object: {key: …}, more: true or false}, and no other keys",
    {"object": Option(_KEYS, required=True), "more": FLAG_OFF},
)
_ITEMS = KeyedForm(
    "{items: […], ordered: true or false}, and no other keys",
    {
        "items": Option(
            list_type(f"a list of at most {MAX_ITEMS} items", PART, maximum=MAX_ITEMS),
            required=True,
        ),
        "ordered": FLAG_OFF,
    },
)


@dataclass(frozen=True, slots=True)
class StructureMatch:
    """A value of a known shape."""

    root: Any

    WANTED: ClassVar[str] = (
        "null, {object: {key: …}, more?}, {items: […], ordered?}, or values of a kind such as"
        " {string: [texts]}"
    )

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of null, objects, lists and values of a kind."""
        forms = [_OBJECT.schema(), _ITEMS.schema(), *Lenient.schemas()]
        return {"anyOf": [{"type": "null"}, *forms]}

    @classmethod
    def parse(cls, spec: object, path: Path, origin: str | None = None) -> StructureMatch:
        """Make it of its JSON form. Raises `SpecError`."""
        return cls(part(spec, path))

    @answers(False)
    def matches(self, value: object) -> bool:
        """Whether ``value`` is of that shape and holds those values."""
        return bool(self.root.matches(value))


def part(spec: object, path: Path, depth: int = 0) -> Any:
    """One part of a structure. Raises `SpecError`."""
    if spec is None:
        return Nothing()
    if not isinstance(spec, Mapping) or depth > MAX_DEPTH:
        raise SpecError(path, spec, StructureMatch.WANTED)
    if "object" in spec:
        return _object_of(spec, path, depth)
    if "items" in spec:
        return _items_of(spec, path, depth)
    return Lenient.parse(spec, path)


def _object_of(spec: Mapping[str, object], path: Path, depth: int) -> Object:
    given = _OBJECT.read(spec, path)
    parts = {
        name: part(value, (*path, "object", name), depth + 1)
        for name, value in given["object"].items()
    }
    return Object(parts, given["more"])


def _items_of(spec: Mapping[str, object], path: Path, depth: int) -> Items:
    given = _ITEMS.read(spec, path)
    parts = read_each(partial(part, depth=depth + 1), given["items"], (*path, "items"))
    return Items(parts, given["ordered"])


def _object(text: str, read: Read | None) -> object:
    if read is None:
        return json_or_none(text)
    if (found := read.get(("{", text))) is None:
        found = read["{", text] = json_or_none(text)
    return found


def json_in(text: str) -> object:
    """The JSON that a text is, or has in a fence of Markdown; None where it is none."""
    whole = json_or_none(text.strip())  # first: its own texts may have a fence in them
    _, fence, rest = text.partition("```")
    if whole is not None or not fence:
        return whole
    return json_or_none(rest.partition("```")[0].strip().removeprefix("json").strip())

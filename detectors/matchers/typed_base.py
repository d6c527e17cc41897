"""What the typed forms share: their options, and a number with a tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from detectors.matchers import third_party
from detectors.matchers.plain import keys_of_amount
from detectors.model.codec import canonical
from detectors.model.errors import SpecError
from detectors.model.json_types import (
    FLAG,
    JsonType,
    Parsed,
    Schema,
    checked_type,
    object_schema,
)
from detectors.model.json_value import is_number
from detectors.model.optional_values import entries_without_none
from detectors.model.types import Json
from detectors.model.validation import TaskReader

Path = tuple[str | int, ...]
T = TypeVar("T")
MAX_EXACT = 2.0**53
"""Whole numbers below it are the same as floats."""


class Form:
    """A typed form, compiled."""

    __slots__ = ()

    def matches(self, text: str) -> bool:
        """Whether the text means what the author asked for."""
        raise NotImplementedError

    def matches_json(self, value: object) -> bool:
        """Whether a JSON value that is neither a text nor null does: a number, true or false by its
        JSON text, unless the form reads values."""
        return not isinstance(value, list | dict) and self.matches(json_text(value))

    def text_keys(self) -> tuple[str, ...] | None:
        """Keys of which every text that can match has one among its `plain.text_keys`, or None if
        that can't be said beforehand."""
        return None

    def excludes_rows(self, beginning: Sequence[list[object] | None], count: int | None) -> bool:
        """Whether no table that begins with these rows is as wanted. None: a row that is not known;
        ``count``: how many rows the table has, if that is known."""
        return False


def json_text(value: object) -> str:
    """A JSON value as JSON; 42.0 is 42, since JSON has one type of number. "" for what is nested
    too deep to write (254 levels)."""
    try:
        return canonical(_whole(value)).decode()
    except (TypeError, RecursionError):
        return ""


def _whole(value: object) -> object:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < MAX_EXACT else value
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list | tuple) else value


def number_of(value: object) -> float | int | None:
    """The number that a JSON value is; None for a text, null, true and false."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class About:
    """A number, give or take."""

    value: float
    tolerance: float

    def matches(self, found: float | None) -> bool:
        """Whether ``found`` is near enough; a hair is given for what binary fractions can't say."""
        return found is not None and abs(found - self.value) <= self.tolerance + 1e-12 * max(
            1.0, abs(self.value)
        )

    def text_keys(self) -> tuple[str, ...]:
        """Index keys of which every text has one that is such a number (`keys_of_amount`)."""
        return keys_of_amount(self.value, self.tolerance)


def is_plain(value: Json) -> bool:
    """Whether it is a number of at most 15 digits before the point."""
    return is_number(value) and abs(value) < 1e15


def plain(value: object, path: Path, wanted: str = "a number") -> float:
    """``value`` as a number. Raises `SpecError`."""
    if not is_plain(value):
        raise SpecError(path, value, wanted)
    return float(value)  # type: ignore[arg-type]


class Option(NamedTuple):
    """An option beside a form's value. ``default``: what it is where it is not given."""

    type: JsonType[Any]
    default: Json = None
    required: bool = False
    shows_default: bool = False
    """Whether the JSON Schema has the default."""

    def schema(self) -> Schema:
        """The option's JSON Schema, with its default where that is shown."""
        schema = self.type.schema()
        return {**schema, "default": self.default} if self.shows_default else schema


@dataclass(frozen=True)
class KeyedForm:
    """An object of declared ``keys``, and no others: how it is read and its JSON Schema follow from
    the table. ``expected``: what a message says of what is no such object; ``minimum``: how many of
    the keys it has at least."""

    expected: str
    keys: Mapping[str, Option]
    minimum: int = 0

    def schema(self) -> Schema:
        """The JSON Schema of the object."""
        keys = {name: option.schema() for name, option in self.keys.items()}
        limit: Schema = {"minProperties": self.minimum} if self.minimum else {}
        return object_schema(keys, self._required) | limit

    def read(self, spec: object, path: Path) -> dict[str, Any]:
        """The values of all keys of ``spec``, which stands at ``path``: defaults where it does not
        give them. Raises `SpecError`."""
        given = spec if isinstance(spec, Mapping) else {}
        has_required = given.keys() >= {*self._required}
        if len(given) < max(1, self.minimum) or not has_required or given.keys() - self.keys:
            raise SpecError(path, spec, self.expected)
        return read_options(self.keys, given, path)

    @property
    def _required(self) -> list[str]:
        return [name for name, option in self.keys.items() if option.required]


def read_options(
    options: Mapping[str, Option], spec: Mapping[str, Json], path: Path
) -> dict[str, Json]:
    """The options that stand in ``spec``, at ``path``, and the defaults of the others. Raises
    `SpecError`."""
    reader = TaskReader()
    values: dict[str, Json] = {}
    for name, option in options.items():
        if name in spec:
            values[name] = option.type.read(reader, spec[name], (*path, name))
        elif option.required:
            raise SpecError((*path, name), None, f"{option.type.expected}; it must be given")
        else:
            values[name] = option.default
    if reader.problems:
        raise reader.problems[0]
    return values


def parsed_type(parse: Callable[[Json, Path], T], expected: str, schema: Schema) -> JsonType[T]:
    """What a function makes of a value and of the path to it; it raises `SpecError`."""
    return Parsed(expected, lambda _reader, value, path: parse(value, path), lambda: dict(schema))


def list_type(
    expected: str, items: Schema, minimum: int = 0, maximum: int | None = None
) -> JsonType[list[Any]]:
    """A list of so many items, which are read elsewhere; ``items``: their JSON Schema."""
    most = math.inf if maximum is None else maximum
    limits = entries_without_none({"minItems": minimum or None, "maxItems": maximum})
    return checked_type(
        lambda value: isinstance(value, list) and minimum <= len(value) <= most,
        expected,
        {"type": "array", **limits, "items": items},
        list,
    )


def read_json_path(value: Json, path: Path) -> str:
    """Return a JSON Path (RFC 9535) as it is. Raises `SpecError` for what is none."""
    if not isinstance(value, str):
        raise SpecError(path, value, "a JSON Path such as $.items[0].id")
    try:
        third_party.json_path(value)
    except ValueError as error:
        raise SpecError(path, value, str(error)) from None
    return value


def _is_currency(code: Json) -> bool:
    return code is None or third_party.currency(str(code), "en") is not None


def _is_separator(value: Json) -> bool:
    return isinstance(value, str) and len(value) == 1 and not value.isalnum()


_TOLERANCE = checked_type(
    lambda value: is_plain(value) and value >= 0,
    "a number from 0",
    {"type": "number", "minimum": 0},
    float,
)
JSON_PATH = parsed_type(read_json_path, "a JSON Path such as $.items[0].id", {"type": "string"})
NUMBER = checked_type(is_number, "a number", {"type": "number"}, lambda value: value)
TOLERANCE = Option(_TOLERANCE, 0.0)
DEGREES = Option(_TOLERANCE, 0.0005)
CURRENCY = Option(
    checked_type(
        _is_currency,
        "a currency's code such as USD",
        {"type": "string", "description": "The currency's code, such as USD."},
        lambda code: code,
    )
)
LOCALE = Option(
    checked_type(
        lambda value: isinstance(value, str) and third_party.locale_ok(value),
        "a locale such as en or de_DE",
        {"type": "string"},
        str,
    ),
    "en",
    shows_default=True,
)
FLAG_OFF = Option(FLAG, False, shows_default=True)
IN_ANY_ORDER = Option(FLAG, False)
IN_ORDER = Option(FLAG, True)
THRESHOLD = Option(
    checked_type(
        lambda value: is_number(value) and 0.5 <= value <= 1,
        "a number from 0.5 to 1",
        {"type": "number", "minimum": 0.5, "maximum": 1},
        float,
    ),
    required=True,
)
SEPARATOR = Option(
    checked_type(
        _is_separator,
        "one character that is no letter or digit",
        {"type": "string", "minLength": 1, "maxLength": 1},
        str,
    ),
    ",",
    shows_default=True,
)


def read_each(parse: Callable[[Json, Path], T], items: Sequence[Json], path: Path) -> tuple[T, ...]:
    """Read each of the ``items`` that stand at ``path``. Raises `SpecError`."""
    return tuple(parse(item, (*path, n)) for n, item in enumerate(items))


def text_of(value: object, path: Path, wanted: str) -> str:
    """``value`` as a text with something in it. Raises `SpecError`."""
    if not isinstance(value, str) or not value.strip():
        raise SpecError(path, value, wanted)
    return value

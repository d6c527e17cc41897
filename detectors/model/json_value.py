"""JSON that others wrote: its types, and readers that refuse a value of another type.

A reader takes what is missing, null or empty as nothing, as files of others mean it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, TypeGuard, TypeVar

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
"""What a JSON document decodes to, or can be encoded from."""
JsonObject: TypeAlias = Mapping[str, JsonValue]
_Item = TypeVar("_Item")


class JsonTypeError(TypeError):
    """A value of JSON is of another type than expected; the message names where, and both."""


def require_object(value: JsonValue, where: str) -> JsonObject:
    """Return ``value`` as an object. Raises `JsonTypeError`."""
    if not isinstance(value, Mapping):
        raise JsonTypeError(f"{where}: expected an object, got {value!r:.80}")
    return value


def require_list(value: JsonValue, where: str) -> Sequence[JsonValue]:
    """Return ``value`` as a list. Raises `JsonTypeError`."""
    if not isinstance(value, list | tuple):
        raise JsonTypeError(f"{where}: expected a list, got {value!r:.80}")
    return value


def require_text(value: JsonValue, where: str) -> str:
    """Return ``value`` as a text. Raises `JsonTypeError`."""
    if not isinstance(value, str):
        raise JsonTypeError(f"{where}: expected a text, got {value!r:.80}")
    return value


def is_number(value: object) -> TypeGuard[float]:
    """Whether ``value`` is a number of JSON; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def require_number(value: JsonValue, where: str) -> float:
    """Return ``value`` as a number, whole or not. Raises `JsonTypeError`."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise JsonTypeError(f"{where}: expected a number, got {value!r:.80}")
    return value


def read_object(parent: JsonObject, key: str) -> JsonObject:
    """Return the object under ``key``, an empty one for nothing. Raises `JsonTypeError`."""
    return require_object(parent.get(key) or {}, key)


def read_list(parent: JsonObject, key: str) -> Sequence[JsonValue]:
    """Return the list under ``key``, an empty one for nothing. Raises `JsonTypeError`."""
    return require_list(parent.get(key) or (), key)


def read_text(parent: JsonObject, key: str, default: str = "") -> str:
    """Return what stands under ``key`` as a text, ``default`` for nothing."""
    return str(parent.get(key) or default)


def object_or_empty(value: object) -> JsonObject:
    """Return ``value`` where it is an object, an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def list_or_empty(value: object) -> Sequence[JsonValue]:
    """Return ``value`` where it is a list, an empty one for anything else."""
    return value if isinstance(value, list | tuple) else ()


def text_or_none(value: object) -> str | None:
    """Return ``value`` where it is a text, None for anything else."""
    return value if isinstance(value, str) else None


def as_items(value: _Item | list[_Item]) -> list[_Item]:
    """Return ``value`` where it is a list, else a list of it alone."""
    return value if isinstance(value, list) else [value]


def plain_values(value: JsonValue) -> Iterator[bool | int | float | str | None]:
    """Yield the values in ``value`` that are neither an object nor a list, however deep they stand;
    the keys of objects are not among them."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from plain_values(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from plain_values(part)
    elif value is None or isinstance(value, bool | int | float | str):
        yield value


def objects_in(values: JsonValue) -> list[JsonObject]:
    """Return the objects among ``values``; what is no list has none."""
    if not isinstance(values, list | tuple):
        return []
    return [value for value in values if isinstance(value, Mapping)]

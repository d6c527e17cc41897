"""Odd data is no data: an event's fields come from elsewhere, and the engine must be total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

_NO_MEMORY = "Not enough memory"
"""How orjson's message begins where it is no fault of the text."""


def read_json(text: str | bytes) -> Any:
    """Return what a JSON text says. Raises `orjson.JSONDecodeError` for what is none, and
    `MemoryError` where memory does not suffice: orjson says the former of that too."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        check_memory(error)
        raise


def json_or_none(text: str) -> Any:
    """Return what a JSON text says, half a character in it as ``?``; None for what is none. Raises
    `MemoryError`."""
    try:
        return read_json(text.encode("utf-8", "replace"))
    except orjson.JSONDecodeError:
        return None


def check_memory(error: orjson.JSONDecodeError) -> None:
    """Raise `MemoryError` if it was memory that did not suffice, and not JSON that is wrong."""
    if error.msg.startswith(_NO_MEMORY):
        raise MemoryError(error.msg) from None


def mapping(value: object) -> Mapping[str, Any]:
    """The object that ``value`` is, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> Sequence[Any]:
    """The list that ``value`` is, or an empty one."""
    return value if isinstance(value, (list, tuple)) else ()

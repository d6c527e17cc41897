"""What is a JSON value that can be kept and written again: finite numbers, whole ones of 64 bits,
bounded nesting."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import date
from typing import Any, NamedTuple

Where = tuple[str | int, ...]

MAX_WHOLE = 2**63 - 1
"""Whole numbers of more than 64 bits, sign included, are refused: JSON readers disagree on them."""
MAX_SHOWN_DIGITS = 60
WANTED_NUMBER = "a finite number, a whole one from -2^63 and below 2^63"


class JsonFault(NamedTuple):
    """The first thing in a value that can't be kept: where it is, what it is in words, what was
    wanted."""

    path: Where
    value: str
    wanted: str


def fault_of(value: Any, max_depth: int, max_nodes: int) -> JsonFault | None:
    """What is wrong with ``value``, of at most ``max_nodes`` values nested at most ``max_depth``
    deep; None if nothing.

    Without recursion: nothing that was sent can be nested too deep for it."""
    waiting: list[tuple[Where, Any]] = [((), value)]
    nodes = 0
    while waiting:
        path, one = waiting.pop()
        nodes += 1
        if nodes > max_nodes:
            return JsonFault((), f"more than {max_nodes} values", f"at most {max_nodes} values")
        if isinstance(one, dict | list | tuple):
            if len(path) >= max_depth:
                return JsonFault(
                    path[:8], f"values nested {max_depth + 1} deep", f"at most {max_depth}"
                )
            inner: Iterable[tuple[Any, Any]] = (
                one.items() if isinstance(one, dict) else enumerate(one)
            )
            waiting.extend(((*path, key), item) for key, item in inner)
        elif (fault := _of_single(path, one)) is not None:
            return fault
        if path and isinstance(path[-1], str) and not _is_unicode(path[-1]):
            return JsonFault(path[:-1], ascii(path[-1])[:80], "a name of Unicode characters")
    return None


def _of_single(path: Where, value: object) -> JsonFault | None:
    """Return what is wrong with one value: a number JSON can't hold, half a character, another
    type. None: nothing."""
    if value is None or isinstance(value, bool | date):
        return None
    if isinstance(value, int):
        return (
            None
            if -MAX_WHOLE - 1 <= value <= MAX_WHOLE
            else JsonFault(path, _digits(value), WANTED_NUMBER)
        )
    if isinstance(value, float):
        return None if math.isfinite(value) else JsonFault(path, str(value), WANTED_NUMBER)
    if isinstance(value, str):
        return (
            None
            if _is_unicode(value)
            else JsonFault(path, ascii(value)[:80], "a text of Unicode characters")
        )
    return JsonFault(path, type(value).__name__, "a JSON value")


def _digits(value: int) -> str:
    """A whole number in words: Python refuses to write one of many digits."""
    bits = value.bit_length()
    return str(value) if bits <= 3 * MAX_SHOWN_DIGITS else f"a whole number of {bits} bits"


def _is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True

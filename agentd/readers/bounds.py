"""How much of a file is told: facts fit into one event, and what is left out is said."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import orjson

MAX_BYTES = 64 << 10
"""Bytes that facts may have as JSON."""
MAX_NODES = 20_000
"""Values in facts: what refers to itself a thousandfold, as YAML can, ends here."""
MAX_DEPTH = 32
MAX_CHARACTERS = 32_000
"""Characters of one text."""
MAX_ITEMS = 1_000
TEXT_BYTES = 32 << 20
"""Files that are read into memory may have this many bytes; of archives and media the whole is never read."""
UNPACKED = 256 << 20
"""Bytes that a file made of compressed parts may unpack to."""


class DamagedError(Exception):
    """The file is not of the format that it was read as; carries why."""


class HeavyError(Exception):
    """Reading the file would take more memory or time than there is; carries why."""


class LargeError(Exception):
    """The file is longer than what is read of its format; carries why."""


def fitted(facts: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """``facts`` as JSON of at most `MAX_BYTES` bytes, and whether something was left out: ends of
    texts and lists first."""
    length, items = MAX_CHARACTERS, MAX_ITEMS
    while True:
        clip = _Clip(length, items)
        clipped = clip.value(facts, 0)
        if len(orjson.dumps(clipped)) <= MAX_BYTES:
            return clipped, clip.cut
        length, items = max(16, length // 2), max(4, items * 2 // 3)
        if (length, items) == (16, 4):
            return {}, True


class _Clip:
    def __init__(self, length: int, items: int) -> None:
        self._length = length
        self._items = items
        self._left = MAX_NODES
        self.cut = False

    def value(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            self.cut = True
            return None
        if isinstance(value, str):
            text = value.encode("utf-8", "replace").decode()
            self.cut |= len(text) > self._length
            return text[: self._length]
        if isinstance(value, dict):
            self.cut |= len(value) > self._items
            pairs = list(value.items())[: self._items]
            return {str(key)[:200]: self.value(one, depth + 1) for key, one in pairs}
        if isinstance(value, list | tuple):
            self.cut |= len(value) > self._items
            return [self.value(one, depth + 1) for one in value[: self._items]]
        return plain(value)


def plain(value: Any) -> Any:
    """A value of a cell, a key or a tag as JSON: numbers and truth as they are, all else as its
    text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 53 else str(value)
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value if isinstance(value, str) else str(value)

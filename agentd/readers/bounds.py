"""How much of a file is reported: facts fit into one event; ``cut`` says that some are missing."""

from __future__ import annotations

from decimal import Decimal
from math import isfinite
from typing import Any

import orjson

from agentd.readers.request import Facts

MAX_BYTES = 64 << 10
"""Bytes that facts may have as JSON."""
MAX_NODES = 20_000
"""Values in facts: what refers to itself a thousandfold, as YAML can, ends here."""
MAX_DEPTH = 32
MAX_CHARACTERS = 32_000
"""Characters of one text."""
MAX_ITEMS = 1_000
TEXT_BYTES = 32 << 20
"""Bytes of a file that is read into memory; archives and media never are as a whole."""
UNPACKED = 256 << 20
"""Bytes that a file made of compressed parts may unpack to."""


class DamagedError(Exception):
    """The file is not of the format that it was read as; carries why."""


class HeavyError(Exception):
    """Reading the file would take more memory or time than there is; carries why."""


class LargeError(Exception):
    """The file is longer than what is read of its format; carries why."""


def fit_facts(facts: Facts) -> tuple[Facts, bool]:
    """Return ``facts`` as JSON of at most `MAX_BYTES` bytes, and whether something was left out.

    The ends of texts and lists go first.
    """
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
    """Clips values to texts of ``length`` characters and lists of ``items``; ``cut``: it did."""

    def __init__(self, length: int, items: int) -> None:
        self._length = length
        self._items = items
        self._left = MAX_NODES
        self.cut = False

    def value(self, value: object, depth: int) -> Any:
        """Return ``value`` cut to the bounds on texts, lists, depth and all values together; `cut`
        says whether something was lost."""
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
            return {str(key)[:200]: self.value(item, depth + 1) for key, item in pairs}
        if isinstance(value, list | tuple):
            self.cut |= len(value) > self._items
            return [self.value(item, depth + 1) for item in value[: self._items]]
        return plain(value)


def plain(value: object) -> object:
    """Return a value of a cell, a key or a tag as JSON: numbers and truth as they are, all else as
    its text."""
    if isinstance(value, Decimal):
        value = float(value)
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 53 else str(value)
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return str(value)

"""The filter of a JSON Path, taken apart: which values it chooses among, and by what."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_OPEN, _CLOSE = "([", ")]"
_TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|&&|\|\||.", re.DOTALL)


def path_without(path: str, keys: Collection[str]) -> str | None:
    """Return the path to what the only filter of a path chooses, by those of its conditions alone
    that name none of ``keys``: all that it can choose, whatever stands under these. None where
    that can't be told: of several filters, and of one that is no conjunction."""
    start = path.find("[?")
    conditions = None if start < 0 else _read_conditions(path, start + 2)
    if conditions is None:
        return None
    kept = [one for one in conditions if not any(key in one for key in keys)]
    return f"{path[:start]}[?{' && '.join(kept)}]" if kept else f"{path[:start]}[*]"


def _read_conditions(path: str, start: int) -> list[str] | None:
    """Return the conditions of a filter that hold together; None for anything else, or if another
    filter follows it."""
    conditions, depth, begin = [], 0, start
    for token, place in _tokens(path, start):
        if token in _OPEN:
            depth += 1
        elif token == "]" and depth == 0:
            conditions.append(path[begin:place].strip())
            return None if "[?" in path[place:] else conditions
        elif token in _CLOSE:
            depth -= 1
        elif depth == 0 and token == "||":
            return None
        elif depth == 0 and token == "&&":
            conditions.append(path[begin:place].strip())
            begin = place + 2
    return None


def _tokens(path: str, start: int) -> Iterator[tuple[str, int]]:
    for token in _TOKEN.finditer(path, start):
        yield token[0], token.start()

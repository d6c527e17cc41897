"""The filters of a JSON Path, taken apart: which values one chooses among, and by what it reads of
them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_OPEN, _CLOSE = "([", ")]"
_STRING = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
_TOKEN = re.compile(rf"{_STRING}|&&|\|\||.", re.DOTALL)
_STEP = re.compile(r"\s*(?:\.\s*([^\W\d][\w-]*)|\[\s*(?:-?\d+|'([^'\\]*)'|\"([^\"\\]*)\")\s*\])")
_PART = re.compile(rf"[@$](?P<steps>(?:{_STEP.pattern})*)|{_STRING}|[\x00-\x7f]")
"""What a condition is made of: queries, each with its steps by name or place up to one that is
neither, such as a wildcard, a filter or a descent; texts; all else."""

_UNEQUAL = re.compile(rf"{_STRING}|(!|<|>|[a-z]\(|==\s*[@$])")
"""A text, or what else a condition has than an equality with a text or a number: a negation, an
order, a function, an equality of two queries."""


def chooses_by_equality(path: str) -> bool:
    """Whether the filters of a path ask only that values are there, or equal a text or a number:
    then nothing is chosen for what a daemon wrote in the place of a secret."""
    return "?" not in path or not any(part[1] for part in _UNEQUAL.finditer(path))


def path_without(path: str, keys: Collection[str]) -> str | None:
    """Return the path to all that a path can choose, whatever stands under ``keys``: its filter
    without the conditions that read one of them. The same path where no filter reads them; None
    where that can't be told, as of a filter that another one follows."""
    at = 0
    while (start := _find_filter(path, at)) is not None:
        if path[start - 1] != "[":
            return None
        conditions, at = _read_conditions(path, start + 1)
        dropped = [one for one in conditions if _reads_any(one, keys)]
        if not dropped:
            continue
        if _find_filter(path, at) is not None or any("$" in one for one in dropped):
            return None
        kept = [one for one in conditions if one not in dropped]
        choice = f"?{' && '.join(kept)}" if kept else "*"
        return f"{path[:start]}{choice}]"
    return path


def _find_filter(path: str, at: int) -> int | None:
    """Return the place of the next `?` outside of texts; None where there is none."""
    return next((place for token, place in _tokens(path, at) if token == "?"), None)


def _read_conditions(path: str, start: int) -> tuple[list[str], int]:
    """Return the conditions of the filter that begins at ``start``, all of which hold of what it
    chooses, and where it ends. Alternatives are one condition."""
    cuts, depth, end, is_joint = [start], 0, len(path), True
    for token, place in _tokens(path, start):
        if token == "]" and depth == 0:
            end = place
            break
        depth += (token in _OPEN) - (token in _CLOSE)
        if depth == 0 and token in ("||", ","):
            is_joint = False
        elif depth == 0 and token == "&&":
            cuts += (place, place + 2)
    cuts = [*cuts, end] if is_joint else [start, end]
    found = [path[cuts[n] : cuts[n + 1]].strip() for n in range(0, len(cuts), 2)]
    return found, end


def _tokens(path: str, start: int) -> Iterator[tuple[str, int]]:
    for token in _TOKEN.finditer(path, start):
        yield token[0], token.start()


def _reads_any(condition: str, keys: Collection[str]) -> bool:
    """Whether a condition may read what stands under one of the keys, or in it: the names that one
    of its queries begins with end there, or it has none."""
    at = 0
    while at < len(condition):
        part = _PART.match(condition, at)
        if part is None:
            return True
        if part["steps"] is not None:
            names = [one for step in _STEP.findall(part["steps"]) for one in step if one]
            if not names or names[-1] in keys:
                return True
        at = part.end()
    return False

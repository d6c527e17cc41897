"""Texts that look as if an application drew them: codes, hexadecimal digits, random letters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise

UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_GROUPS = re.compile(r"[A-Z0-9]{3,}(?:-[A-Z0-9]{3,})+")
_RUN = re.compile(r"[A-Za-z0-9_~+/=.-]{16,}")
_HEX = re.compile(r"[0-9a-f]{12,}|[0-9A-F]{12,}")
_OPEN = re.compile(rf"{UUID.pattern}|\b(?=[a-f]*\d)[0-9a-f]{{12,}}\b|\d+")
_PART = re.compile(r"[^\s/?&=#:,;()<>\[\]\"']+")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*|1[0-9]{12}")
_MAX_PARTS = 1_000


def open_text(text: str) -> str:
    """A pattern of a text: ``*`` in the place of each number, and of each UUID and long run of
    hexadecimal digits as a whole."""
    return _OPEN.sub("*", text)


def parts_of(text: str) -> Iterator[tuple[int, str]]:
    """The words of a text and the parts of addresses in it, each with its place, of a long text the
    first ones; a full stop at the end is no part of a word."""
    for found in islice(_PART.finditer(text), _MAX_PARTS):
        yield found.start(), found[0].rstrip(".")


def is_moment(text: str) -> bool:
    """Whether a text is a point in time to the minute, in ISO 8601 or in milliseconds since
    1970."""
    return _MOMENT.fullmatch(text) is not None


def looks_drawn(text: str) -> bool:
    """Whether a text looks like a UUID, a code or a random text."""
    if UUID.fullmatch(text):
        return True
    digits = sum(letter.isdigit() for letter in text)
    if _HEX.fullmatch(text) or _GROUPS.fullmatch(text):
        return digits >= 2
    return bool(_RUN.fullmatch(text)) and digits >= 3 and _is_mixed(text)


def _is_mixed(text: str) -> bool:
    """Whether letters and digits change places as often as in a text that was drawn."""
    kinds = ["d" if letter.isdigit() else "a" for letter in text if letter.isalnum()]
    changes = sum(kind != following for kind, following in pairwise(kinds))
    return changes >= 4

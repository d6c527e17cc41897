"""Texts as such: their normal form, the number that one is, and the glob. Everything here takes bounded time."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# A plain decimal number, with thousands commas or without: "1,234.50", "-3", ".5". The pattern is ours.
_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?")


def normal(text: str) -> str:
    """NFKC, white space folded and stripped."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.split())


def text_key(text: str) -> str:
    """What two texts share if they can be equal under any setting: an index key."""
    return _text_key(text) if len(text) <= 256 else normal(text).casefold()


@lru_cache(maxsize=8192)
def _text_key(text: str) -> str:
    return normal(text).casefold()


def number(text: str) -> float | None:
    """The number that the whole text is, or None: "12 lamps" is no number."""
    folded = normal(text)
    if not folded or not _NUMBER.fullmatch(folded) or not any(c.isdigit() for c in folded):
        return None
    return float(folded.replace(",", ""))


def glob(pattern: str, text: str) -> bool:
    """``*`` any run, ``?`` one character, all else itself; O(len(pattern) · len(text)) at the worst."""
    p = t = 0
    star, mark = -1, 0
    while t < len(text):
        if p < len(pattern) and pattern[p] == "*":
            star, mark = p, t
            p += 1
        elif p < len(pattern) and pattern[p] in ("?", text[t]):
            p, t = p + 1, t + 1
        elif star >= 0:
            mark += 1
            p, t = star + 1, mark
        else:
            return False
    return all(c == "*" for c in pattern[p:])

"""Texts as such: their normal form, the number that one is, and the glob. Everything here takes
bounded time."""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from functools import lru_cache

from detectors.model.caches import cache_by_size

# A plain decimal number, with thousands commas or without: "1,234.50", "-3", ".5". The pattern is
# ours.
_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?")


_TYPOGRAPHIC = str.maketrans(
    dict.fromkeys("\u2010\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | {"\u00ad": ""}
)
"""What programs write for the dashes and quotation marks of a keyboard; a soft hyphen is none."""


_OF_NUMBERS = "\0number"
"""How the index keys of numbers begin: text that an author writes does not."""
_WIDTHS = (1.0, 64.0, 4096.0, 262_144.0)
"""Numbers that are near each other are found by the place in which they are, of one of these
widths: the narrowest that is at least twice the tolerance."""
MAX_PLACED = 1e12
"""Beyond it the places of a narrow width are too many for what is rounded."""
_ROUNDED = 4 * sys.float_info.epsilon
MAX_DIGITS = 11
"""Digits of an amount up to which it is found by them: fewer than a float has, so that amounts that
`typed_base.About` takes for the same have the same."""
_DIGITS = re.compile(r"\d+")
_WITH_DIGITS = "\0digits"
"""The index key of each text that has a digit; how the keys of its digits begin."""
_MANY_DIGITS = f"{_WITH_DIGITS}:many"
_KEYED = 128
"""Characters of a text whose index keys are remembered, and whose digits are looked at."""
SHORT = 1_024
"""Characters of a text that is folded anew for each condition."""
FOLDED_BYTES = 4 << 20


def compose_text(text: str) -> str:
    """NFKC, white space folded and stripped."""
    return _fold(text, False) if len(text) <= SHORT else _folded_long(text, False)


def normal(text: str) -> str:
    """NFKC, white space folded and stripped, dashes and quotation marks as on a keyboard."""
    return _fold(text, True) if len(text) <= SHORT else _folded_long(text, True)


def _fold(text: str, as_on_keyboard: bool) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        if as_on_keyboard:
            text = text.translate(_TYPOGRAPHIC)
    return " ".join(text.split())


@cache_by_size(FOLDED_BYTES, lambda result, *_: sys.getsizeof(result))
def _folded_long(text: str, as_on_keyboard: bool) -> str:
    """Fold a long text once for all conditions that ask for it: 300 of them took 6 s of a text of
    262,144 letters that are not ASCII."""
    return _fold(text, as_on_keyboard)


def literal(text: str) -> str:
    """White space folded and stripped, and nothing else: of an address every letter counts."""
    return " ".join(text.split())


def text_key(text: str) -> str:
    """What two texts share if they can be equal under any setting: an index key."""
    return _text_key(text) if len(text) <= _KEYED else normal(text).casefold()


@lru_cache(maxsize=8192)
def _text_key(text: str) -> str:
    return normal(text).casefold()


def number(text: str) -> float | None:
    """The number that the whole text is, or None: "12 lamps" is no number."""
    folded = normal(text)
    if not folded or not _NUMBER.fullmatch(folded) or not any(c.isdigit() for c in folded):
        return None
    return float(folded.replace(",", ""))


ANY_KEY = "\0"
"""The index key of a text of which a part was kept back: whatever it has, it may be."""


def text_keys(text: str) -> tuple[str, ...]:
    """Return the index keys of a text: its `text_key`, of a number those that `keys_near_number`
    gives for numbers near it, and of what has digits those that `keys_of_amount` gives."""
    if len(text) <= _KEYED:
        return _text_keys(text)
    return (text_key(text), *_number_keys(text), _WITH_DIGITS, _MANY_DIGITS)


@lru_cache(maxsize=8192)
def _text_keys(text: str) -> tuple[str, ...]:
    folded = normal(text)
    digits = "".join(_DIGITS.findall(folded))
    if not digits:
        return (folded.casefold(), *_number_keys(folded))
    if len(digits) > MAX_DIGITS:
        return (folded.casefold(), *_number_keys(folded), _WITH_DIGITS, _MANY_DIGITS)
    return (folded.casefold(), *_number_keys(folded), _WITH_DIGITS, _digits_key(digits))


def _number_keys(text: str) -> tuple[str, ...]:
    value = number(text)
    if value is None or not math.isfinite(value):
        return ()
    places = (f"{_OF_NUMBERS}{width:g}:{math.floor(value / width)}" for width in _WIDTHS)
    return (f"{_OF_NUMBERS}={value + 0.0!r}", *places, _OF_NUMBERS)


def keys_near_number(value: float, tolerance: float) -> tuple[str, ...]:
    """Return index keys of which every text has one, by `text_keys`, that is a number at most
    ``tolerance`` from ``value``."""
    if tolerance == 0.0:
        return (f"{_OF_NUMBERS}={value + 0.0!r}",)
    width = next((width for width in _WIDTHS if 2 * tolerance <= width), None)
    if width is None or abs(value) > MAX_PLACED:
        return (_OF_NUMBERS,)
    # What is rounded is not to be left out.
    reach = tolerance + _ROUNDED * (abs(value) + tolerance)
    first, last = (math.floor((value + side * reach) / width) for side in (-1, 1))
    return tuple(f"{_OF_NUMBERS}{width:g}:{place}" for place in range(first, last + 1))


def _digits_key(digits: str) -> str:
    """Return the key of these digits, wherever the point stands among them: "1,50", "01.5" and 15
    have one, in each script."""
    plain = digits if digits.isascii() else "".join(str(int(digit)) for digit in digits)
    return f"{_WITH_DIGITS}:{plain.strip('0')}"


def keys_of_amount(value: float, tolerance: float) -> tuple[str, ...]:
    """Return index keys of which every text has one, by `text_keys`, that says an amount at most
    ``tolerance`` from ``value`` in decimal digits, whatever stands between and around them (a
    point, a comma, spaces, the name of a currency). An amount that is to be exact is found by its
    digits."""
    if tolerance > 0.0:
        return KEYS_WITH_DIGITS
    size = abs(value)
    written = f"{size:.{MAX_DIGITS}f}" if size < 1.0 else f"{size:.{MAX_DIGITS - 1}e}"
    digits = written.partition("e")[0].replace(".", "")
    return (_digits_key(digits), _MANY_DIGITS)


KEYS_WITH_DIGITS = (_WITH_DIGITS,)
"""Index keys of which every text has one, by `text_keys`, that has a digit."""


def fixed_parts(pattern: str) -> tuple[str, ...]:
    """Return what stands in every text that a `glob` matches."""
    return tuple(part for part in re.split(r"[*?]+", pattern) if part)


def glob(pattern: str, text: str) -> bool:
    """``*`` any run, ``?`` one character, all else itself; O(len(pattern) · len(text)) at the
    worst."""
    head, *parts = pattern.split("*")
    if not parts:
        return len(text) == len(head) and _stands(head, text, 0)
    tail = parts.pop()
    at, end = len(head), len(text) - len(tail)
    if at > end or not _stands(head, text, 0) or not _stands(tail, text, end):
        return False
    for part in parts:
        at = _find(part, text, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def _stands(part: str, text: str, at: int) -> bool:
    if "?" not in part:
        return text.startswith(part, at)
    return all(p in ("?", c) for p, c in zip(part, text[at : at + len(part)], strict=True))


def _find(part: str, text: str, at: int, end: int) -> int:
    if "?" not in part:
        return text.find(part, at, end)
    return next((n for n in range(at, end - len(part) + 1) if _stands(part, text, n)), -1)

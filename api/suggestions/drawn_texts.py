"""Texts that look as if an application drew them: codes, hexadecimal digits, random letters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice, pairwise

from detectors.model.json_value import JsonValue

MAY_BE_DRAWN = "may be drawn anew in each run, and then nobody meets it"
"""What is said of a value that a task asks and that looks drawn."""
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_GROUPS = re.compile(
    r"(?!(?:19|20)\d\d-(?:19|20)\d\d$)(?:[A-Z0-9]{3,}(?:-[A-Z0-9]{3,})+|[A-Z]{1,2}(?:-[0-9]{3,}){2,})"
)
_RUN = re.compile(r"[A-Za-z0-9_~+/=.-]{16,}")
_HEX = re.compile(r"[0-9a-f]{12,}|[0-9A-F]{12,}")
_OPEN = re.compile(
    rf"(?P<kept>%[0-9a-fA-F]{{2}})|{UUID.pattern}|\b(?=[a-f]*\d)[0-9a-f]{{12,}}\b|\d+"
)
_DRAWN_NAME = re.compile(r"((?:[A-Za-z]?[a-z]+[-_])*)([^.]+)((?:\.[A-Za-z0-9]{1,5})*)")
"""Words before what may be drawn, that, and the ends of a file's name."""
_PART = re.compile(r"[^\s/?&=#:,;()<>\[\]\"']+")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*|1[0-9]{12}")
_CLOCK = re.compile(
    r"1[0-9]{9}(?!000)[0-9]{3}"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,](?=\d*[1-9])\d{3,}(?:Z|[+-]\d\d:?\d\d)?"
)
_WORDS = re.compile(r"(?:[A-Z]?[a-z]{2,})+")
_BETWEEN = re.compile(r"[_~+/=.-]")
_MOMENTS = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:T|[ _-]+(?:at )?)\d\d[:.h-]?\d\d(?:[:.-]?\d\d(?:[.,]\d+)?)?"
    r"(?:Z|[+-]\d\d:?\d\d)?(?!\d)"
    r"|(?<!\d)\d{8}[T_-]\d{6}(?!\d)|\b1\d{12}\b"
    r"|\b(?:[a-z]{3,9}\.? \d{1,2},?|\d{1,2}\.? [a-z]{3,9}\.?,?) \d{4},? (?:at )?\d{1,2}:\d\d"
    r"(?: ?[ap]m\b)?"
    r"|\b\d{1,2}[./]\d{1,2}[./]\d{2,4},? \d{1,2}:\d\d(?: ?[ap]m\b)?",
    re.IGNORECASE,
)
"""Points in time to the minute within a text, as machines, names of files and people write them."""
_ESCAPE = re.compile(r"\\(?=\W)")
_ANYTHING = re.compile(r"\.[*+]\??|%(?![0-9A-Fa-f]{2})")
"""What takes anything in a pattern, also in one of SQL."""
_MAX_PARTS = 1_000
_MAX_DRAWN = 128
"""Characters of a text that may have been drawn; a longer one is a document."""


def open_text(text: str) -> str:
    """A pattern of a text: ``*`` in the place of each number, and of each UUID, long run of
    hexadecimal digits and part that looks drawn as a whole. What stands percent-encoded stays."""
    opened = _PART.sub(lambda part: _open_part(part[0]), text)
    return _OPEN.sub(lambda found: found["kept"] or "*", opened)


def _open_part(part: str) -> str:
    """A part of an address or name without what looks drawn between its words and its end."""
    found = _DRAWN_NAME.fullmatch(part)
    if found is None or not _is_short_drawn(found[2]):
        return part
    return f"{found[1]}*{found[3]}"


def parts_of(text: str) -> Iterator[tuple[int, str]]:
    """The words of a text and the parts of addresses in it, each with its place, of a long text the
    first ones; a full stop at the end is no part of a word."""
    for found in islice(_PART.finditer(text), _MAX_PARTS):
        yield found.start(), found[0].rstrip(".")


def is_moment(text: str) -> bool:
    """Whether a text is a point in time to the minute, in ISO 8601 or in milliseconds since
    1970."""
    return _MOMENT.fullmatch(text) is not None


def is_clock_reading(text: str) -> bool:
    """Whether a text is a point in time to the millisecond, which a clock says and nobody chooses:
    of a whole second it may have been chosen."""
    return _CLOCK.fullmatch(text) is not None


def looks_drawn(text: str) -> bool:
    """Whether a text looks like a UUID, a code or a random text."""
    if UUID.fullmatch(text):
        return True
    digits = sum(letter.isdigit() for letter in text)
    if _HEX.fullmatch(text) or _GROUPS.fullmatch(text):
        return digits >= 2
    is_random = bool(_RUN.fullmatch(text)) and (
        (digits >= 3 and _is_mixed(text)) or _is_shuffled(text)
    )
    return is_random and not _is_of_words(text)


def list_drawn(value: JsonValue) -> list[str]:
    """List what in the keys, texts and numbers of a condition looks drawn, or like the time of
    doing, each once."""
    texts = [_ANYTHING.sub(" ", _ESCAPE.sub("", text)) for text in list_texts(value)]
    found = [part for text in texts for _, part in parts_of(text) if _is_short_drawn(part)]
    found += [moment[0] for text in texts for moment in _MOMENTS.finditer(text)]
    return list(dict.fromkeys(found))


def _is_short_drawn(text: str) -> bool:
    return len(text) <= _MAX_DRAWN and looks_drawn(text)


def list_texts(value: JsonValue) -> Iterator[str]:
    """Yield the keys, texts and numbers in a condition."""
    if isinstance(value, str | int | float):
        yield str(value)
    elif isinstance(value, Mapping):
        yield from value
        for part in value.values():
            yield from list_texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from list_texts(part)


def _is_of_words(text: str) -> bool:
    """Whether most of a text is words with signs between them, as in a page's address."""
    words = [part for part in _BETWEEN.split(text) if _WORDS.fullmatch(part)]
    return 2 * sum(map(len, words)) > sum(map(str.isalnum, text))


def _is_mixed(text: str) -> bool:
    """Whether letters and digits change places as often as in a text that was drawn."""
    kinds = ["d" if letter.isdigit() else "a" for letter in text if letter.isalnum()]
    changes = sum(kind != following for kind, following in pairwise(kinds))
    return changes >= 4


def _is_shuffled(text: str) -> bool:
    """Whether small letters, capitals and digits change places as often as in a text that was drawn
    of all three: in 0.6 of places, in words put together seldom."""
    kinds = [
        "d" if one.isdigit() else "u" if one.isupper() else "l" for one in text if one.isalnum()
    ]
    changes = sum(kind != following for kind, following in pairwise(kinds))
    return len({*kinds}) == 3 and changes >= 0.45 * len(kinds)

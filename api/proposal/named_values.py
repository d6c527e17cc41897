"""Whether a value stands in a text as words of its own: ``art`` is no part of ``start``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote_plus

from detectors.model.json_value import JsonValue, plain_values

_SLOT = re.compile(r"\{[a-z][a-z0-9_]*\}")
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Letters of scripts whose words have no spaces between them, or endings of their own."""
_WORD = re.compile(
    rf"[{_UNSPACED}]|\d+(?:[.,:/-]\d+)*|[^\W{_UNSPACED}]+(?:[.@_-][^\W{_UNSPACED}]+)*"
)
"""One letter of such a script; a number, a date or a time; else a word, an address or a name of
parts, such as ``ada@example.org``."""


def is_slot(value: str) -> bool:
    """Return whether a value is a slot of a template, such as ``{name}``, and nothing else."""
    return _SLOT.fullmatch(value) is not None


def stands_in(value: str, text: str) -> bool:
    """Return whether all words of a value stand in a text, side by side and in their order; case
    does not matter. A value without any word, such as ``---``, is looked for as it is."""
    if is_slot(value):
        return value in text
    words = _split(value)
    if not words:
        return value.casefold() in text.casefold()
    others = _split(text)
    return any(
        others[start : start + len(words)] == words for start in range(len(others) - len(words) + 1)
    )


def stands_in_condition(value: str, condition: JsonValue) -> bool:
    """Return whether a value stands in one of the texts or numbers that a condition asks for; an
    address may have it in its encoding."""
    return any(
        stands_in(value, text) or stands_in(value, unquote_plus(text))
        for text in _list_texts(condition)
    )


def _split(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _list_texts(condition: JsonValue) -> Iterator[str]:
    """Yield the texts and numbers in a condition, without the names of its arguments."""
    for value in plain_values(condition):
        if isinstance(value, bool):
            yield str(value).lower()
        elif isinstance(value, float):
            yield f"{value:g}"
        elif value is not None:
            yield str(value)

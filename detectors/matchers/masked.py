"""What a daemon masked as a secret: a text, or a JSON value, of which nobody knows all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from detectors.matchers import third_party
from detectors.matchers.path_filters import path_without
from detectors.matchers.plain import literal, normal, number
from detectors.matchers.structure import Items, Nothing, Object
from detectors.matchers.structures import JsonPath, is_assignable
from detectors.matchers.text import TextMatch
from detectors.matchers.typed_base import json_text, number_of

MASK = "***"
"""What the daemon writes in the place of a secret."""
MASKS = ("•••", MASK)
"""What stands for a secret: put there by the page's observer, and by the daemon."""


_Keys = tuple[str, Any] | None
"""A key and, as another such pair, those around it."""


class BodyVerdict(NamedTuple):
    """Whether a body is as expected, None where that hangs on what was masked: on what the task
    asks of under the names ``masked``."""

    is_so: bool | None
    masked: tuple[str, ...] = ()


def has_mask(text: str) -> bool:
    """Return whether a secret was kept back from a text."""
    return any(mask in text for mask in MASKS)


def is_masked(value: object) -> bool:
    """Whether the daemon masked something in a JSON value."""
    return next(_masks(value), None) is not None


def hides_choice(path: str, document: object) -> bool:
    """Whether a JSON Path chooses among values by one that was masked: its filter reads it, and all
    else that the filter asks holds of a value with something masked in it."""
    if "?" not in path or not is_masked(document):
        return False
    chosen = path_without(path, {key for keys in _masks(document) for key in keys})
    if chosen is None or chosen == path:
        return chosen is None
    return any(map(is_masked, third_party.json_values(chosen, document)))


def _masks(value: object) -> Iterator[list[str]]:
    """Yield, for each masked text in a JSON value, the keys that it stands under."""
    pending: list[tuple[_Keys, object]] = [(None, value)]
    while pending:
        keys, part = pending.pop()
        if isinstance(part, str):
            if MASK in part:
                yield _list_keys(keys)
        elif isinstance(part, dict):
            pending += [((key, keys), item) for key, item in part.items()]
        elif isinstance(part, list | tuple):
            pending += [(keys, item) for item in part]


def _list_keys(keys: _Keys) -> list[str]:
    found = []
    while keys is not None:
        key, keys = keys
        found.append(key)
    return found


def any_verdict(verdicts: Collection[bool | None]) -> bool | None:
    """Whether one of them is true; None where nobody knows."""
    if True in verdicts:
        return True
    return None if None in verdicts else False


def all_verdict(verdicts: Collection[bool | None]) -> bool | None:
    """Whether each of them is true; None where nobody knows."""
    if False in verdicts:
        return False
    return None if None in verdicts else True


def judge_text(wanted: TextMatch, text: str) -> bool | None:
    """Whether a text is as wanted; None where that hangs on what was masked in it."""
    if MASK not in text or wanted.matches(text):
        return wanted.matches(text)
    if wanted.typed is not None or wanted.mode == "contains":
        return None
    if wanted.mode == "number":
        return None if number(text.replace(MASK, "1")) is not None else False
    folded = literal(text) if wanted.exact else normal(text)
    pieces = (folded.casefold() if wanted.ignore_case else folded).split(MASK)
    return None if any(_can_be(wanted, one, pieces) for one in wanted.texts) else False


def _can_be(wanted: TextMatch, expected: str, pieces: Sequence[str]) -> bool:
    """Whether a text of these pieces, with something between each two, can be as expected."""
    first, last = pieces[0], pieces[-1]
    if wanted.mode == "starts_with":
        return expected.startswith(first)
    if wanted.mode == "ends_with":
        return expected.endswith(last)
    if wanted.mode == "glob":
        marks = [place for place, letter in enumerate(expected) if letter in "*?"]
        if marks:
            head, tail = expected[: marks[0]], expected[marks[-1] + 1 :]
            return (first.startswith(head) or head.startswith(first)) and (
                last.endswith(tail) or tail.endswith(last)
            )
    return _is_made_of(expected, pieces)


def _is_made_of(text: str, pieces: Sequence[str]) -> bool:
    """Whether the pieces stand in the text in order, from its start to its end, with at least one
    letter between each two."""
    first, *inner, last = pieces
    if not text.startswith(first):
        return False
    place = len(first)
    for piece in inner:
        place = text.find(piece, place + 1)
        if place < 0:
            return False
        place += len(piece)
    return len(text) - len(last) > place and text.endswith(last)


def judge_json(wanted: TextMatch, value: object) -> bool | None:
    """The same of a list or an object; of others by their text."""
    if wanted.matches_json(value):
        return True
    if isinstance(wanted.typed, JsonPath):
        return _judge_path(wanted.typed, value)
    return None if wanted.typed is not None and is_masked(value) else False


def _judge_path(wanted: JsonPath, document: object) -> bool | None:
    found = third_party.json_values(wanted.path, document)
    hits = [
        wanted.wanted.matches(value) or (None if is_masked(value) else False) for value in found
    ]
    is_so = all_verdict(hits) if wanted.every and hits else any_verdict(hits)
    return None if is_so is not True and hides_choice(wanted.path, document) else is_so


def can_equal(expected: object, value: object) -> bool:
    """Whether a JSON value can be the expected one, but for what was masked in it."""
    if isinstance(value, str) and MASK in value:
        if isinstance(expected, str):
            return _is_made_of(expected, value.split(MASK))
        # A number that is masked becomes a text.
        return value == MASK and number_of(expected) is not None
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(
            can_equal(expected[key], part) for key, part in value.items()
        )
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(can_equal, expected, value))
    return json_text(expected) == json_text(value)


def judge_part(wanted: Any, value: object) -> bool | None:
    """Whether a JSON value is as a part of a structure wants it; None where that hangs on what was
    masked in it."""
    if not is_masked(value) or isinstance(wanted, Nothing):
        return bool(wanted.matches(value))
    if isinstance(wanted, Object) and isinstance(value, dict):
        if not (wanted.more or value.keys() <= wanted.keys.keys()):
            return False
        return all_verdict([judge_part(one, value.get(key)) for key, one in wanted.keys.items()])
    if isinstance(wanted, Items):
        return _judge_items(wanted, value)
    return True if wanted.matches(value) else None


def _judge_items(wanted: Items, value: object) -> bool | None:
    if wanted.matches(value):
        return True
    found = value if isinstance(value, list) else [value]
    if len(found) != len(wanted.items):
        return False
    if wanted.ordered:
        return all_verdict(
            [judge_part(one, item) for one, item in zip(wanted.items, found, strict=True)]
        )
    can_be = is_assignable(
        wanted.items, found, lambda one, item: judge_part(one, item) is not False
    )
    return None if can_be else False

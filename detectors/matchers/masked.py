"""A JSON value in which a daemon masked a secret: nobody knows all of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from detectors.matchers import third_party
from detectors.matchers.lenient import Lenient
from detectors.matchers.masked_text import (
    MASK,
    is_made_of,
    is_met_by_mask,
    put_for_masks,
    put_secrets,
    split_at_masks,
)
from detectors.matchers.path_filters import chooses_by_equality, path_without
from detectors.matchers.structure import Items, Nothing, Object
from detectors.matchers.structures import JsonPath, is_assignable
from detectors.matchers.text import TextMatch
from detectors.matchers.typed_base import json_text, number_of
from detectors.model.safe_json import json_or_none
from detectors.model.three_valued import all_verdict, any_verdict

MAX_MASKED_DEPTH = 64
"""Levels of a JSON value in which a daemon masks single texts."""
_Keys = tuple[str, Any] | None
"""A key and, as another such pair, those around it."""


class BodyVerdict(NamedTuple):
    """Whether a body is as expected, None where that hangs on what was masked: on what the task
    asks of under the names ``masked``."""

    is_so: bool | None
    masked: tuple[str, ...] = ()

    @classmethod
    def of_all(cls, verdicts: Iterable[tuple[str, bool | None]]) -> BodyVerdict:
        """Whether all that is asked for is so, each with its name; ends with the first that is
        not."""
        masked = []
        for name, is_so in verdicts:
            if is_so is False:
                return cls(False)
            if is_so is None:
                masked.append(name)
        return cls(None if masked else True, tuple(masked))


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


def judge_json(wanted: TextMatch, value: object) -> bool | None:
    """The same of a list or an object; of others by their text."""
    is_so = wanted.matches_json(value)
    is_met_masked = is_so and is_masked(value)
    if is_met_masked and is_met_by_mask(wanted.matches_json, partial(_put_secret, value)):
        return None
    if isinstance(wanted.typed, JsonPath):
        return _judge_path(wanted.typed, value, is_so=is_so)
    if is_so:
        return True
    return None if wanted.typed is not None and is_masked(value) else False


def _put_secret(value: object, secret: str, depth: int = 0) -> object:
    """Return a JSON value with a secret in the place of each mask; a daemon masks what lies deeper
    than `MAX_MASKED_DEPTH` as a whole."""
    if isinstance(value, str):
        return put_for_masks(value, secret)
    if depth > MAX_MASKED_DEPTH:
        return value
    if isinstance(value, dict):
        return {key: _put_secret(part, secret, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_put_secret(part, secret, depth + 1) for part in value]
    return value


def _judge_path(wanted: JsonPath, document: object, *, is_so: bool) -> bool | None:
    """Whether the document has what is wanted, which ``is_so`` as the daemon wrote it."""
    if is_so:
        is_sure = not wanted.every and chooses_by_equality(wanted.path)
        return True if is_sure or not hides_choice(wanted.path, document) else None
    found = third_party.json_values(wanted.path, document)
    hits = [
        wanted.wanted.matches(value) or (None if is_masked(value) else False) for value in found
    ]
    verdict = all_verdict(hits) if wanted.every and hits else any_verdict(hits)
    return None if hides_choice(wanted.path, document) else verdict


def can_equal(expected: object, value: object) -> bool:
    """Whether a JSON value can be the expected one, but for what was masked in it."""
    if isinstance(value, str) and MASK in value:
        if isinstance(expected, str):
            return is_made_of(expected, split_at_masks(value))
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
    if isinstance(wanted, Object) and isinstance(value, str | dict):
        return _judge_object(wanted, value)
    if isinstance(wanted, Items):
        return _judge_items(wanted, value)
    return True if wanted.matches(value) and not _is_met_by_mask(wanted, value) else None


def _judge_object(wanted: Object, value: str | dict[str, Any]) -> bool | None:
    """Whether an object, or the one that a text says as JSON, is as wanted, key by key."""
    if isinstance(value, str):
        inner = json_or_none(value)
        return judge_part(wanted, inner) if isinstance(inner, dict) else None
    if not wanted.more and value.keys() - wanted.keys.keys():
        return False
    return all_verdict(judge_part(one, value.get(key)) for key, one in wanted.keys.items())


def _is_met_by_mask(wanted: Any, value: object) -> bool:
    """Whether a value is as wanted for the mask in it, and another secret might not do: of what a
    pattern must not be, nobody knows of a secret."""
    if not isinstance(wanted, Lenient) or not isinstance(value, str):
        return False
    if any(pattern.none for pattern in wanted.patterns):
        return True
    return not wanted.names(value) and not all(map(wanted.matches, put_secrets(value)))


def _judge_items(wanted: Items, value: object) -> bool | None:
    found = value if isinstance(value, list) else [value]
    if len(found) != len(wanted.items):
        return False
    if wanted.ordered:
        return all_verdict(
            [judge_part(one, item) for one, item in zip(wanted.items, found, strict=True)]
        )
    if is_assignable(wanted.items, found, lambda one, item: judge_part(one, item) is True):
        return True
    can_be = is_assignable(
        wanted.items, found, lambda one, item: judge_part(one, item) is not False
    )
    return None if can_be else False

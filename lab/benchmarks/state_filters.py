"""Tests of a JSON Path's filter for what is in a value, without what the application makes up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from detectors.model.json_value import JsonValue
from lab.benchmarks.dates import day_of, minute_of
from lab.benchmarks.state_place import json_text, key_step
from lab.benchmarks.state_values import Context

GIVEN = ("id", "iid", "uuid", "guid")
"""Keys of what a row is given by the application."""
MAX_OTHERS = 64
"""Ids of old rows that a reference to a new row must not be. Of more, only that there is a
reference."""


class FilterTest(NamedTuple):
    """A test of a filter; empty for what is not asked. ``exact``: that the value is this one and no
    other."""

    text: str
    exact: bool


NOT_ASKED = FilterTest("", False)


def tests_of(
    context: Context, at: str, path: str, key: str, value: JsonValue
) -> Iterator[FilterTest]:
    """Give the tests of all plain values in ``value``, which stands at ``at`` of a filter, under
    ``key``; ``path``: where that is, for what is said of it at import."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _tests_of_member(context, at, path, name, part)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from tests_of(context, f"{at}[{place}]", path, key, part)
    else:
        kind = context.kind(path, key, value)
        yield test_of(context, at, kind, value)


def _tests_of_member(
    context: Context, at: str, path: str, name: str, value: JsonValue
) -> Iterator[FilterTest]:
    """`tests_of` of the member ``name`` of the object that stands at ``at``."""
    below = f"{path}.{name}"
    is_new_row = "[new]" in below
    if is_new_row and name in GIVEN and isinstance(value, str | int):
        yield NOT_ASKED  # a part of a new row has an id that it was given, too
    elif context.is_given_key(name):
        inner = tests_of(context, "@", f"{path}[new]", "", value)
        content = " && ".join(test.text for test in inner if test.text)
        yield FilterTest(f"{at}[?{content or '@'}]", False)
    else:
        yield from tests_of(context, at + key_step(name), below, name, value)


def test_of(context: Context, at: str, kind: str, value: object) -> FilterTest:
    """Give the test of one plain value of a kind (`Context.kind`) that stands at ``at``."""
    match kind:
        case "when" | "count" | "drawn" | "masked":
            return NOT_ASKED
        case "reference":
            return FilterTest(_refers_to_new(context, at, value), False)
        case "day":
            return FilterTest(_begins(at, _start_of(context, value)), False)
        case "begun":
            return FilterTest(_begins(at, context.start_of(str(value))), False)
    return FilterTest(f"{at}=={json_text(value)}", True)


def _begins(at: str, start: str) -> str:
    """That a text begins with ``start``, and goes on in ASCII."""
    return f"{at}>={json_text(start)} && {at}<{json_text(start + '~')}"


def _refers_to_new(context: Context, at: str, value: object) -> str:
    """That a reference is there, and to none of the old rows."""
    old = context.references[json_text(value)]
    tests = [at, f"{at}!=null", f'{at}!=""']
    if len(old) <= MAX_OTHERS:
        tests += [f"{at}!={json_text(id)}" for id in old]
    return " && ".join(tests)


def _start_of(context: Context, value: object) -> str:
    """What a text begins with that is on the same day, or, where that is asked, at the same
    minute."""
    if context.minute(value):
        return f"{str(value)[:11]}{minute_of(value)}"
    return str(day_of(value))

"""Matchers of other people's benchmarks: what no value of theirs may be, and what no text may do to
them."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.matchers import AddressesMatch, ContentMatch, StateMatch, StructureMatch
from detectors.matchers.lenient_kinds import KINDS
from detectors.model.errors import SpecError

WANTED: dict[str, Any] = {
    "string": "Quest Lumaflex Band", "number": 1234.5, "integer": 42, "currency": 1234.5, "boolean": True,
    "duration": "2h 30min", "distance": "12.5 km", "date": "2024-05-06", "month": "May", "coordinates": [40.5, -74.25],
    "location-name": "Carnegie Mellon University", "json": '{"a": [1, "b"]}', "string_list": "5,278",
    "url": "https://shop.example/items?id=7", "markdown": "# Title\n\n- one\n- two",
}  # fmt: skip
LONG = (
    "(" * 50_000,
    "[" * 100_000,
    "1:" * 50_000,
    "a-" * 50_000,
    "9" * 50_000,
    "# " * 50_000,
    "1h" * 50_000,
)

WRONG: list[tuple[type[Any], Any]] = [
    (StateMatch, []),
    (StateMatch, [{"path": "theme"}]),
    (StateMatch, [{"path": "$.a", "value": 1, "all": [1]}]),
    (StateMatch, [{"path": "$.a", "without": [1]}]),
    (StructureMatch, {"items": "a"}),
    (StructureMatch, {"currency": ["a lot"]}),
    (StructureMatch, {"string": []}),
    (StructureMatch, {"string": ["a"], "pattern": ["(?=a)"]}),
    (StructureMatch, {"object": {}}),
    (AddressesMatch, {"any": []}),
    (AddressesMatch, {"any": [{"address": "/list"}]}),
    (AddressesMatch, {"any": [{"pattern": "("}]}),
    (ContentMatch, [{"name": "a"}]),
    (ContentMatch, [{"json": "a..", "is": None}]),
]


@pytest.mark.parametrize(("matcher", "spec"), WRONG)
def test_a_wrong_spec_is_refused(matcher: Any, spec: Any) -> None:
    with pytest.raises(SpecError):
        matcher.parse(spec, ("x",))


def wanted(kind: str) -> StructureMatch:
    return StructureMatch.parse({kind: [WANTED[kind]]}, ("x",))


@pytest.mark.parametrize("kind", KINDS)
def test_the_value_itself_and_none_of_its_ruins(kind: str) -> None:
    """Yes to itself; no to what is empty, cut, doubled, a pattern, a list of guesses, or of another
    kind."""
    value, matcher = WANTED[kind], wanted(kind)
    assert matcher.matches(value)
    for ruin in (None, "", " ", {}, "^.*$", ".*", "%", "*", [value, "x"], {"value": value}):
        assert not matcher.matches(ruin), ruin
    if isinstance(value, str):
        assert not matcher.matches(value[: len(value) // 2])
        assert not matcher.matches(f"{value} {value}")


@given(
    st.sampled_from(sorted(KINDS)),
    st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists),
)
def test_any_value_is_answered(kind: str, value: Any) -> None:
    """Total: whatever an agent says gets yes or no, and nobody's text is a pattern."""
    assert wanted(kind).matches(value) in (True, False)


@pytest.mark.parametrize("text", LONG, ids=[text[:3] for text in LONG])
@pytest.mark.parametrize("kind", KINDS)
def test_long_texts_end(kind: str, text: str) -> None:
    """In time linear in the text, and far below what a step may take."""
    began = time.process_time()
    assert not wanted(kind).matches(text)
    assert time.process_time() - began < 1

"""A JSON Path of names alone is walked without the library, and finds what the library finds."""

from __future__ import annotations

from typing import Any

import jsonpath_rfc9535
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.matchers.third_party import json_path, json_values

NAMES = st.sampled_from(["a", "b", "_c", "D4", "length"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES | st.text(max_size=2), inner, max_size=4)
    ),
)


@given(st.lists(NAMES, max_size=4), VALUES)
def test_names_alone_find_what_the_library_finds(names: list[str], value: Any) -> None:
    path = "".join(["$", *(f".{name}" for name in names)])
    assert json_values(path, value) == list(jsonpath_rfc9535.find(path, value).values())


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", [{"a": {"b": [1, 2]}, "é": 3, "n": None}]),
        ("$.a.b", [[1, 2]]),
        ("$.n", [None]),
        ("$.a.c", []),
        ("$.a.b.length", []),
        ("$.a.b[1]", [2]),
        ("$['a'].b[*]", [1, 2]),
        ("$..b", [[1, 2]]),
        ("$.é", [3]),
        ("$.a .b", [[1, 2]]),
    ],
)
def test_found(path: str, found: list[Any]) -> None:
    assert json_values(path, {"a": {"b": [1, 2]}, "é": 3, "n": None}) == found


@pytest.mark.parametrize(
    "path", ["", "a", "$.", "$.a.", "$.4", "$.a b", "$.a\n", " $.a", "$[?match(@, 'a')]"]
)
def test_no_json_path(path: str) -> None:
    with pytest.raises(ValueError, match="RFC 9535"):
        json_path(path)

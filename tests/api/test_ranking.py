"""Places and advantages in a group: arithmetic, as tables and as properties."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.scoring.ranking import Key, RankedPlace, Scale, find_ties, normalise_advantages, rank_keys

PLACES: dict[str, tuple[list[Key | None], list[tuple[int, float] | None]]] = {
    "all differ": ([(0.2,), (0.9,), (0.5,)], [(3, 0.0), (1, 1.0), (2, 0.5)]),
    "two are equal": ([(0.5,), (0.5,), (0.1,)], [(1, 0.75), (1, 0.75), (3, 0.0)]),
    "all are equal": ([(0.0,), (0.0,)], [(1, 0.5), (1, 0.5)]),
    "a tie that a tier broke": ([(0.5, 0.9), (0.5, 0.2), (0.7,)], [(2, 0.5), (3, 0.0), (1, 1.0)]),
    "a penalty is below nothing": ([(-0.2,), (0.0,)], [(2, 0.0), (1, 1.0)]),
    "one is not known": ([(0.5,), None, (0.1,)], [(1, 1.0), None, (2, 0.0)]),
    "only one is known": ([None, (0.5,)], [None, (1, 0.5)]),
    "none is known": ([None, None], [None, None]),
}
ROOT = math.sqrt(0.5)
ADVANTAGES: dict[str, tuple[list[float | None], Scale, list[float | None]]] = {
    "two": ([1.0, 0.0], "std", [ROOT, -ROOT]),
    "the sample's deviation, as torch.std": ([0.0, 1.0, 2.0], "std", [-1.0, 0.0, 1.0]),
    "no division": ([0.0, 1.0, 2.0], "none", [-1.0, 0.0, 1.0]),
    "no division of small ones": ([0.0, 0.2], "none", [-0.1, 0.1]),
    "all are equal": ([0.3, 0.3, 0.3], "std", [0.0, 0.0, 0.0]),
    "an unknown one moves no mean": ([1.0, None, 0.0], "std", [ROOT, None, -ROOT]),
    "only one is known": ([None, 0.4], "std", [None, 0.0]),
    "none is known": ([None, None], "std", [None, None]),
}


@pytest.mark.parametrize("case", PLACES)
def test_places(case: str) -> None:
    keys, expected = PLACES[case]
    assert rank_keys(keys) == [place and RankedPlace(*place) for place in expected]


@pytest.mark.parametrize("case", ADVANTAGES)
def test_advantages(case: str) -> None:
    values, scale, expected = ADVANTAGES[case]
    found: Any = normalise_advantages(values, scale)
    assert [value is None for value in found] == [value is None for value in expected]
    for value, wanted in zip(found, expected, strict=True):
        assert wanted is None or value == pytest.approx(wanted)


def test_ties_come_best_first() -> None:
    keys: list[Key | None] = [(0.1,), (0.9,), None, (0.1,), (0.9,), (0.5,), None]
    assert find_ties(keys) == [[1, 4], [0, 3]]


@given(st.lists(st.none() | st.floats(-1, 1).map(lambda value: (round(value, 2),)), max_size=12))
def test_a_better_key_has_a_better_place(keys: list[Key | None]) -> None:
    places = rank_keys(keys)
    for key, place in zip(keys, places, strict=True):
        assert (key is None) == (place is None)
        for other, beside in zip(keys, places, strict=True):
            if key is not None and other is not None and place and beside:
                assert (key > other) == (place.rank < beside.rank)
                assert (key > other) == (place.score > beside.score)


@given(st.lists(st.none() | st.floats(-100, 100), min_size=1, max_size=12))
def test_advantages_sum_to_nothing(values: list[float | None]) -> None:
    found = normalise_advantages(values, "std")
    known = [value for value in found if value is not None]
    assert math.fsum(known) == pytest.approx(0.0, abs=1e-6)
    assert len(known) == sum(value is not None for value in values)

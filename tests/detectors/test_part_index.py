"""The index of conditions on a part of a text leaves out none that an event may hit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import workload
from detectors.engine.engine import Engine
from detectors.matchers import TextMatch, UrlMatch, text_key
from detectors.matchers.url import MAX_URL, url_key
from detectors.model.codec import decode_segment
from detectors.model.errors import SpecError
from detectors.task import ruleset
from detectors.task.part_index import PartIndex

ORIGIN = "http://shop.test"
LETTERS = st.text(
    st.sampled_from("aeA lßſİıΣςσ\u0301\u00ad\u2013-ﬁｆ１1'\u2019*?./\u3000\n"), max_size=8
)
MODES = ("contains", "starts_with", "ends_with", "glob")

LEAVES = {0: ("lamp",), 1: ("/orders/", "/done"), 2: ("lamps",), 3: ("amp",)}
FOUND: dict[str, tuple[list[str], list[int]]] = {
    "a text that has it": (["a desk lamp"], [0, 3]),
    "a longer one": (["lamps"], [0, 2, 3]),
    "another text": (["a chair"], []),
    "one that is shorter than all parts": (["la"], []),
    "all parts in one key": (["/orders/7/done"], [1]),
    "its parts in two keys": (["/orders/7", "/x/done"], []),
    "the second of two keys": (["a chair", "lamp"], [0, 3]),
    "no key": ([], []),
    "a key of which nothing is known": (["a chair", ""], [0, 1, 2, 3]),
}


@pytest.mark.parametrize(("keys", "expected"), FOUND.values(), ids=FOUND)
def test_an_event_finds_the_conditions_whose_parts_one_of_its_keys_has(
    keys: list[str], expected: list[int]
) -> None:
    assert PartIndex(LEAVES).leaves(keys) == expected


PARTS: dict[str, tuple[object, tuple[str, ...] | None]] = {
    "contains": ({"contains": "Desk  Lamp"}, ("desk lamp",)),
    "starts with": ({"starts_with": "Lamp"}, ("lamp",)),
    "ends with": ({"ends_with": "Lamp"}, ("lamp",)),
    "a glob": ({"glob": "Order *, paid in ??"}, ("order ", ", paid in ")),
    "without case": ({"contains": "STRASSE", "ignore_case": True}, ("strasse",)),
    "a whole text, which has keys": ("Lamp", None),
    "a number": ({"number": 7}, None),
    "a typed form": ({"money": 7}, None),
    "an address, of which other letters count": ({"contains": "http://shop.test/ﬁ"}, None),
}


@pytest.mark.parametrize(("spec", "expected"), PARTS.values(), ids=PARTS)
def test_what_stands_in_each_text_that_matches(
    spec: object, expected: tuple[str, ...] | None
) -> None:
    assert TextMatch.parse(spec, ()).parts() == expected


@given(
    mode=st.sampled_from(MODES), wanted=LETTERS, before=LETTERS, after=LETTERS, case=st.booleans()
)
def test_a_text_that_matches_has_all_parts(
    mode: str, wanted: str, before: str, after: str, case: bool
) -> None:
    try:
        matcher = TextMatch.parse({mode: wanted, "ignore_case": case}, ())
    except SpecError:
        return  # an empty text
    parts = matcher.parts()
    for text in (before + wanted + after, wanted, before + wanted.upper() + after):
        if parts is not None and matcher.matches(text):
            assert all(part in text_key(text) for part in parts)


@given(
    path=st.text(st.sampled_from("ab/*?%é"), max_size=6),
    middle=st.text(st.sampled_from("ab/é"), max_size=4),
    rest=st.sampled_from(["", "/", "?q=1", "#f", f"?q={'x' * MAX_URL}", f"/{'x' * MAX_URL}"]),
)
def test_an_address_that_may_match_has_all_parts(path: str, middle: str, rest: str) -> None:
    matcher = UrlMatch.parse(f"/*a{path}*{path}", (), ORIGIN)
    parts = matcher.parts()
    assert parts is not None, "there is a star before any query"
    for url in (f"{ORIGIN}/a{path}{middle}{path}{rest}", f"{ORIGIN}/a{middle}{rest}"):
        key = url_key(url)
        if matcher.judge(url) is not False:
            assert key == "" or all(part in key for part in parts)


@pytest.mark.parametrize("milestones", [4, 40, 400])
def test_the_rewards_are_those_without_the_index(
    milestones: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments = workload.segments(workload.events(4_000))
    with_index = _rewards(workload.parted_task(milestones), segments)
    monkeypatch.setattr(ruleset, "MIN_LEAVES", 10_000)
    assert _rewards(workload.parted_task(milestones), segments) == with_index
    assert with_index or milestones == 4


def _rewards(rules: ruleset.Ruleset, texts: list[bytes]) -> list[Any]:
    engine = Engine(rules, "ep_index")
    found: list[Any] = []
    for text in texts:
        result = engine.feed(decode_segment(text).events)
        found += [*result.milestones, *result.rewards]
    return found

"""Matchers of addresses and bodies against whatever a page can make up: they always answer, and
only what was asked for is taken."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote, urlencode

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.matchers import AddressesMatch, BodyMatch, ContentMatch, UrlMatch
from detectors.matchers.structure import part
from detectors.matchers.url import MAX_URL
from tests.support.logs import ORIGIN

PLACE = {"address": f"{ORIGIN}/a", "query": {"q": {"string": ["x"]}}}
EXACT = UrlMatch.parse({"path": "/a?q=x", "ignore": ["utm_*"]}, ("url",), ORIGIN)
NAMED = UrlMatch.parse({"path": "/a", "query": {"q": "x"}}, ("url",), ORIGIN)
ADDRESSES = AddressesMatch.parse({"any": [PLACE], "ignore": ["utm_.*"]}, ("url",))
ENCODED = AddressesMatch.parse({"any": [PLACE], "ignore": ["utm_.*"], "encoded": True}, ("url",))
URLS: dict[str, Any] = {"exact": EXACT, "named": NAMED, "addresses": ADDRESSES, "encoded": ENCODED}
BODY = BodyMatch.parse({"q": "x", "items.0.id": "7"}, ("body",))
FORM = BodyMatch.parse({"q": "x"}, ("body",))
CONTENT = ContentMatch.parse(
    [{"name": "q", "is": {"string": ["x"]}}, {"json": "$.n", "is": None}], ("body",)
)
BODIES: dict[str, Any] = {"body": BODY, "form": FORM, "content": CONTENT}

PARTS = [*"ax/?&=;#%@:[].\\*^$(){}\"'+ \n\0é", "%00", "%ff", "../", "&" * 300]
HOSTILE = st.lists(st.sampled_from(PARTS), max_size=30).map("".join)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(
    lambda name: name not in ("q", "n")
)
VALUES = st.text(st.characters(codec="utf-8"), max_size=12)
MIMES = st.sampled_from(
    ["", "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
MADE_UP = ("^.*$", ".*", "*", "x*", "[x]", "(a+)+$", "xx", "", "х")
"""Values that are not the wanted one, in patterns of several kinds; the last is a letter of another script."""


@pytest.mark.parametrize("name", URLS)
@given(
    rest=HOSTILE, front=st.sampled_from(["", ORIGIN, f"{ORIGIN}/a?", f"{ORIGIN}/a?q=x", "http://["])
)
def test_any_text_is_an_address_or_is_none(name: str, front: str, rest: str) -> None:
    """An answer, the same one again, and soon."""
    began = time.perf_counter()
    found = URLS[name].matches(front + rest)
    assert isinstance(found, bool)
    assert URLS[name].matches(front + rest) is found
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize("name", URLS)
@given(rest=HOSTILE)
def test_another_host_is_another_place(name: str, rest: str) -> None:
    """Whatever stands behind it, or before it as a user's name."""
    for host in (
        "http://shop.test.evil",
        "http://evil.test",
        "http://shop.test@evil.test",
        "https://shop.test",
    ):
        assert not URLS[name].matches(f"{host}/a?q=x&{rest}"), host


@pytest.mark.parametrize("name", URLS)
@given(pairs=st.lists(st.tuples(NAMES, VALUES), max_size=4))
def test_what_is_ignored_does_not_count_and_what_is_named_does(
    name: str, pairs: list[tuple[str, str]]
) -> None:
    """In any order; a value that is not the wanted one is refused, a pattern too."""
    tracked = urlencode([(f"utm_{key}", value) for key, value in pairs if "\n" not in key])
    assert URLS[name].matches(f"{ORIGIN}/a?{tracked}&q=x")
    assert URLS[name].matches(f"{ORIGIN}/a?q=x&{tracked}")
    for value in MADE_UP:
        assert not URLS[name].matches(f"{ORIGIN}/a?q={quote(value)}&{tracked}"), value


@given(pairs=st.lists(st.tuples(NAMES, VALUES.filter(bool)), min_size=1, max_size=4))
def test_what_is_neither_named_nor_ignored_must_be_missing(pairs: list[tuple[str, str]]) -> None:
    """Where the whole query is said; a query by names takes more beside them."""
    more = [(f"x{key}", value) for key, value in pairs if value.strip()]
    url = f"{ORIGIN}/a?" + urlencode([("q", "x"), *more])
    assert EXACT.matches(url) is ADDRESSES.matches(url) is (not more)
    assert NAMED.matches(url)


def test_an_address_without_end_is_none() -> None:
    """By its length alone; a thousand empty parameters are an address, or none, and no error."""
    for matcher in URLS.values():
        assert not matcher.matches(f"{ORIGIN}/a?q=x&utm_=" + "x" * MAX_URL)
        assert isinstance(matcher.matches(f"{ORIGIN}/a?q=x" + "&" * 1001), bool)
        assert isinstance(matcher.matches(f"{ORIGIN}/a?q=x" + "&a=" * 1001), bool)


@pytest.mark.parametrize("name", BODIES)
@given(
    text=HOSTILE,
    mime=MIMES,
    front=st.sampled_from(["", "{", "[", '{"q":', "q=x&", '--x\r\nname="q"\r\n\r\n']),
)
def test_any_text_is_a_body_or_is_none(name: str, front: str, text: str, mime: str) -> None:
    """Whatever it says that it is; a cut one fulfils nothing."""
    assert isinstance(BODIES[name].matches({"text": front + text, "mime": mime}), bool)
    assert not BODIES[name].matches({"text": front + text, "mime": mime, "cut": True})
    assert not BODIES[name].matches(front + text)


LEAVES = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | VALUES
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
)


@given(more=st.dictionaries(NAMES.filter(lambda name: name != "items"), TREES, max_size=4))
def test_a_body_may_say_more_and_not_otherwise(more: dict[str, Any]) -> None:
    """As JSON and as a form: further fields do not count, a wanted one with another value does."""
    json = {"mime": "application/json"}
    right = {**more, "q": "x", "items": [{"id": 7}]}
    assert BODY.matches({**json, "text": orjson.dumps(right).decode()})
    assert CONTENT.matches({**json, "text": orjson.dumps(right).decode()})
    assert not CONTENT.matches({**json, "text": orjson.dumps({**right, "n": 1}).decode()})
    for value in (*MADE_UP, {"q": "x"}, None, 0):
        text = orjson.dumps({**right, "q": value}).decode()
        assert not BODY.matches({**json, "text": text}), value
        assert not CONTENT.matches({**json, "text": text}), value
    fields = [
        (name, str(value)) for name, value in more.items() if not isinstance(value, dict | list)
    ]
    for matcher in (FORM, CONTENT):
        assert matcher.matches(
            {"text": urlencode([*fields, ("q", "x")]), "mime": "application/x-www-form-urlencoded"}
        )
        for made_up in MADE_UP:
            text = urlencode([*fields, ("q", made_up)])
            assert not matcher.matches(
                {"text": text, "mime": "application/x-www-form-urlencoded"}
            ), made_up


MARKS = "a" + "\u0301" * 8_000
COSTLY: dict[str, tuple[Any, Any]] = {
    "items in any order": ({"items": [{"string": [f"{n}"]} for n in range(60)]}, [MARKS] * 60),
    "items that are all there": ({"items": [{"string": [MARKS]}] * 60}, [MARKS] * 60),
    "dates in any order": (
        {"items": [{"date": ["2024-01-01"]}] * 60},
        [f"{n % 28 + 1} May 2024 {'x' * 200}" for n in range(60)],
    ),
}


@pytest.mark.parametrize("name", COSTLY)
def test_a_list_in_any_order_reads_each_text_once(name: str) -> None:
    """60 wanted times 60 found are not 3,600 readings of half a megabyte."""
    spec, found = COSTLY[name]
    matcher = part(spec, ("value",))
    began = time.process_time()
    assert matcher.matches(found) is (name == "items that are all there")
    assert time.process_time() - began < 5

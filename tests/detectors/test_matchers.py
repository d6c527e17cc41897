"""Every content matcher against what is close but wrong."""

from __future__ import annotations

import re
import string
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from detectors.matchers import (
    FactsMatch,
    IntRange,
    StateMatch,
    StructureMatch,
    TextMatch,
    UrlMatch,
    normal,
    url_matches,
)
from detectors.matchers.plain import glob, number
from detectors.matchers.url import MAX_URL, parse_url, url_key
from detectors.model.errors import SpecError

words = st.text(st.characters(codec="utf-8"), max_size=40)
plain = st.text(string.ascii_letters + " ", min_size=2, max_size=30).filter(
    lambda t: len(normal(t)) > 1
)
HOMOGLYPHS = str.maketrans("aeopcx", "\u0430\u0435\u043e\u0440\u0441\u0445")


def parse(spec: object) -> TextMatch:
    return TextMatch.parse(spec, ("text",))


@given(plain, words)
def test_equality_knows_no_pattern(wanted: str, said: str) -> None:
    """Equal after normalisation or not at all, whatever the text is made of."""
    assert parse(wanted).matches(said) is (normal(said) == normal(wanted))


@given(plain)
def test_close_is_not_equal(wanted: str) -> None:
    """Empty, cut, longer, reversed, look-alike letters."""
    matcher, folded = parse(wanted), normal(wanted)
    assert matcher.matches(f"\u2003{wanted}\n")
    for wrong in (
        "",
        folded[:-1],
        folded + "!",
        f"{folded} {folded}",
        folded.translate(HOMOGLYPHS),
        folded[::-1],
    ):
        assume(normal(wrong) != folded)
        assert not matcher.matches(wrong)


@given(plain, words)
def test_relaxations_are_what_they_say(wanted: str, said: str) -> None:
    """contains, starts_with, ends_with and one_of against Python's own."""
    want, text = normal(wanted), normal(said + wanted if len(said) % 2 else said)
    assert parse({"contains": wanted}).matches(text) is (want in text)
    assert parse({"starts_with": wanted}).matches(text) is text.startswith(want)
    assert parse({"ends_with": wanted}).matches(text) is text.endswith(want)
    assert parse({"one_of": [wanted, "z"]}).matches(text) is (text in (want, "z"))
    assert parse({"equals": wanted, "ignore_case": True}).matches(text) is (
        text.casefold() == want.casefold()
    )


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=12))
def test_glob_is_the_textbook_one(pattern: str, text: str) -> None:
    """Against the recursive definition."""

    def slow(p: str, t: str) -> bool:
        if not p:
            return not t
        if p[0] == "*":
            return slow(p[1:], t) or (bool(t) and slow(p, t[1:]))
        return bool(t) and p[0] in ("?", t[0]) and slow(p[1:], t[1:])

    assert glob(pattern, text) is slow(pattern, text)


@given(st.floats(-1e9, 1e9), st.floats(0, 10))
def test_numbers_within_their_tolerance(value: float, tolerance: float) -> None:
    """The text is the number, whole; near counts as far as declared."""
    matcher = parse({"number": value, "tolerance": tolerance})
    assert matcher.matches(f"{value + tolerance / 2:.12f}") or tolerance < 1e-6
    assert not matcher.matches(f"{value + tolerance + 1:.12f}")
    assert not matcher.matches(f"about {value:f}")


def test_what_is_no_number() -> None:
    """Infinity, hex, exponents and commas in odd places are not."""
    for text in ("", "-", ".", "nan", "inf", "0x10", "1e5", "1,2", "1 000", "１２a"):
        assert number(text) is None, text
    assert [number(t) for t in ("-3", "+.5", "1,234,567.8", "１２")] == [-3.0, 0.5, 1234567.8, 12.0]


@given(
    st.from_regex(r"(/[a-z0-9]{1,5}){1,3}", fullmatch=True),
    st.sampled_from([".evil.test", ":81", "@evil.test"]),
)
def test_another_host_is_another_address(path: str, suffix: str) -> None:
    """The right path on a longer host name, another port, or behind a user name."""
    matcher = UrlMatch.parse(path, ("url",), "https://shop.test")
    assert matcher.matches(f"https://shop.test{path}?x=1#y")
    for wrong in (
        f"https://shop.test{suffix}{path}",
        f"http://shop.test{path}",
        f"https://shop.co{path}",
        path,
        "",
    ):
        assert not matcher.matches(wrong)


@given(words)
def test_any_text_is_an_address_or_none(text: str) -> None:
    """Nothing that a page can put into a URL raises."""
    parse_url(text)
    assert not url_matches("/a", text, "https://shop.test") or "shop.test" in text


PLACES = [
    UrlMatch.parse(spec, ("url",), None)
    for place in (
        "http://a.test",
        "https://a.test:80",
        "http://a.test/a",
        "https://a.test/b/a",
        "http://a b/a",
    )
    for spec in (place, {"path": place, "hosts": ["ws://a.test", "https://[::1]"]})
]


@given(
    st.sampled_from(["", "http", "https", "HTTP", "file", "ws"]),
    st.sampled_from(
        [
            "",
            "a.test",
            "A.test",
            "a.test:80",
            "a.test:99999",
            "a.test:x",
            "u:p@a.test",
            "[::1]",
            "ä.test",
            "a b",
        ]
    ),
    st.text("ab/%2F?#;&=+. \t\n\\[]@:é\x00", max_size=12),
    st.sampled_from(["", "/" + "a" * MAX_URL]),
)
def test_an_address_is_told_by_origin_and_path(
    scheme: str, host: str, rest: str, long: str
) -> None:
    """However they were found: the short way for plain addresses says what the whole parser
    says."""
    for text in (f"{scheme}://{host}/{rest}{long}", f"{scheme}://{host}{rest}", rest):
        url = parse_url(text)
        assert url_key(text) == ("" if url is None else url.path)
        for one in PLACES:
            assert one.matches(text) == (
                url is not None and url.origin in (*one.hosts, one.origin) and url.path == one.path
            )


KEYS = [
    (IntRange, {"min": "a"}, "n.min: got 'a', wanted a whole number"),
    (IntRange, {"least": 1}, "n: got {'least': 1}, wanted a whole number, or {min?, max?}"),
    (FactsMatch, {"a": {"min": "b"}}, "n.a.min: got 'b', wanted a number"),
    (UrlMatch, {"path": "/a", "query": 1}, "n.query: got 1, wanted an object of parameter names"),
    (UrlMatch, {"path": "/a", "query": {"q": {}}}, "n.query.q: got {}, wanted a text, or one of"),
    (UrlMatch, {"path": "/a", "hosts": [1]}, "n.hosts: got [1], wanted a list of texts"),
    (StateMatch, [{"path": "$.a", "without": [1]}], "n[0].without: got [1], wanted a list of keys"),
    (StateMatch, [{"path": "$["}], "n[0].path: got '$['"),
    (StructureMatch, {"object": {}, "more": 1}, "n.object: got {}, wanted an object of keys"),
    (StructureMatch, {"items": [], "ordered": 1}, "n.ordered: got 1, wanted true or false"),
    (StructureMatch, {"items": [], "more": 1}, "n: got {'items': [], 'more': 1}, wanted {items"),
    (TextMatch, {"number": 1, "tolerance": -1}, "n.tolerance: got -1, wanted a number from 0"),
]


@pytest.mark.parametrize(("form", "spec", "message"), KEYS)
def test_a_message_names_the_key_that_is_wrong(form: Any, spec: Any, message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        form.parse(spec, ("n",), "https://shop.example")

"""Every typed form: what means the same, what is close but wrong, and that nothing from outside is
a pattern."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.matchers import TextMatch, ValueMatch, normal
from detectors.matchers.structures import is_assignable
from detectors.matchers.typed import TYPES
from detectors.model.errors import SpecError
from tests.support.examples import examples

HOMOGLYPHS = str.maketrans(
    "aeopcxyAEOPCX5:",
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0410\u0415\u041e\u0420\u0421\u0425\u01bd\u02d0",
)

# form: [(spec, texts that mean it, texts that do not)]
TABLE: dict[str, list[tuple[dict[str, Any], list[str], list[str]]]] = {
    "integer": [
        ({"integer": 1234}, ["1234", "1,234", " 1234 ", "+1234", "１２３４"], ["1234.0", "12,34", "1234 lamps", "0x4d2", "1235", "-1234"]),
        ({"integer": 10_000_000_000_000}, ["10000000000000"], ["10000000000005", "1e13"]),
        ({"integer": 9_007_199_254_740_993}, ["9,007,199,254,740,993"], ["9007199254740992"]),
    ],
    "percentage": [
        ({"percentage": 12.5}, ["12.5%", "12.5 %", "12.5 percent", "12.5"], ["0.125", "12.5 %%", "%12.5", "12.6%", "12.5% off"]),
        ({"percentage": 7}, ["7 per cent"], ["7 percent %"]),
        ({"percentage": 12, "tolerance": 0.5}, ["12.4%", "11.5"], ["12.6%"]),
    ],
    "money": [
        ({"money": 1234.5, "currency": "USD"}, ["$1,234.50", "1,234.50 USD", "US dollars 1234.5", "1234.5 US dollars"],
         ["€1,234.50", "1,234.50", "$1.234,50", "$1,234.50 or so", "$12,34.50", "$$1,234.50", "$1,234.50 $", "-$1,234.50", "CA$1,234.50"]),
        ({"money": 1234.5, "currency": "EUR", "locale": "de"}, ["1.234,50 €", "1234,5 EUR", "€ 1234,5"], ["1,234.50 €", "1.234,50 $", "1.234,50"]),
        ({"money": 1000, "currency": "USD"}, ["$1000", "$1,000"], ["$1e3", "$1E3", "$1_000", "1e3 $"]),
        ({"money": -3}, ["-3", "-3.00"], ["3", "$3", "--3", "-3 USD"]),
        ({"money": 10, "tolerance": 0.5}, ["10.49"], ["10.51"]),
    ],
    "duration": [
        ({"duration": "1 h 30 min"}, ["90 minutes", "1.5 hours", "1:30:00", "PT1H30M", "1h30m", "1 hour, 30 minutes", "5400 s"],
         ["1:30", "90", "1 h 30", "1 h 1 h 30 min", "1 h 30 min late", "30 min 1 day", "-90 minutes", "2 h -30 min", "1 h +30 min", "P", "PT"][1:]),
        ({"duration": "-90 min"}, ["-1 h 30 min", "-90 minutes"], ["- -90 min", "1 h 30 min", "-1 h -30 min", "--90 min"]),
        ({"duration": 60, "tolerance": 5}, ["1:01", "64 sec"][1:], ["66 s", "60"]),
    ],
    "distance": [
        ({"distance": "5 km"}, ["5000 m", "5 kilometers", "5.0 km", "5,000 metres"], ["5", "5 mi", "5 km 5 km", "5 kg", "km 5", "about 5 km", "5 km away"]),
        ({"distance": 1609, "tolerance": 1}, ["1 mile", "1.609 km", "5280 ft"], ["1 nmi", "1600 m"]),
    ],
    "date": [
        ({"date": "2024-05-06"}, ["May 6, 2024", "6 May 2024", "05/06/2024", "2024/05/06", "Monday, May 6, 2024", "5/6/24", "2024-05-06T10:00:00"],
         ["May 2024", "May 6", "6", "2024", "06/05/2024", "May 6, 2025", "Tuesday or so, May 6, 2024", "today", "2024-05-06 2024-05-07", "2024-13-06"]),
        ({"date": "2024-05-06"}, ["Mon, May 6, 2024", "May 6th, 2024"],
         ["Tuesday May 6, 2024", "Fri Sat 2024-05-06", "May 6, 2024 10:00 WRONG", "2024-05-06 at on", "-2024-05-06", "2024-05-06 -"]),
        ({"date": "2024-05-06", "day_first": True}, ["06/05/2024", "2024-05-06", "6.5.2024"], ["05/06/2024", "13/13/2024"]),
    ],
    "time": [
        ({"time": "14:30"}, ["14:30", "2:30 PM", "2:30pm", "14:30:00", "02:30 p.m."], ["2:30", "14", "14:30 or so", "24:30", "14:60", "14:31", "14:30 PM", "0:30 PM"]),
        ({"time": "23:59", "tolerance": 120}, ["0:00", "12 AM", "12:01 am"], ["12:02 am"]),
    ],
    "coordinates": [
        ({"coordinates": [48.8566, 2.3522]}, ["48.8566, 2.3522", "(48.8566, 2.3522)", "48.85661 2.35222", "48°51'23.8\"N 2°21'7.9\"E", "48.8566°N, 2.3522°E"],
         ["2.3522, 48.8566", "48.8566", "48.8566, -2.3522", "48.8566, 2.3522, 3", "148.8, 2.3", "48°51'24\"S 2°21'8\"E", "48.8566°N, 2.3522°N", "in Paris: 48.8566, 2.3522"]),
        ({"coordinates": [0, 180], "tolerance": 0.01}, ["0, -179.995", "0 179.999"], ["0, -179.98"]),
    ],
    "address": [
        ({"address": "5000 Forbes Avenue, Pittsburgh, PA 15213"}, ["5000 Forbes Ave. Pittsburgh PA 15213", "5000 FORBES AVE, PITTSBURGH PA, 15213"],
         ["5000 Forbes Ave", "500 Forbes Avenue, Pittsburgh, PA 15213", "Pittsburgh, PA 15213, 5000 Forbes Avenue", "5000 Forbes Street, Pittsburgh, PA 15213"]),
    ],
    "boolean": [({"boolean": True}, ["Yes", "true", "on", "1"], ["no", "2", "yes and no", "yess"]), ({"boolean": False}, ["No", "off"], ["", "yes"])],
    "url": [
        ({"url": "https://shop.test/items?a=1&b=2"}, ["https://shop.test/items?b=2&a=1", "https://SHOP.test:443/items/?a=1&b=2"],
         ["http://shop.test/items?a=1&b=2", "https://shop.test/items?a=1", "https://shop.test/items?a=1&b=2&b=2", "https://shop.test.evil/items?a=1&b=2", "https://shop.co/items?a=1&b=2"]),
        ({"url": "https://shop.test/cart"}, ["https://shop.test/cart"],
         ["https://evil.test\\\\@shop.test/cart", "https://user@shop.test/cart", "https://shop.te\nst/cart"]),
        ({"url": {"path": "/items?a=1", "origin": "https://shop.test", "hosts": ["http://localhost:8000"], "ignore": ["utm_*"]}},
         ["http://localhost:8000/items?a=1&utm_source=x", "https://shop.test/items?utm_a=1&a=1"], ["http://localhost:8001/items?a=1", "https://shop.test/items?a=1&utn=1"]),
    ],
    "path": [
        ({"path": "out/**/*.csv"}, ["out/a.csv", "out/x/y/a.csv"], ["a.csv", "out/a.CSV", "out/a.csv/b", "x/out/a.csv", "out/a.csv.exe", "outx/a.csv"]),
        ({"path": "a?.txt"}, ["ab.txt"], ["a/.txt", "abc.txt", "a.txt"]),
    ],
    "regex": [({"regex": "[A-Z]{2}-\\d+"}, ["QX-77"], ["qx-77", "QX-", "a QX-77", "QX-77 b"]), ({"regex": "ok|fine", "ignore_case": True}, ["OK", "Fine"], ["okay", ".*"])],
    "fuzzy": [
        ({"fuzzy": "Quest Lumaflex Band", "threshold": 0.9}, ["Quest Lumaflex Band", "quest lumaflex  band", "Quest Lumaflex Bands"],
         ["Quest", "Lumaflex Band Quest", "Quest Lumaflex Band and every other product of the shop", "^.*$"]),
    ],
    "any_of": [({"any_of": [{"date": "2024-05-06"}, "unknown"]}, ["May 6, 2024", "unknown"], ["May 7, 2024", "unknown date"])],
    "all_of": [
        ({"all_of": [{"starts_with": "a red"}, {"ends_with": "lamp"}, {"regex": "[^ ]+ [^ ]+ [^ ]+"}]}, ["a red lamp"],
         ["a red desk", "a blue lamp", "a red desk lamp"]),
    ],
    "list": [
        ({"list": ["b", "a", "a"]}, ["a, b, a", '["a","a","b"]', "a\nb\na"], ["a, b", "a, b, b", "a, a, b, c", '["a","a","b",""]', "a a b"]),
        ({"list": ["a", {"integer": 2}], "ordered": True}, ["a,2", '["a", 2]'], ["2,a", "a", '["a", [2]]']),
        ({"list": ["a,b", "c"], "separator": ";"}, ["c; a,b"], ["c, a,b"]),
    ],
    "table": [
        ({"table": [["Lamp", {"money": 12.5}], ["Desk", {"money": 80}]]}, ["Lamp,12.50\nDesk,80", '[["Lamp", 12.5], ["Desk", "80.00"]]'],
         ["Desk,80\nLamp,12.50", "Lamp,12.50", "Lamp,12.50\nDesk,80\nDesk,80", "Lamp,12.50,\nDesk,80", '{"Lamp": 12.5}']),
        ({"table": [["a", "b,c"]], "ordered": False, "header": True}, ['x,y\na,"b,c"'], ['a,"b,c"']),
    ],
    "json": [
        ({"json": "$.items[*].id", "value": 7}, ['{"items": [{"id": 3}, {"id": 7}]}'], ['{"items": [{"id": "7"}]}', '{"items": {"x": 7}}', "7", "{", '{"id": 7}']),
        ({"json": "$.items[*].id", "value": {"min": 3}, "every": True}, ['{"items": [{"id": 3}, {"id": 7}]}'], ['{"items": [{"id": 2}, {"id": 7}]}', '{"items": []}']),
    ],
}  # fmt: skip
CASES = [
    pytest.param(*case, id=f"{form}-{n}")
    for form, cases in TABLE.items()
    for n, case in enumerate(cases)
]
PATTERNS = [
    "^.*$",
    ".*",
    "(a+)+$",
    "*",
    "**",
    "?",
    "%",
    "",
    " ",
    "\x00",
    "a" * 30_000,
    "[" * 5_000,
    "1" * 5_000,
]


def parse(spec: Any) -> TextMatch:
    return TextMatch.parse(spec, ("text",))


def test_every_form_has_its_table() -> None:
    """No typed form without a yes and a no."""
    assert set(TABLE) == set(TYPES)


@pytest.mark.parametrize(("spec", "yes", "no"), CASES)
def test_what_means_the_same_and_what_does_not(
    spec: dict[str, Any], yes: list[str], no: list[str]
) -> None:
    """Whole texts, as people write them."""
    matcher = parse(spec)
    assert [text for text in yes if not matcher.matches(text)] == []
    assert [text for text in no if matcher.matches(text)] == []


@pytest.mark.parametrize(("spec", "yes", "no"), CASES)
def test_patterns_and_nonsense_match_nothing(
    spec: dict[str, Any], yes: list[str], no: list[str]
) -> None:
    """Immunity 1: what the agent says is never compiled, and takes bounded time."""
    matcher = parse(spec)
    assert [text for text in PATTERNS if matcher.matches(text)] == []


SLACK = {"fuzzy", "any_of", "boolean", "time", "duration", "distance", "list"}
"""Forms in which half of a text, or the text backwards, may mean the same by itself."""
DECLARED = {"fuzzy-0", "url-1", "path-0", "table-1"}
"""Cases that take more text by their author's word: a threshold, a parameter that does not count, a *, a header."""


@pytest.mark.parametrize(("spec", "yes", "no"), CASES)
def test_what_is_close_is_not_it(spec: dict[str, Any], yes: list[str], no: list[str]) -> None:
    """Immunity 10: empty, extra content, doubled, reversed, look-alike letters; truncated where a
    part means nothing."""
    matcher, text = parse(spec), yes[0]
    longer = (f"{text} and more", f"see {text}", f"{text} {text}")
    declared = any(spec is case.values[0] for case in CASES if case.id in DECLARED)
    for wrong in ("", text.translate(HOMOGLYPHS), *(() if declared else longer)):
        if normal(wrong) != normal(text):
            assert not matcher.matches(wrong), wrong
    if not declared and not set(spec) & SLACK and "tolerance" not in spec:
        assert not matcher.matches(text[: len(text) // 2])
        assert text[::-1] == text or not matcher.matches(text[::-1])


@settings(max_examples=examples(150))
@given(
    st.sampled_from([case.values[0] for case in CASES]),
    st.text(max_size=60) | st.sampled_from(PATTERNS),
)
def test_no_text_makes_a_form_raise(spec: Any, text: str) -> None:
    """Whatever an agent or a page says."""
    matcher = parse(spec)
    assert matcher.matches(text) in (True, False)
    assert ValueMatch.parse(spec, ("value",)).matches([text, {"a": text}]) in (True, False)


@given(st.integers(-(10**9), 10**9))
def test_money_and_integers_are_read_back(value: int) -> None:
    """As Python groups them."""
    assert parse({"integer": value}).matches(f"{value:,}")
    assert not parse({"integer": value}).matches(f"{value + 1:,}")
    assert parse({"money": value / 100, "currency": "EUR"}).matches(f"{value / 100:,.2f} EUR")
    assert not parse({"money": value / 100 + 0.01, "currency": "EUR"}).matches(
        f"{value / 100:,.2f} EUR"
    )


@given(st.dates())
def test_dates_are_read_back_in_every_usual_order(day: Any) -> None:
    """Years of four digits; no part is taken from the clock."""
    if day.year < 1000:
        return
    matcher = parse({"date": f"{day:%Y-%m-%d}"})
    for text in (
        f"{day:%B} {day.day}, {day.year}",
        f"{day.day} {day:%b} {day.year}",
        f"{day:%m/%d/%Y}",
    ):
        assert matcher.matches(text), text
    assert not matcher.matches(f"{day:%B} {day.year}")


@given(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=6),
    st.lists(st.sampled_from("abcd"), max_size=6),
)
def test_a_list_is_a_multiset(wanted: list[str], found: list[str]) -> None:
    """Each item as often as it is asked for, in any order."""
    matcher = parse({"list": wanted})
    assert matcher.matches(orjson.dumps(found).decode()) is (sorted(wanted) == sorted(found))


def test_items_that_match_several_find_their_own() -> None:
    """What fits only one place gets it."""
    wide, narrow = parse({"one_of": ["a", "b"]}), parse("a")
    assert is_assignable([wide, narrow], ["a", "b"], lambda w, f: w.matches(f))
    assert parse({"list": [{"one_of": ["a", "b"]}, "a"]}).matches("a, b")


LONG = "x" * 30_000
CART = {"items": [{"id": 1, "note": LONG}]}


@pytest.mark.parametrize(
    ("spec", "text", "is_so"),
    [
        pytest.param({"regex": "(?s:.*bad.*)"}, f"bad {LONG}", True, id="a pattern"),
        pytest.param(
            {"regex": "(?s:.*bad.*)"}, f"{LONG} good", False, id="a pattern that is not there"
        ),
        pytest.param(
            {"any_of": [{"regex": ".*bad.*"}, "x"]}, f"bad {LONG}", True, id="an alternative"
        ),
        pytest.param(
            {"all_of": [{"contains": "bad"}, {"regex": ".*x"}]}, f"bad {LONG}", True, id="both"
        ),
        pytest.param(
            {"json": "$.items[0].id", "value": 1}, orjson.dumps(CART).decode(), True, id="JSON"
        ),
        pytest.param(
            {"json": "$.items[0].id", "value": 2},
            orjson.dumps(CART).decode(),
            False,
            id="other JSON",
        ),
        pytest.param({"money": 5}, "5" + " " * 30_000, True, id="white space is none"),
        pytest.param({"money": 5}, f"5 {LONG}", False, id="an amount and more"),
        pytest.param({"integer": 5}, "0" * 30_000 + "5", False, id="no number that anybody writes"),
        pytest.param(
            {"regex": "(?s:.*bad.*)"}, "bad" + LONG * 9, False, id="longer than any source tells"
        ),
    ],
)
def test_nothing_hides_behind_padding(spec: dict[str, Any], text: str, is_so: bool) -> None:
    """What looks into a text looks at all of it: a guard (`none_of`) would be got past
    otherwise."""
    assert parse(spec).matches(text) is is_so


BAD: dict[str, Any] = {
    "integer": {"integer": 1.5}, "percentage": {"percentage": "12"}, "currency": {"money": 1, "currency": "Dollars"},
    "locale": {"money": 1, "locale": "xx_YY"}, "unit": {"distance": "5 parsecs"}, "date": {"date": "May 2024"}, "time": {"time": "14"},
    "latitude": {"coordinates": [91, 0]}, "address": {"address": " .,"}, "option": {"date": "2024-05-06", "tolerance": 1},
    "every path": {"path": "**"}, "no regex": {"regex": "("}, "back-reference": {"regex": "(a)\\1"}, "everything": {"regex": ".*"},
    "no threshold": {"fuzzy": "lamp"}, "low threshold": {"fuzzy": "lamp", "threshold": 0.2}, "no list": {"list": "a,b"},
    "separator": {"list": ["a"], "separator": ", "}, "json path": {"json": "items", "value": 1}, "json value": {"json": "$.a"},
    "json pattern": {"json": "$[?match(@.a, '.*')]", "value": 1}, "two forms": {"date": "2024-05-06", "time": "14:30"},
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_makes_no_sense_is_refused(name: str) -> None:
    """With its path and what was wanted."""
    with pytest.raises(SpecError):
        parse(BAD[name])

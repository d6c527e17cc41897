"""The index of conditions on a part of a text leaves out none that an event may hit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import workload
from detectors.engine.engine import Engine
from detectors.matchers import TextMatch, UrlMatch, text_key, text_keys
from detectors.matchers.plain import ANY_KEY
from detectors.matchers.url import MAX_URL, url_key
from detectors.model.codec import decode_segment
from detectors.model.errors import SpecError, UnseenError
from detectors.sdk.registry import Rule
from detectors.sdk.world import World
from detectors.task import ruleset
from detectors.task.part_index import MIN_LEAVES, PartIndex
from tests.support import logs

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
            assert key in ("", ANY_KEY) or all(part in key for part in parts)


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


NUMBERS = st.one_of(
    st.integers(-300, 300).map(str),
    st.floats(-1e14, 1e14, allow_nan=False).map(lambda value: f"{value:f}"),
    st.sampled_from(["-0", "0", ".5", "5.", "1,234.50", "１２", "9" * 400, "7 lamps", ""]),
)


@given(
    text=NUMBERS,
    value=st.one_of(st.integers(-300, 300), st.floats(-1e14, 1e14, allow_nan=False)),
    tolerance=st.one_of(st.just(0), st.integers(0, 200), st.floats(0, 1e9, allow_nan=False)),
    is_near=st.booleans(),
)
def test_a_number_that_matches_has_a_key_of_the_matcher(
    text: str, value: float, tolerance: float, *, is_near: bool
) -> None:
    """Also one that is as far off as it may be."""
    matcher = TextMatch.parse({"number": value, "tolerance": tolerance}, ())
    edges = (f"{value + side * tolerance:f}" for side in (-1, 0, 1))
    keys = matcher.text_keys()
    assert keys is not None
    for one in edges if is_near else (text,):
        if matcher.matches(one):
            assert not set(keys).isdisjoint(text_keys(one)), one


def test_few_keys_lead_to_a_number() -> None:
    for value in (0, 7, -7.25, 1e11):
        for tolerance in (0, 0.01, 0.5, 31, 1e5):
            keys = TextMatch.parse({"number": value, "tolerance": tolerance}, ()).text_keys()
            assert keys is not None
            assert len(keys) <= 3, (value, tolerance)


WRITTEN = st.one_of(
    st.integers(0, 10**13).map(str),
    st.floats(0, 1e6, allow_nan=False).map(lambda value: f"{value:.2f}"),
    st.text(st.sampled_from("0123456789.,' ١５"), min_size=1, max_size=14),
)
AROUND = st.sampled_from(["", "$", "-", "EUR ", "%", " %", " km", " h", "x"])
TYPED: dict[str, dict[str, Any]] = {
    "money": {"money": 0},
    "money, nearly": {"money": 0, "tolerance": 5},
    "dollars": {"money": 0, "currency": "USD"},
    "money of another locale": {"money": 0, "locale": "de"},
    "a percentage": {"percentage": 0},
    "a whole number": {"integer": 0},
    "a duration": {"duration": 0},
    "a distance": {"distance": 0, "tolerance": 0.1},
}


@pytest.mark.parametrize("form", TYPED.values(), ids=TYPED)
@given(written=WRITTEN, before=AROUND, after=AROUND)
def test_a_text_that_means_the_amount_has_a_key_of_the_matcher(
    form: dict[str, Any], written: str, before: str, after: str
) -> None:
    """Whichever of the values is asked for that the text may mean."""
    text = f"{before}{written}{after}"
    name = next(iter(form))
    for value in _values_of(written, is_whole=name == "integer"):
        matcher = TextMatch.parse({**form, name: value}, ())
        keys = matcher.text_keys()
        assert keys is not None
        if matcher.matches(text):
            assert not set(keys).isdisjoint(text_keys(text))


def _values_of(written: str, *, is_whole: bool) -> list[float]:
    """The numbers that a text may mean, in one locale or another, and some that are hardly off."""
    found: set[float] = set()
    for point in ".,":
        plain = "".join(c for c in written if c.isdecimal() or c == point).replace(point, ".")
        if plain.count(".") <= 1 and plain.strip("."):
            found |= {float(plain), -float(plain)}
    hardly_off = {
        value + side * 9e-13 * max(1.0, abs(value)) for value in found for side in (-1, 1)
    }
    if is_whole:
        return [int(value) for value in found]
    hours = {value * factor for value in found for factor in (1_000.0, 3_600.0)}
    return sorted(value for value in found | hardly_off | hours if abs(value) < 1e15)


OFFERED: dict[str, tuple[dict[str, Any], str, bool]] = {
    "its digits": ({"money": 1234.5}, "$1,234.50", True),
    "other digits": ({"money": 1234.5}, "$1,234.60", False),
    "no digits": ({"money": 1234.5, "tolerance": 5}, "Thank you", False),
    "nearly": ({"money": 1234.5, "tolerance": 5}, "$1,230", True),
    "more digits than are compared": ({"money": 1}, "0.9999999999999", True),
    "a digit in a circle": ({"integer": 1}, "\u2460", True),
    "an amount that is hardly another": ({"money": 0.9999999999999}, "1", True),
    "a sum of parts": ({"duration": "90 min"}, "1 h 30 min", True),
    "a duration without digits": ({"duration": 90}, "an hour", False),
    "a long text with digits or without": ({"integer": 7}, "x" * 200, True),
    "a date": ({"date": "2024-05-06"}, "May 6, 2024", True),
    "a text without a digit is no date": ({"date": "2024-05-06"}, "today", False),
    "a time": ({"time": "14:30"}, "2:30 PM", True),
    "a text without a digit is no time": ({"time": "14:30"}, "noon", False),
    "one of several": ({"any_of": [{"money": 7}, "Lamp"]}, "lamp", True),
    "none of several": ({"any_of": [{"money": 7}, "Lamp"]}, "8", False),
    "all of several, by the first": ({"all_of": [{"contains": "5"}, {"money": 5}]}, "$5", True),
}


@pytest.mark.parametrize(("spec", "text", "expected"), OFFERED.values(), ids=OFFERED)
def test_a_typed_condition_is_asked_of_texts_with_its_digits(
    spec: dict[str, Any], text: str, expected: bool
) -> None:
    keys = TextMatch.parse(spec, ()).text_keys()
    assert keys is not None
    assert (not set(keys).isdisjoint(text_keys(text))) is expected


def test_what_says_no_amount_is_asked_of_each_text() -> None:
    """Also where one alternative of several says none."""
    for spec in ({"boolean": True}, {"any_of": [{"money": 7}, {"contains": "Lamp"}]}):
        assert TextMatch.parse(spec, ()).text_keys() is None


SHOWN = st.sampled_from(["", "Order 7 was sent", "order 7", "7", "7.2", "Lamp", "chair"])
WANTED: st.SearchStrategy[object] = st.sampled_from(
    [
        "Lamp",
        7,
        {"number": 7, "tolerance": 0.5},
        {"one_of": ["Lamp", "chair"]},
        {"contains": "Order 7"},
        {"starts_with": "Ord"},
        {"glob": "*7*"},
        {"money": 7},
        {"any_of": [{"integer": 7}, {"percentage": 7, "tolerance": 1}]},
    ]
)


@given(text=SHOWN, wanted=WANTED, now=st.booleans(), cut=st.booleans(), masked=st.booleans())
def test_a_shown_text_that_may_hit_is_offered(
    text: str, wanted: object, *, now: bool, cut: bool, masked: bool
) -> None:
    """Also where the rest of a block was cut off, or a secret was masked: then nobody knows."""
    rules = _rules({"text_visible": {"text": wanted, "now": now, "anywhere": True}})
    kind = "text.shown" if now else "text.appeared"
    data: dict[str, Any] = {"tab": "T", "frame": "T", "key": "k", "text": text}
    if masked:
        data |= {"text": f"{text}***", "masked": ["text"]}
    _must_be_offered(rules, kind, {**data, "cut": True} if now and cut else data)


@given(
    message=SHOWN,
    given_input=st.one_of(st.none(), SHOWN),
    wanted=WANTED,
    input=WANTED,
    which=st.sampled_from(["message", "input", "both"]),
    masked=st.sampled_from([[], ["message"], ["input"]]),
)
def test_an_answered_dialog_that_may_hit_is_offered(
    message: str,
    given_input: str | None,
    wanted: object,
    input: object,
    which: str,
    masked: list[str],
) -> None:
    args = {
        "message": {"message": wanted},
        "input": {"input": input},
        "both": {"message": wanted, "input": input},
    }[which]
    rules = _rules({"dialog_answered": {**args, "anywhere": True}})
    data: dict[str, Any] = {"tab": "T", "frame": "T", "type": "prompt", "message": message}
    data |= {"accepted": True, "input": given_input}
    data |= {name: f"{data[name]}***" for name in masked}
    _must_be_offered(rules, "dialog.closed", data | ({"masked": masked} if masked else {}))


def _rules(condition: dict[str, Any]) -> ruleset.Ruleset:
    """A task of this condition, so often that it has an index."""
    return logs.ruleset(*({"id": f"m{n}", "when": condition} for n in range(MIN_LEAVES)))


def _must_be_offered(rules: ruleset.Ruleset, kind: str, data: dict[str, Any]) -> None:
    (event,) = logs.log((kind, data))
    node = rules.nodes[0]
    assert isinstance(node.rule, Rule)
    try:
        is_read = any(node.rule.read(event, World(), node.args))
    except UnseenError:
        is_read = True
    if is_read:
        offered = [leaf for slot in rules.slots[kind] for leaf in slot.leaves(event)]
        assert offered == list(range(MIN_LEAVES))


def test_a_thousand_conditions_about_what_is_seen_pay_what_each_alone_pays() -> None:
    """Texts, dialogs and numbers."""
    events = decode_segment(workload.segments(workload.seen_events(300), 300)[0]).events
    rules = workload.seen_task(600)
    reached = {milestone.id for milestone in Engine(rules, "ep_bench").feed(events).milestones}
    for node in rules.nodes:
        rule = node.rule
        assert isinstance(rule, Rule)
        heard = [event for event in events if event.kind in rule.heard_kinds(node.args)]
        hits = any(any(rule.read(event, World(), node.args)) for event in heard)
        # Before the first step what happens is nobody's, and is not read.
        is_read = hits and not rule.occurs(node.args)
        assert (rules.task.milestones[node.owner].id in reached) == is_read

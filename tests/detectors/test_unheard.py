"""Events that nothing listens to: a log that is read without them is worth the same, byte for
byte."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detectors.engine.engine import Engine, unheard_kinds
from detectors.model.codec import (
    GENESIS,
    CodecError,
    decode_segment,
    encode_segment,
    join_segment,
    kind_tokens,
)
from detectors.model.errors import GapError
from detectors.model.kinds import KINDS
from detectors.model.rewards import encode_reward, milestone_to_json
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset
from tests.detectors.test_properties import RULES, logs
from tests.detectors.test_stories import logs as stories
from tests.detectors.test_stories import tasks
from tests.support.examples import examples
from tests.support.logs import loaded, log, ruleset, went

UNHEARD = unheard_kinds(RULES)
NOISE = st.sampled_from(sorted(kind for kind in KINDS if orjson.dumps(kind) in UNHEARD))

TOKENS = kind_tokens(["page.loaded"])
LINES = {
    "as it is written": (b'[1,5,"cdp","page.loaded",{}]', "left out"),
    "with anything in it": (b'[1,5,"cdp","page.loaded",{"url":', "left out"),
    "another kind": (b'[1,5,"cdp","element.clicked",{}]', "read"),
    "the kind in the data": (b'[1,5,"cdp","x",{"a":["page.loaded"]}]', "read"),
    "the kind in the source": (b'[1,5,"cdp,page.loaded","x",{}]', "read"),
    "quoted in the source": (b'[1,5,"a,\\"page.loaded\\",","x",{}]', "read"),
    "white space": (b'[1, 5, "cdp", "page.loaded", {}]', "read"),
    "an escape": (b'[1,5,"cdp","page\\u002eloaded",{}]', "read"),
    "another number": (b'[2,5,"cdp","page.loaded",{}]', "seq is 2, wanted 1"),
    "no data": (b'[1,5,"cdp","page.loaded"]', r"wanted \[seq"),
}


@pytest.mark.parametrize(("line", "expected"), LINES.values(), ids=LINES)
def test_a_line_is_left_out_by_how_it_begins(line: bytes, expected: str) -> None:
    """Only one that is surely of its number and of a kind that nobody wants."""
    text = join_segment("ep_1", 1, [line], GENESIS)
    if expected not in ("left out", "read"):
        with pytest.raises(CodecError, match=expected):
            decode_segment(text, TOKENS)
        return
    segment = decode_segment(text, TOKENS)
    assert (segment.count, segment.last) == (1, 1)
    assert len(segment.events) == (expected == "read")


def test_a_segment_of_an_older_wire_version_is_read_whole() -> None:
    """Its kinds have other names."""
    text = join_segment("ep_1", 1, [b'[1,5,"cdp","page.loaded",{}]'], GENESIS, wire=1)
    assert len(decode_segment(text, TOKENS).events) == 1


def test_no_event_that_a_rule_may_hear_is_left_out() -> None:
    """Under several rulesets: what any of them hears."""
    for kind in (*RULES.hears, "step.sealed", "gap.began", "episode.closed"):
        assert orjson.dumps(kind) not in UNHEARD, kind
    assert orjson.dumps("page.loaded") in UNHEARD
    of_loads = ruleset({"id": "a", "when": {"page_loaded": {"url": "/a"}}})
    assert orjson.dumps("page.loaded") not in unheard_kinds(RULES, of_loads)


def test_only_the_next_segment_is_taken() -> None:
    """Also where the events at its ends were left out."""
    engine = Engine(RULES, "ep_1")
    said = (loaded("/a"), went("/a"), loaded("/a"))
    first, second = (
        decode_segment(encode_segment(log(*said, first=n), GENESIS), UNHEARD) for n in (1, 4)
    )
    with pytest.raises(GapError):
        engine.feed_segment(second)
    engine.feed_segment(first)
    assert engine.through == 3
    with pytest.raises(GapError):
        engine.feed_segment(first)
    engine.feed_segment(second)
    assert engine.through == 6


def _noisy(events: list[Event], noise: list[tuple[int, str]]) -> list[Event]:
    """Put events of other kinds among these, and number all anew."""
    rows = [(event.kind, dict(event.data)) for event in events]
    for place, kind in noise:
        rows.insert(1 + place % len(rows), (kind, {"frame": "1", "url": "/a"}))
    return log(*rows)


def _worth(rules: Ruleset, events: list[Event], sizes: list[int], *, whole: bool) -> object:
    """What a log brings in segments of these sizes, read whole or without what nobody hears, and
    the state after each."""
    engine, unheard = Engine(rules, "ep_1"), frozenset() if whole else unheard_kinds(rules)
    brought: list[object] = []
    at = 0
    while at < len(events):
        size = sizes[at % len(sizes)]
        segment = decode_segment(encode_segment(events[at : at + size], GENESIS), unheard)
        result = engine.feed(segment.events) if whole else engine.feed_segment(segment)
        brought += map(encode_reward, result.rewards)
        brought += map(milestone_to_json, result.milestones)
        brought += [result.asks, result.unobserved, engine.dump()]
        at += size
    return brought


@settings(max_examples=examples(200))
@given(
    logs(),
    st.lists(st.tuples(st.integers(0, 99), NOISE), max_size=40),
    st.lists(st.integers(1, 12), min_size=1),
)
def test_a_log_without_them_is_worth_the_same(
    events: list[Event], noise: list[tuple[int, str]], sizes: list[int]
) -> None:
    """Rewards, milestones and the stored state after each segment."""
    noisy = _noisy(events, noise)
    assert _worth(RULES, noisy, sizes, whole=False) == _worth(RULES, noisy, sizes, whole=True)


@settings(
    max_examples=examples(120),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(
    tasks(),
    stories(),
    st.lists(st.tuples(st.integers(0, 99), st.sampled_from(["page.loaded", "widget.added"]))),
    st.lists(st.integers(1, 5), min_size=1),
)
def test_so_is_one_of_which_something_is_hidden(
    rules: Ruleset, told: list[list[Event]], noise: list[tuple[int, str]], sizes: list[int]
) -> None:
    """Then the counterfactual states, too, pass over what was left out."""
    noisy = _noisy(told[0], noise)
    assert _worth(rules, noisy, sizes, whole=False) == _worth(rules, noisy, sizes, whole=True)

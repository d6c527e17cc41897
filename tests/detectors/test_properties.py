"""For any log: how it is cut, repeated or interrupted changes no byte of what it is worth."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.engine.engine import Engine
from detectors.model.codec import GENESIS, decode_segment, encode_segment, split_segments
from detectors.model.errors import GapError
from detectors.model.rewards import encode_reward, milestone_to_json
from detectors.model.types import Event
from tests.support.examples import examples
from tests.support.logs import (
    Said,
    answered,
    clicked,
    created,
    filled,
    finished,
    log,
    ruleset,
    titled,
    went,
)

RULES = ruleset(
    {
        "id": "a",
        "when": {"url_reached": {"url": "/a"}},
        "revoke_on": {"url_reached": {"url": "/undo"}},
    },
    {
        "id": "b",
        "when": {"url_reached": {"url": {"path": "/b*"}}},
        "after": ["a"],
        "baseline": "transition",
    },
    {"id": "title", "when": {"title_matches": {"title": "x"}}, "must_hold_at_end": True},
    {"id": "form", "when": {"form_filled": {"fields": {"N": "1", "M": "2"}}}},
    {
        "id": "any",
        "when": {"any_of": [{"element_clicked": {"name": "Go"}}, {"file_created": {"name": "f0"}}]},
    },
    {"id": "files", "when": {"file_matches": {"extension": "csv"}}, "repeat": 3},
    {"id": "bad", "when": {"element_clicked": {"name": "No"}}, "penalty": 0.3, "repeat": 5},
    {
        "id": "seq",
        "component": "ui",
        "when": {
            "sequence": {
                "holding": True,
                "of": [
                    {"field_filled": {"field": "N", "value": "1"}},
                    {"element_clicked": {"name": "Go"}},
                ],
            }
        },
    },
    {"id": "said", "when": {"answer_matches": {"text": "1"}}, "after": ["a"]},
    {"id": "post", "when": {"request_accepted": {"method": "POST", "url": "/a"}}},
    {"id": "goal", "when": {"goal": {"requires": ["a", "seq"]}}},
    {
        "id": "never",
        "component": "nav",
        "when": {
            "all_of": [
                {"url_reached": {"url": "/b"}},
                {"none_of": [{"element_clicked": {"name": "No"}}]},
            ]
        },
        "revoke_on": {"element_clicked": {"name": "z"}},
    },
    {
        "id": "part",
        "when": {"form_filled": {"fields": {"N": "2", "M": "1"}}},
        "baseline": "transition",
    },
    {
        "id": "last",
        "when": {
            "goal": {"requires": ["any"], "when": {"any_of": [{"url_reached": {"url": "/x"}}]}}
        },
    },
    {
        "id": "gated",
        "when": {"element_clicked": {"name": "Go"}},
        "only_if": {"url_reached": {"url": "/b"}},
    },
    {"id": "late", "when": {"goal": {"requires": ["gated"]}}},
    {
        "id": "undone",
        "component": "ui",
        "when": {
            "all_of": {
                "holding": True,
                "of": [
                    {"field_filled": {"field": "N", "value": "1"}},
                    {"none_of": [{"url_reached": {"url": "/b"}}]},
                ],
            }
        },
        "revoke_on": {"none_of": [{"url_reached": {"url": "/a"}}]},
    },
    {
        "id": "files-again",
        "when": {"file_matches": {"extension": "csv"}},
        "repeat": 2,
        "revoke_on": {"element_clicked": {"name": "z"}},
    },
    {
        "id": "soon",
        "when": {"url_reached": {"url": "/x"}},
        "within": {"steps": 2, "seconds": 1},
        "since": "a",
    },
    {
        "id": "held",
        "component": "nav",
        "when": {"hold": {"window": {"steps": 1}, "of": [{"url_reached": {"url": "/b"}}]}},
    },
    {
        "id": "thrice",
        "component": "file",
        "when": {"count": {"at_least": 3, "of": [{"file_matches": {"extension": "csv"}}]}},
    },
    {
        "id": "twice",
        "component": "ui",
        "when": {
            "count": {"at_least": 2, "distinct": False, "of": [{"element_clicked": {"name": "z"}}]}
        },
    },
    {
        "id": "one-tab",
        "component": "nav",
        "when": {
            "same": {
                "by": "tab",
                "order": "given",
                "of": [{"url_reached": {"url": "/a"}}, {"title_matches": {"title": "y"}}],
            }
        },
    },
    {
        "id": "quick",
        "component": "ui",
        "when": {
            "sequence": {
                "within": {"steps": 1, "seconds": 0.01},
                "of": [
                    {"element_clicked": {"name": "z"}},
                    {
                        "any_of": [
                            {"element_clicked": {"name": "z"}},
                            {"title_matches": {"title": "x"}},
                        ]
                    },
                ],
            }
        },
    },
    {
        "id": "together",
        "component": "ui",
        "when": {
            "all_of": {
                "within": {"steps": 0},
                "of": [{"element_clicked": {"name": "Go"}}, {"url_reached": {"url": "/x"}}],
            }
        },
    },
    weights={"answer": 0.3},
    limits={"steps": 12},
    outcome={"alpha": 0.5, "failure": -0.25},
    efficiency={"weight": 0.1, "best": 1, "worst": 9},
    shaping={"potential": ["file"], "gamma": 0.9},
)

paths = st.sampled_from(["/a", "/b", "/b2", "/undo", "/x"])
tabs = st.sampled_from(["1", "2"])
flags = st.fixed_dictionaries({}, optional={"baseline": st.just(True)})
said: st.SearchStrategy[Said] = st.one_of(
    st.builds(lambda p, t, f: went(p, t, **f), paths, tabs, flags),
    st.builds(lambda t, f: titled(t, **f), st.sampled_from(["x", "y"]), flags),
    st.builds(
        lambda n, r: clicked(n, trusted=r), st.sampled_from(["Go", "No", "z"]), st.booleans()
    ),
    st.builds(
        lambda n, v, t: filled(n, v, t),
        st.sampled_from(["N", "M", "Z"]),
        st.sampled_from(["1", "2", None]),
        tabs,
    ),
    st.builds(
        created,
        st.sampled_from(["f0", "a.csv", "b.csv", "c.csv", "d.csv"]),
        st.sampled_from(["file.created", "file.deleted", "file.modified"]),
    ),
    st.builds(finished, st.sampled_from(["POST", "GET"]), paths, st.sampled_from([200, 302, 500])),
    st.builds(answered, st.sampled_from(["1", "2"])),
    st.builds(
        lambda k, s: (k, {"source": s, "reason": "r"}),
        st.sampled_from(["gap.began", "gap.ended"]),
        st.sampled_from(["cdp", "files"]),
    ),
    st.just(("tab.closed", {"tab": "1"})),
    st.just(
        ("download.began", {"tab": "1", "frame": "1", "url": "u", "name": "a.csv", "download": "g"})
    ),
    st.just(("events.dropped", {"source": "cdp", "count": 1, "reason": "full"})),
)


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """A random episode: things happen, steps begin and are sealed in between, perhaps it closes."""
    out: list[Said] = [("episode.opened", {"task": "t", "digest": "d"})]
    step = -1
    for thing in draw(
        st.lists(st.one_of(said, said, said, st.sampled_from(["begin", "seal"])), max_size=60)
    ):
        if thing == "begin":
            step += 1
            out.append(("step.began", {"step": step, "action": None}))
        elif thing == "seal":
            out.append(("step.sealed", {"step": max(step, 0), "reason": "quiet"}))
        elif isinstance(thing, tuple):
            out.append(thing)
    if draw(st.booleans()):
        out.append(("episode.closed", {"reason": "r"}))
    return log(*out)


def whole(events: list[Event]) -> tuple[list[bytes], list[dict[str, Any]], bytes]:
    """Everything that the log brings when it is fed at once."""
    engine = Engine(RULES, "ep_1")
    out = engine.feed(events)
    return (
        [encode_reward(r) for r in out.rewards],
        [milestone_to_json(m) for m in out.milestones],
        engine.dump(),
    )


@settings(max_examples=examples(200))
@given(logs(), st.data())
def test_any_split_duplication_and_restart_gives_the_same_bytes(
    events: list[Event], data: st.DataObject
) -> None:
    """Segments of any size, some sent twice, the engine stored and loaded anywhere in between."""
    rewards, milestones, state = whole(events)
    engine, got, reached = Engine(RULES, "ep_1"), [], []
    at, prev = 0, GENESIS
    while at < len(events):
        size = data.draw(st.integers(1, 12))
        text = encode_segment(events[at : at + size], prev)
        segment = decode_segment(text)
        out = engine.feed(segment.events)
        got += [encode_reward(r) for r in out.rewards]
        reached += [milestone_to_json(m) for m in out.milestones]
        if data.draw(st.booleans()):
            with pytest.raises(GapError, match=f"event {engine.through + 1} is the next one"):
                engine.feed(segment.events)
        if data.draw(st.booleans()):
            engine = Engine.load(RULES, engine.dump())
        at, prev = at + size, segment.digest
    assert got == rewards
    assert reached == milestones
    assert engine.dump() == state


@settings(max_examples=examples(100))
@given(logs())
def test_rewards_are_bounded_and_explained(events: list[Event]) -> None:
    """A known reward is the sum of its milestones' worth; positive pay never exceeds what is
    attainable."""
    out = Engine(RULES, "ep_1").feed(events)
    credited: dict[str, float] = {}
    for reward in out.rewards:
        assert reward.mask is (reward.reward is None) is (reward.status == "unobserved")
        assert (
            reward.reward is None
            or abs(reward.reward - sum(m.worth for m in reward.milestones)) < 1e-9
        )
        for m in reward.milestones:
            assert m.evidence
            assert all(seq <= reward.through for seq in m.evidence)
            if reward.reward is not None:
                credited[m.id] = credited.get(m.id, 0.0) + m.worth
                if m.id not in RULES.index:
                    continue
                share = RULES.share[RULES.index[m.id]]
                assert m.id == "bad" or -1e-9 <= credited[m.id] <= share + 1e-9, m
    assert credited.get("bad", 0.0) >= -1.0 - 1e-9
    assert credited.get("(outcome)", 0.0) in (0.0, 0.5, -0.125)
    assert 0 <= credited.get("(efficiency)", 0.0) <= 0.1
    assert [r.step for r in out.rewards] == sorted({r.step for r in out.rewards})


@settings(max_examples=examples(100))
@given(logs(), st.lists(st.integers(1, 9), min_size=1))
def test_a_recording_reads_back_as_it_was_written(events: list[Event], sizes: list[int]) -> None:
    """Segments joined into one text come apart again, chained."""
    texts, at, prev = [], 0, GENESIS
    while at < len(events):
        text = encode_segment(events[at : at + sizes[at % len(sizes)]], prev)
        texts.append(text)
        at, prev = at + sizes[at % len(sizes)], decode_segment(text).digest
    read = [decode_segment(text) for text in split_segments(b"".join(texts))]
    assert [e for s in read for e in s.events] == events
    assert [s.prev for s in read] == [GENESIS, *(s.digest for s in read[:-1])]


@pytest.mark.parametrize(
    "blocks", [4, pytest.param(100, marks=pytest.mark.slow)], ids=["40,000", "1,000,000"]
)
def test_the_world_stays_small_over_a_million_events(blocks: int) -> None:
    """The stored state after a million events is no larger than what its caps allow, and stops
    growing."""
    engine = Engine(RULES, "ep_1")
    sizes = []
    for block in range(blocks):
        first = block * 10_000 + 1
        events = [_busy(seq) for seq in range(first, first + 10_000)]
        engine.feed(events)
        sizes.append(len(engine.dump()))
    half = blocks // 2
    assert engine.through == blocks * 10_000
    assert max(sizes) < 2_000_000
    assert max(sizes[half:]) <= max(sizes[:half]) * 1.01


def _busy(seq: int) -> Event:
    """Ever new tabs, frames, fields, files, downloads and steps, each with names never seen
    before."""
    kinds: tuple[tuple[str, dict[str, Any]], ...] = (
        went(f"/b{seq}", f"tab{seq}"),
        filled(f"N{seq % 200}", "1" * 50, f"tab{seq // 500}", field=f"#{seq}"),
        created(f"{seq}.csv"),
        clicked(f"button {seq}"),
        (
            "download.began",
            {"tab": "T", "frame": "T", "url": "u", "name": f"{seq}.csv", "download": "g"},
        ),
        titled("x", f"tab{seq}"),
        finished("POST", "/a", 200, request=f"r{seq}"),
        (
            ("step.began", {"step": seq, "action": None})
            if seq % 14 == 0
            else ("step.sealed", {"step": 0, "reason": "q"})
        ),
    )
    kind, data = kinds[seq % len(kinds)]
    return Event("ep_1", seq, "cdp", kind, seq, data)

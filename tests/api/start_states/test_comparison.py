"""What an episode began with, and when that is a finding: tables of yes and of no."""

from __future__ import annotations

from typing import Any

import pytest

from api.start_states.comparison import MIN_OTHERS, Others, compare
from api.start_states.facts import (
    MAX_FACTS,
    StartReader,
    StartState,
    decode_state,
    encode_state,
)
from detectors.engine.expected_start import address_name
from tests.support.logs import Said, clicked, created, episode, log, titled, went


def file(name: str, kind: str = "file.present", **more: Any) -> Said:
    return created(name, kind, **({"baseline": True} if kind == "file.present" else {}), **more)


def window(title: str, id: str = "w1", kind: str = "window.opened") -> Said:
    return (kind, {"app": "editor", "window": id, "role": "frame", "title": title})


def probe(value: Any, when: str = "start") -> Said:
    return ("probe.answered", {"probe": "cart", "when": when, "value": value, "ms": 1})


def lost(source: str) -> Said:
    return ("gap.began", {"source": source, "reason": "r"})


def state(*before: Said, later: list[Said] | None = None) -> StartState:
    """What stood after these events; ``later``: in the first step."""
    reader = StartReader()
    for event in log(*episode(later or [], before=before)):
        reader.apply(event)
    return reader.state()


FILES = [file("a.txt"), file("b.txt")]
STATES: dict[str, tuple[list[Said], dict[str, set[str] | None]]] = {
    "nothing": ([], {}),
    "files that were there": (FILES, {"files": {"downloads/a.txt", "downloads/b.txt"}}),
    "one that was deleted": (
        [*FILES, file("a.txt", "file.deleted")],
        {"files": {"downloads/b.txt"}},
    ),
    "one that was moved": (
        [file("a.txt"), file("c.txt", "file.moved", **{"from": "a.txt"})],
        {"files": {"downloads/c.txt"}},
    ),
    "a folder that became empty": (
        [file("a.txt"), file("a.txt", "file.deleted")],
        {"files": set()},
    ),
    "a tab": ([went("/cart?session=1#top")], {"tabs": {"http://shop.test/cart"}}),
    "a tab that was closed": ([went("/"), ("tab.closed", {"tab": "T"})], {"tabs": set()}),
    "a frame is no tab": ([went("/", main=False)], {"tabs": set()}),
    "a window by its last title": (
        [window("one"), window("two", kind="window.title_changed")],
        {"windows": {"editor: two"}},
    ),
    "a probe at the start": ([probe({"items": 0})], {"probes": {"cart"}}),
    "a probe at another time": ([probe(1, "step")], {"probes": set()}),
    "a source that is lost is not known": ([*FILES, lost("files")], {}),
    "folders that are empty": (
        [lost("files"), ("gap.ended", {"source": "files"})],
        {"files": set()},
    ),
    "a part of the files that is told again": (
        [("gap.ended", {"source": "files", "part": "notes"})],
        {},
    ),
    "a source that is back": (
        [lost("files"), *FILES, ("gap.ended", {"source": "files"})],
        {"files": {"downloads/a.txt", "downloads/b.txt"}},
    ),
    "too many to keep": ([file(f"{n}.txt") for n in range(MAX_FACTS + 1)], {"files": None}),
}


@pytest.mark.parametrize("case", STATES)
def test_what_stood_before_the_first_step(case: str) -> None:
    before, wanted = STATES[case]
    found = state(*before, later=[file("late.txt", "file.created"), clicked("x")])
    assert found.keys() == wanted.keys()
    for part, names in wanted.items():
        facts = found[part]["facts"]
        assert (None if facts is None else set(facts)) == names
    text, digest = encode_state(found)
    assert decode_state(text) == found
    assert digest == encode_state(state(*before))[1], "what comes later changes nothing"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([went("/", tab="A")], [went("/", tab="B")], True),
        ([went("http://127.0.0.1:4001/a")], [went("http://127.0.0.1:4002/a")], True),
        ([went("/a?token=1")], [went("/a?token=2")], True),
        ([window("x", "w1")], [window("x", "w2")], True),
        ([titled("x")], [], True),
        (FILES, FILES[::-1], True),
        ([went("/a")], [went("/b")], False),
        ([went("/a")], [went("/a"), went("/a", tab="B")], False),
        ([file("a.txt")], [file("a.txt", sha256="cd" * 32)], False),
        ([probe(1)], [probe(2)], False),
        ([went("http://shop.test:81/")], [went("http://shop.test:82/")], False),
    ],
)
def test_what_differs_from_run_to_run_is_left_out(
    one: list[Said], other: list[Said], same: bool
) -> None:
    assert (encode_state(state(*one)) == encode_state(state(*other))) == same


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://user:pw@shop.test/a", "http://shop.test/a"),
        ("about:blank", "about:blank"),
        ("http://[::1]:80/a", "http://[::1]/a"),
        ("http://127.0.0.1.evil.test:80/", "http://127.0.0.1.evil.test:80/"),
        ("http://[bad", "http://[bad"),
    ],
)
def test_an_address_as_a_fact(url: str, name: str) -> None:
    assert address_name(url) == name


USUAL = state(*FILES, went("/"), probe({"items": 0}))
LEFT_OVER = state(*FILES, file("report.pdf"), went("/"), probe({"items": 0}))
FINDINGS: dict[str, tuple[StartState, list[Others], list[str]]] = {
    "as the others": (USUAL, [Others(USUAL, 42)], []),
    "the last one's file": (
        LEFT_OVER,
        [Others(USUAL, 41), Others(LEFT_OVER, 1)],
        [
            "this episode began with the file downloads/report.pdf; 41 of 42 others did not",
        ],
    ),
    "a file that a fifth of the others had": (
        LEFT_OVER,
        [Others(USUAL, 32), Others(LEFT_OVER, 10)],
        [],
    ),
    "too few others": (LEFT_OVER, [Others(USUAL, MIN_OTHERS - 1)], []),
    "a file that is missing": (
        state(FILES[0], went("/"), probe({"items": 0})),
        [Others(USUAL, 20)],
        ["this episode began without the file downloads/b.txt; 20 of 20 others had it"],
    ),
    "another content": (
        state(FILES[0], file("b.txt", sha256="cd" * 32), went("/"), probe({"items": 0})),
        [Others(USUAL, 20)],
        ["this episode began with the file downloads/b.txt, but unlike 20 of 20 others"],
    ),
    "a content that differs anyway": (
        state(*FILES, probe(9)),
        [Others(state(*FILES, probe(n)), 1) for n in range(8)],
        [],
    ),
    "a cart that was not emptied": (
        state(*FILES, went("/"), probe({"items": 3})),
        [Others(USUAL, 20)],
        ["this episode began with an answer of the probe cart, but unlike 20 of 20 others"],
    ),
    "another tab": (
        state(*FILES, went("/old"), probe({"items": 0})),
        [Others(USUAL, 20)],
        [
            "this episode began with a tab at http://shop.test/old; 20 of 20 others did not",
            "this episode began without a tab at http://shop.test/; 20 of 20 others had it",
        ],
    ),
    "tabs that differ anyway": (
        state(went("/9")),
        [Others(state(went(f"/{n}")), 1) for n in range(8)] + [Others(state(went("/")), 3)],
        [],
    ),
    "a part that was not observed": (state(*FILES), [Others(USUAL, 20)], []),
    "a part that the others did not observe": (USUAL, [Others(state(), 20)], []),
    "more files than are kept": (
        state(*[file(f"{n}.txt") for n in range(MAX_FACTS + 1)]),
        [Others(state(*[file(f"{n}.txt") for n in range(MAX_FACTS + 2)]), 20)],
        ["this episode's files at the start are not those of 20 of 20 others"],
    ),
}


@pytest.mark.parametrize("case", FINDINGS)
def test_what_is_unlike_the_others(case: str) -> None:
    own, others, texts = FINDINGS[case]
    assert [finding["text"] for finding in compare(own, others)] == texts

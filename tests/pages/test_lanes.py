"""Events as a person follows them: by step, like ones folded, evidence never."""

from __future__ import annotations

from typing import Any

import pytest

from api.timeline.timeline import Outline, TimelineRow, action_text, fits, fold_lines
from tests.support.logs import Said, began, log, sealed, went

OPENED: Said = ("episode.opened", {"task": "t", "digest": "d"})
GAP: Said = ("gap.began", {"source": "cdp", "reason": "gone"})


def outline(*things: Said) -> Outline:
    made = Outline()
    for event in log(*things):
        made.take(event)
    return made


def test_a_span_a_step_after_what_was_before() -> None:
    found = outline(OPENED, began(0), went("/a"), began(1), sealed(1)).spans
    assert [(span.step, span.first, span.last, span.count) for span in found] == [
        (None, 1, 1, 1),
        (0, 2, 3, 2),
        (1, 4, 5, 2),
    ]


def test_a_step_that_is_told_to_begin_twice_is_one() -> None:
    assert [span.step for span in outline(began(0), began(0), went("/a")).spans] == [None, 0]


def test_the_outline_knows_how_many_lines_a_step_will_have() -> None:
    things = (began(0), went("/a"), went("/a"), went("/b"), GAP, sealed(0), began(1), went("/b"))
    made = outline(*things)
    parts = [
        [event for event in log(*things) if span.first <= event.seq <= span.last]
        for span in made.spans
    ]
    assert (
        [span.lines for span in made.spans]
        == [len(fold_lines(part, frozenset())) for part in parts]
        == [0, 5, 2]
    )
    assert [span.gaps for span in made.spans] == [0, 1, 0]


def test_every_event_is_in_the_span_that_begins_before_it() -> None:
    made = outline(OPENED, began(0), went("/a"), began(5), sealed(5))
    assert [made.span_of(seq).key for seq in (1, 2, 3, 4, 5, 99)] == [
        "opening",
        "0",
        "0",
        "5",
        "5",
        "5",
    ]


def test_a_picture_belongs_to_the_step_that_it_was_taken_of() -> None:
    shot = {"sha256": "ab", "of": "cdp", "step": 0}
    made = outline(began(0), sealed(0), began(1), ("screen.captured", shot), sealed(1))
    assert [span.picture for span in made.spans] == [None, "ab", None]


@pytest.mark.parametrize(
    ("words", "sources", "found"),
    [
        pytest.param("", frozenset(), True, id="nothing asked"),
        pytest.param("cart", frozenset(), True, id="a word of the text"),
        pytest.param("CART", frozenset(), True, id="in any case"),
        pytest.param("navigated", frozenset(), True, id="a word of the kind"),
        pytest.param(".*", frozenset(), False, id="never a pattern"),
        pytest.param("cart", frozenset(("files",)), False, id="of another source"),
        pytest.param("", frozenset(("cdp", "files")), True, id="of one of these sources"),
    ],
)
def test_what_a_search_finds(words: str, sources: frozenset[str], found: bool) -> None:
    line = TimelineRow(1, 1, 0, "cdp", "page.navigated", "http://shop.test/cart")
    assert fits(line, words, sources) is found


@pytest.mark.parametrize(
    ("action", "text"),
    [
        pytest.param(None, "", id="none"),
        pytest.param("click Buy", "click Buy", id="a text"),
        pytest.param({"says": "open the shop"}, "open the shop", id="one member"),
        pytest.param({"type": "click", "x": 3, "y": 4}, "click 3 4", id="a flat one"),
        pytest.param(
            {"type": "drag", "to": {"x": 1}}, '{"to":{"x":1},"type":"drag"}', id="a deep one"
        ),
        pytest.param("a\nb\x1b[31mc", "a b [31mc", id="control characters"),
    ],
)
def test_an_action_on_one_line(action: Any, text: str) -> None:
    assert action_text(action) == text


def test_neighbours_that_say_the_same_are_one_line() -> None:
    lines = fold_lines(log(went("/a"), went("/a"), went("/a"), went("/b"), went("/a")), frozenset())
    assert [(line.first, line.last, line.count) for line in lines] == [
        (1, 3, 3),
        (4, 4, 1),
        (5, 5, 1),
    ]


def test_evidence_stands_alone() -> None:
    lines = fold_lines(log(went("/a"), went("/a"), went("/a"), went("/a")), frozenset((2,)))
    assert [(line.first, line.last, line.marked) for line in lines] == [
        (1, 1, False),
        (2, 2, True),
        (3, 4, False),
    ]

"""Events as a person follows them: by step, like ones folded, evidence never."""

from __future__ import annotations

from typing import Any

import pytest

from api.pages.lanes import folded, said, spans
from tests.support.logs import began, log, sealed, went


def test_a_span_a_step_after_what_was_before() -> None:
    found = spans(log(("episode.opened", {"task": "t", "digest": "d"}), began(0), went("/a"), began(1), sealed(1)))
    assert [(span.step, [event.seq for event in span.events]) for span in found] == [
        (None, [1]),
        (0, [2, 3]),
        (1, [4, 5]),
    ]


def test_a_step_that_is_told_to_begin_twice_is_one() -> None:
    assert [span.step for span in spans(log(began(0), began(0), went("/a")))] == [None, 0]


@pytest.mark.parametrize(
    ("action", "text"),
    [
        pytest.param(None, "", id="none"),
        pytest.param("click Buy", "click Buy", id="a text"),
        pytest.param({"says": "open the shop"}, "open the shop", id="one member"),
        pytest.param({"type": "click", "x": 3, "y": 4}, "click 3 4", id="a flat one"),
        pytest.param({"type": "drag", "to": {"x": 1}}, '{"to":{"x":1},"type":"drag"}', id="a deep one"),
        pytest.param("a\nb\x1b[31mc", "a b [31mc", id="control characters"),
    ],
)
def test_an_action_on_one_line(action: Any, text: str) -> None:
    assert said(action) == text


def test_neighbours_that_say_the_same_are_one_line() -> None:
    lines = folded(log(went("/a"), went("/a"), went("/a"), went("/b"), went("/a")), frozenset())
    assert [(line.first, line.last, line.count) for line in lines] == [(1, 3, 3), (4, 4, 1), (5, 5, 1)]


def test_evidence_stands_alone() -> None:
    lines = folded(log(went("/a"), went("/a"), went("/a"), went("/a")), frozenset((2,)))
    assert [(line.first, line.last, line.marked) for line in lines] == [(1, 1, False), (2, 2, True), (3, 4, False)]

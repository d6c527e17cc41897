"""What the templates' filters give."""

from __future__ import annotations

import pytest

from api.pages.render import split_at_events


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("the step is not sealed yet", [("the step is not sealed yet", "")]),
        ("event 12: the browser is gone", [("event 12", "12"), (": the browser is gone", "")]),
        (
            "cdp saw nothing from event 3: gone; event 4",
            [("cdp saw nothing from ", ""), ("event 3", "3"), (": gone; ", ""), ("event 4", "4")],
        ),
        ("prevent 3 events 4, event ５", [("prevent 3 events 4, event ５", "")]),
        ("event 1234567890123456", [("event 1234567890123456", "")]),
    ],
)
def test_a_reason_is_split_at_the_events_that_it_names(
    text: str, pieces: list[tuple[str, str]]
) -> None:
    """Nothing is lost: the pieces together are the text."""
    assert split_at_events(text) == pieces
    assert "".join(piece for piece, _ in pieces) == text

"""Gaps that a full journal keeps, by themselves; that they are journalled is held by test_journal."""

from __future__ import annotations

import pytest

from agentd.journal.pending_gaps import PendingGaps


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ("part: began", ["part: began"]),
        ("part: began, began", ["began"]),
        ("part: began, began, ended", ["began", "ended"]),
        ("began, ended, part: began, began, ended", ["began", "ended"]),
        ("began, ended, part: began", ["began", "ended", "part: began"]),
        ("part: began, began, ended, part: began", ["began", "ended", "part: began"]),
        ("part: ended, began, ended", ["began", "ended"]),
    ],
)
def test_a_whole_gap_ends_the_partial_ones_that_are_pending(
    reported: str, expected: list[str]
) -> None:
    """As in the log: what is blind after it is told anew. Else the part stays blind until the
    episode's end."""
    pending = PendingGaps()
    for one in reported.split(", "):
        part, _, how = one.rpartition(": ")
        assert pending.take(f"gap.{how}", {"source": "ax"} | ({"part": "gedit"} if part else {}))
    assert [
        ("part: " if data.get("part") else "") + kind.removeprefix("gap.")
        for kind, data in pending.take_all()
    ] == expected


def test_an_alarm_is_pending_whatever_gaps_begin() -> None:
    pending = PendingGaps()
    pending.take("alarm.raised", {"source": "ax", "part": "gedit"})
    pending.take("gap.began", {"source": "ax"})
    assert [kind for kind, _ in pending.take_all()] == ["alarm.raised", "gap.began"]

"""What a full journal owes, by itself; that it is paid is held by test_journal."""

from __future__ import annotations

import pytest

from agentd.journal.pending_gaps import Owed


@pytest.mark.parametrize(
    ("told", "owed"),
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
def test_a_whole_gap_ends_the_partial_ones_that_are_owed(told: str, owed: list[str]) -> None:
    """As in the log: what is blind after it is told anew. Else the part stays blind until the
    episode's end."""
    debt = Owed()
    for one in told.split(", "):
        part, _, how = one.rpartition(": ")
        assert debt.take(f"gap.{how}", {"source": "ax"} | ({"of": "gedit"} if part else {}))
    assert [
        ("part: " if data.get("of") else "") + kind.removeprefix("gap.")
        for kind, data in debt.pay()
    ] == owed


def test_an_alarm_is_owed_whatever_gaps_begin() -> None:
    debt = Owed()
    debt.take("alarm.raised", {"source": "ax", "of": "gedit"})
    debt.take("gap.began", {"source": "ax"})
    assert [kind for kind, _ in debt.pay()] == ["alarm.raised", "gap.began"]

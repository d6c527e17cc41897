"""What a folder hides that comes to be closed after the start: a gap, and no silence. By the rules
of `Troubles` alone; with two users and real modes tests/e2e/test_two_users.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agentd.sources.files.troubles import HIDDEN_PARTS, Troubles

WHY = "files/locked: the daemon's user may not read this folder"


class Sink:
    """Keeps the gaps that are open."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.told: list[tuple[str, Mapping[str, Any]]] = []

    def __call__(self, kind: str, data: Mapping[str, Any]) -> None:
        self.told.append((kind, data))
        if kind == "gap.began":
            self.open.append(data["part"])
        elif kind == "gap.ended":
            self.open.remove(data["part"])


def started(*closed: str) -> Troubles:
    troubles = Troubles()
    for place in closed:
        troubles.add("folders", place, WHY)
    troubles.note_start()
    return troubles


@pytest.mark.parametrize("of", ["folders", "depth"])
def test_a_place_that_comes_to_be_closed_is_a_gap_until_it_is_open(of: str) -> None:
    sink, troubles = Sink(), started()
    troubles.add(of, "files/locked", WHY)
    troubles.publish(sink)
    assert sink.open == list(HIDDEN_PARTS)
    troubles.add(of, "files/another", WHY)
    troubles.remove(of, "files/locked")
    troubles.publish(sink)
    assert sink.open == list(HIDDEN_PARTS), "another is closed still"
    troubles.leave(of, "files/another")
    troubles.publish(sink)
    assert sink.open == []


def test_one_that_was_closed_from_the_start_is_an_alarm_alone() -> None:
    sink, troubles = Sink(), started("files/locked")
    troubles.publish(sink)
    assert [kind for kind, _ in sink.told] == ["alarm.raised"]
    troubles.add("folders", "files/another", WHY)
    troubles.publish(sink)
    assert sink.open == list(HIDDEN_PARTS)


@pytest.mark.parametrize("of", ["watches", "notifications", "mounts", "links", "access times"])
def test_what_is_only_seen_later_or_worse_is_an_alarm_alone(of: str) -> None:
    sink, troubles = Sink(), started()
    troubles.add(of, "files/place", "why")
    troubles.publish(sink)
    assert [kind for kind, _ in sink.told] == ["alarm.raised"]


def test_a_restarted_daemon_takes_what_hid_something_for_no_start() -> None:
    before, first = Sink(), started()
    first.add("folders", "files/locked", WHY)
    first.publish(before)
    sink, again = Sink(), Troubles()
    again.recall(before.told)
    again.add("folders", "files/locked", WHY)
    again.note_start()
    again.publish(sink)
    assert sink.open == list(HIDDEN_PARTS)


def test_a_restarted_daemon_takes_what_was_opened_again_for_open() -> None:
    before, first = Sink(), started()
    first.add("folders", "files/locked", WHY)
    first.publish(before)
    first.remove("folders", "files/locked")
    first.publish(before)
    sink, again = Sink(), Troubles()
    again.recall(before.told)
    again.note_start()
    again.publish(sink)
    assert sink.open == []

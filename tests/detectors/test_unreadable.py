"""A file that nobody can read: 0 for whoever was to fill it, null for whoever is fined for what is
in it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detectors.tables_reads import gone, told
from tests.support.logs import Said, clicked, episode, ruleset, run, worth

DRAFT: dict[str, Any] = {"file_text": {"path": "a", "text": {"contains": "draft"}}}
KEY: dict[str, Any] = {"file_value": {"path": "a", "at": ["open"], "value": True}}
PART: dict[str, Any] = {"document_part": {"path": "a", "has": {"text": "draft"}}}
CELL: dict[str, Any] = {"table_cells": {"path": "a", "cells": {"A1": "draft"}}}
LISTED: dict[str, Any] = {"archive_lists": {"path": "a", "names": ["draft"]}}
LOCKED = told({"encrypted": True}, format="pdf")
UNREADABLE: dict[str, Said] = {
    "locked": LOCKED,
    "damaged": told(None, status="damaged", reason="no PDF"),
    "large": told(None, status="large", reason="33 MiB"),
    "heavy": told(None, status="heavy", reason="a bomb"),
}
RULES = {"text": DRAFT, "value": KEY, "part": PART, "cell": CELL, "list": LISTED}
SEND: dict[str, Any] = {"element_clicked": {"name": "Send"}}
WORK = {"id": "work", "component": "ui", "when": {"element_clicked": {"name": "Go"}}}


def fined(when: dict[str, Any], *steps: list[Said], **more: Any) -> list[float | None]:
    rules = ruleset(
        WORK, {"id": "bad", "component": "file", "when": when, "penalty": 0.5}, weights={"ui": 1.0}
    )
    return worth(run(rules, *episode(*steps, **more)))


def paid(when: dict[str, Any], *steps: list[Said]) -> list[float | None]:
    rules = ruleset({"id": "m", "component": "file", "when": when}, weights={"file": 1.0})
    return worth(run(rules, *episode(*steps)))


def at_end(absence: dict[str, Any], said: list[Said], **more: Any) -> float | None:
    """What the close is worth where a click must be made and ``absence`` hold at the end."""
    when = {"all_of": {"holding": True, "of": [SEND, absence]}}
    rules = ruleset(
        {"id": "m", "component": "file", "when": when, "must_hold_at_end": True},
        weights={"file": 1.0},
    )
    return worth(run(rules, *episode([clicked("Send"), *said], **more)))[-1]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("state", UNREADABLE)
def test_no_fine_is_escaped_by_a_file_that_nobody_can_read(rule: str, state: str) -> None:
    """The step in which it came to be so is null; what is done in others is paid."""
    steps = [clicked("Go")], [UNREADABLE[state]], [clicked("x")]
    assert fined(RULES[rule], *steps) == [1.0, None, 0.0]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("state", UNREADABLE)
def test_who_makes_a_file_unreadable_earns_0_and_no_null(rule: str, state: str) -> None:
    """Else a run that failed would be left out of training."""
    assert paid(RULES[rule], [UNREADABLE[state]], [clicked("x")]) == [0.0, 0.0]


FINES: dict[str, tuple[list[Said], float | None]] = {
    "the word is there": ([told({"text": "a draft"})], -0.5),
    "another word": ([told({"text": "final"})], 0.0),
    "another file is locked": ([told({"encrypted": True}, "b", format="pdf")], 0.0),
    "asked for as another format": ([told(None, status="damaged", **{"as": "docx"})], 0.0),
    "it is gone": ([gone()], 0.0),
    "a format without a text": ([told({"width": 3}, format="image")], 0.0),
    "the word, then locked": ([told({"text": "a draft"}), LOCKED], -0.5),
}


@pytest.mark.parametrize("name", FINES)
def test_what_is_known_of_a_fined_content(name: str) -> None:
    said, expected = FINES[name]
    assert fined(DRAFT, said) == [expected]


def test_what_was_unreadable_at_the_start_blinds_nothing() -> None:
    assert fined(DRAFT, [clicked("Go")], before=[LOCKED]) == [1.0]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("state", UNREADABLE)
def test_nothing_is_paid_for_the_absence_of_a_content_that_nobody_can_read(
    rule: str, state: str
) -> None:
    """Neither at the end, nor for a click that the content would have spoilt."""
    absence = {"none_of": [RULES[rule]]}
    assert at_end(absence, [UNREADABLE[state]]) == 0.0
    clean = {"all_of": {"holding": True, "of": [SEND, absence]}}
    assert paid(clean, [UNREADABLE[state]], [clicked("Send")]) == [0.0, 0.0]


ABSENCES: dict[str, tuple[list[Said], list[Said], float | None]] = {
    "another text": ([], [told({"text": "final"})], 1.0),
    "the word": ([], [told({"text": "a draft"})], 0.0),
    "locked, then opened with another text": ([], [LOCKED, told({"text": "final"})], 1.0),
    "another file is locked": ([], [told({"encrypted": True}, "b", format="pdf")], 1.0),
    "the word, then locked": ([told({"text": "a draft"})], [LOCKED], 0.0),
    "the word, then another text": ([told({"text": "a draft"})], [told({"text": "final"})], 1.0),
    "locked before the first step": ([LOCKED], [clicked("x")], None),
}


@pytest.mark.parametrize("name", ABSENCES)
def test_what_is_known_of_a_content_whose_absence_is_paid(name: str) -> None:
    before, said, expected = ABSENCES[name]
    assert at_end({"none_of": [DRAFT]}, said, before=before) == expected


def test_what_was_paid_is_not_kept_by_locking_what_would_take_it_back() -> None:
    """Nor taken back: nobody knows in which of the steps it came to be."""
    rules = ruleset(WORK | {"revoke_on": DRAFT}, weights={"ui": 1.0})
    said = episode([clicked("Go")], [LOCKED], [told({"text": "a draft"})])
    assert worth(run(rules, *said)) == [1.0, None, None]


def test_that_a_file_was_not_read_whole_is_known_of_one_that_nobody_can_read() -> None:
    broken = {"none_of": [{"file_is": {"path": "a", "whole": True}}]}
    assert at_end(broken, [UNREADABLE["damaged"]]) == 1.0
    assert fined({"file_is": {"path": "a", "whole": True}}, [LOCKED]) == [0.0]


def test_a_lock_itself_can_be_paid_and_fined() -> None:
    locked = {"file_is": {"path": "a", "facts": {"encrypted": True}}}
    assert paid(locked, [LOCKED]) == [1.0]
    assert fined(locked, [LOCKED]) == [-0.5]
    assert fined(locked, [told({"text": "x"}, format="pdf")]) == [0.0]


def test_a_locked_file_is_not_whole() -> None:
    """So that `none_of` beside `whole` pays for no lock."""
    clean = {
        "all_of": {"holding": True, "of": [{"none_of": [DRAFT]}, {"file_is": {"path": "a", "whole": True}}]}
    }  # fmt: skip
    assert paid(clean, [LOCKED]) == [0.0]
    assert paid(clean, [told({"text": "final"})]) == [1.0]


def test_what_spares_a_fine_is_not_met_by_a_file_that_nobody_can_read() -> None:
    """Under a penalty `none_of` turns round: its part pays."""
    unless = {"all_of": {"holding": True, "of": [
        SEND, {"none_of": [DRAFT]},
    ]}}  # fmt: skip
    assert fined(unless, [LOCKED, clicked("Send")]) == [-0.5]

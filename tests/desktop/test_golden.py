"""The fold alone, on recordings of real programs: the same raw messages tell the same, byte for
byte."""

from __future__ import annotations

import pytest

from detectors.model.kinds import KINDS
from tests.desktop.record_golden import GOLDEN, SCENES, replay
from tests.support.golden import has_the_fields_of_its_kind, lines


@pytest.mark.parametrize("name", SCENES)
def test_a_recording_gives_its_golden_observations(name: str) -> None:
    assert replay(lines(GOLDEN / f"{name}.raw.jsonl")) == lines(GOLDEN / f"{name}.seen.jsonl")


@pytest.mark.parametrize("name", SCENES)
def test_only_named_fields_are_kept(name: str) -> None:
    for kind, data in lines(GOLDEN / f"{name}.seen.jsonl"):
        has_the_fields_of_its_kind(kind, data)


def test_every_kind_of_the_desktop_has_an_example() -> None:
    """docs/events.md takes its examples from here."""
    told = {kind for name in SCENES for kind, _ in lines(GOLDEN / f"{name}.seen.jsonl")}
    assert {name for name, kind in KINDS.items() if kind.source == "ax"} - told == set()


def test_no_recording_names_a_folder_of_the_machine() -> None:
    for path in GOLDEN.glob("*.jsonl"):
        assert b"/tmp/" not in path.read_bytes(), path.name

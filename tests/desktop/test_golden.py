"""The fold alone, on recordings of real programs: the same raw messages tell the same, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from detectors.kinds import KINDS
from tests.desktop.record_golden import GOLDEN, SCENES, replay


def lines(path: Path) -> list[Any]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("name", SCENES)
def test_a_recording_gives_its_golden_observations(name: str) -> None:
    assert replay(lines(GOLDEN / f"{name}.raw.jsonl")) == lines(GOLDEN / f"{name}.seen.jsonl")


@pytest.mark.parametrize("name", SCENES)
def test_only_named_fields_are_kept(name: str) -> None:
    for kind, data in lines(GOLDEN / f"{name}.seen.jsonl"):
        named = {field.rstrip("?") for field in KINDS[kind].fields}
        assert set(data) <= named, f"{kind} has {set(data) - named} beside its fields"
        missing = {field for field in KINDS[kind].fields if not field.endswith("?")} - set(data)
        assert not missing, f"{kind} lacks {missing}"


def test_every_kind_of_the_desktop_has_an_example() -> None:
    """docs/events.md takes its examples from here."""
    told = {kind for name in SCENES for kind, _ in lines(GOLDEN / f"{name}.seen.jsonl")}
    assert {name for name, kind in KINDS.items() if kind.source == "ax"} - told == set()


def test_no_recording_names_a_folder_of_the_machine() -> None:
    for path in GOLDEN.glob("*.jsonl"):
        assert b"/tmp/" not in path.read_bytes(), path.name

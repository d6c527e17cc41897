"""The fold alone, on recordings of real programs: what it was told then gives the same events, byte
for byte."""

from __future__ import annotations

import pytest

from detectors.model.kinds import KINDS
from tests.files.record_golden import GOLDEN, replay
from tests.support.golden import lines

NAMES = ["editing", "downloading", "passing", "holding"]


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_gives_its_golden_events(name: str) -> None:
    assert replay(lines(GOLDEN / f"{name}.raw.jsonl")) == lines(GOLDEN / f"{name}.seen.jsonl")


def test_every_kind_of_event_has_an_example() -> None:
    told = {kind for name in NAMES for kind, _ in lines(GOLDEN / f"{name}.seen.jsonl")}
    assert told == {name for name, kind in KINDS.items() if kind.source == "files"}


def test_what_programs_do_is_one_event_each() -> None:
    """Saves through temporary names, in place and by the browser: the file's own name, once, and
    how it came."""
    told = lines(GOLDEN / "editing.seen.jsonl") + lines(GOLDEN / "downloading.seen.jsonl")
    brief = [
        (kind, data["path"], data.get("via"))
        for kind, data in told
        if kind in ("file.created", "file.modified")
    ]
    assert brief == [
        ("file.modified", "letter.txt", "rename"),
        ("file.created", "page.html", "write"),
        ("file.modified", "old/table.csv", "rename"),
        ("file.modified", "letter.txt", "write"),
        ("file.modified", "letter.txt", "write"),
        ("file.created", "tool.py", "write"),
        ("file.created", "pointer", "write"),
        ("file.created", "again.py", "write"),
        ("file.created", "new/deep/table.csv", "write"),
        ("file.created", "empty", "write"),
        ("file.modified", "pointer", "rename"),
        ("file.created", "report.csv", "download"),
    ]

"""AT-SPI captures in detail: files that are moved out of the folder that was watched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.convert.hand_made import changed, lines, said
from tests.convert.making import converted

STANDS = [
    changed(0.0, "CREATE", name="a.txt"), changed(0.1, "CLOSE_WRITE", name="a.txt"), {"t": 1.0, "src": "mark"},
]  # fmt: skip
TRUTH = {"t": 9.0, "src": "truth", "files": {}}
AWAY = changed(2.0, "MOVED_FROM", name="a.txt", cookie=5)

MOVED: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "away, and nothing follows": ([AWAY], ["file.deleted a.txt in 0"]),
    "away, and a step begins": ([AWAY, {"t": 3.0, "src": "mark"}], ["file.deleted a.txt in 0"]),
    "away, and another file is touched": (
        [AWAY, changed(2.1, "DELETE", name="b.txt"), {"t": 3.0, "src": "mark"}], ["file.deleted a.txt in 0"]),
    "away, and another arrives": (
        [AWAY, changed(2.1, "MOVED_FROM", name="b.txt", cookie=6), changed(2.1, "MOVED_TO", name="c.txt", cookie=6)],
        ["file.deleted a.txt in 0"]),
    "within the folder": (
        [AWAY, changed(2.0, "MOVED_TO", name="b.txt", cookie=5)], ["file.moved b.txt in 0"]),
    "within the folder, with a word of the desktop between": (
        [AWAY, said(2.0, "window:activate", "frame", "A"), changed(2.0, "MOVED_TO", name="b.txt", cookie=5)],
        ["file.moved b.txt in 0"]),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "wanted"), MOVED.values(), ids=MOVED)
def test_what_was_moved_away_is_gone(
    rows: list[dict[str, Any]], wanted: list[str], tmp_path: Path
) -> None:
    """The half of a move whose other half never comes is a deletion, in the step in which it was
    heard."""
    path = lines(tmp_path / "c.jsonl", [*STANDS, *rows, TRUTH])
    found, step = [], -1
    for event in converted(path, tmp_path):
        step = event.data["step"] if event.kind == "step.began" else step
        if event.kind in ("file.deleted", "file.moved"):
            found.append(f"{event.kind} {event.data.get('to') or event.data['path']} in {step}")
    assert found == wanted

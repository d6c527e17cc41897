"""What holds of every scene that is recorded, for training or for a look."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from api.replay.recordings import read_recording
from lab.training.preferences import score_log


def must_have_each_kind(ways: Any) -> None:
    """Ways are right ones, near misses and wrong ones, several of each of the first two."""
    kinds = [way.split("-")[0] for way in ways]
    assert {"right", "near", "wrong"} == set(kinds)
    assert min(kinds.count("right"), kinds.count("near")) >= 2


def must_be_as_named(folder: Path, count: int) -> None:
    """Of an index's episodes those of a right way succeeded, and no others."""
    lines = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    assert len(lines) == count
    assert {
        line["id"] for line in lines if line["success"] != line["way"].startswith("right")
    } == set()
    for line in lines:
        segments = read_recording(folder / line["file"])
        rewards = score_log(line["task"], [event for one in segments for event in one.events])
        assert rewards[-1].success is line["success"], f"{line['id']}: the rules say otherwise"

"""A recorded session cut at its steps, so that any number of sandboxes can have it happen again
when a step begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import yaml

from api.replay.recordings import read_recording
from detectors.model.types import Event

RECORDING = Path(__file__).with_name("shop.mrec")
"""What `milestoned demo` recorded of its agent in a real Chromium: 18 steps in the shop of
examples/shop."""
TASK = Path(__file__).parents[2] / "examples" / "shop" / "task.yaml"
OWN = ("episode.opened", "episode.closed", "step.began", "step.ended", "step.sealed")
"""Kinds that the sandbox's own journal writes."""

Seen = tuple[str, str, dict[str, Any]]


class Tape(NamedTuple):
    """``before``: what was seen before the first step; ``steps``: what in each, as (source, kind,
    data)."""

    before: list[Seen]
    steps: list[list[Seen]]
    origin: str


def load() -> Tape:
    """Read the recording, and give its events step by step."""
    before: list[Seen] = []
    steps: list[list[Seen]] = []
    origin = ""
    for segment in read_recording(RECORDING):
        for event in segment.events:
            if event.kind == "step.began":
                steps.append([])
            elif event.kind not in OWN:
                (steps[-1] if steps else before).append(
                    (event.source, event.kind, dict(event.data))
                )
                origin = origin or _origin(event)
    return Tape(before, steps, origin)


def task(tape: Tape) -> dict[str, Any]:
    """The shop's task, about the address that the recording has."""
    written: dict[str, Any] = yaml.safe_load(TASK.read_text())
    return {**written, "origin": tape.origin}


def _origin(event: Event) -> str:
    if event.kind != "page.navigated" or not str(event.data.get("url")).startswith("http"):
        return ""
    parts = urlsplit(str(event.data["url"]))
    return f"{parts.scheme}://{parts.netloc}"

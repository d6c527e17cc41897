"""What the converter's tests share: convert a file, read the recording back, look at its events."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from api.replay.recordings import read_recording
from detectors.model.types import Event
from lab.convert import Conversion, convert


def converted(path: Path, folder: Path, **settings: Any) -> list[Event]:
    """The events of ``path``'s recording, as any reader gets them."""
    out = folder / "made.mrec"
    convert(Conversion(input=path, out=out, force=True, **settings))
    return [event for segment in read_recording(out) for event in segment.events]


def of(events: Iterable[Event], kind: str) -> list[Any]:
    """The data of every event of ``kind``."""
    return [event.data for event in events if event.kind == kind]


def gaps(events: Iterable[Event]) -> set[str]:
    """What the recording says that it can't show: sources, and parts of the browser's."""
    return {data.get("part") or data["source"] for data in of(events, "gap.began")}

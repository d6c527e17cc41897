"""Kinds that hold what was seen, for people: no rule hears them, and nothing is paid for them."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from detectors.model.kinds.kind import KindTable

LOOKS = KindTable("visual")


@LOOKS.kind("visual.dom_recorded")
class VisualDomRecorded(TypedDict):
    """What a page looked like, with `--visual`: `text` is a list of rrweb's events as JSON, or
    `part` of `parts` of one; `sequence` counts the messages of one document's `stream`, `sent_ms`
    is the browser's time as it was sent, in ms."""

    tab: str
    stream: str
    sequence: int
    sent_ms: int
    part: NotRequired[int]
    parts: NotRequired[int]
    text: str


@LOOKS.kind("visual.screenshot_taken")
class VisualScreenshotTaken(TypedDict):
    """A screenshot itself, with `--visual` and `--screen`; `screen.captured` names it by its
    sha256."""

    sha256: str
    format: str
    base64: str

"""Kinds that hold what was seen, for people: no rule hears them, and nothing is paid for them."""

from __future__ import annotations

from detectors.model.kinds.kind import EventKind, kind

LOOKS: dict[str, EventKind] = {
    "visual.dom_recorded": kind(
        "visual",
        "tab stream sequence sent_ms part? parts? text",
        "What a page looked like, with `--visual`: `text` is a list of rrweb's events as JSON, or"
        " `part` of `parts` of one; `sequence` counts the messages of one document's `stream`,"
        " `sent_ms` is the browser's time as it was sent, in ms.",
    ),
    "visual.screenshot_taken": kind(
        "visual",
        "sha256 format base64",
        "A screenshot itself, with `--visual` and `--screen`; `screen.captured` names it by its"
        " sha256.",
    ),
}

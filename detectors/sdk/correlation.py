"""What an event is about, for conditions that must be about the same: a tab, a file, a value."""

from __future__ import annotations

from typing import Any

from detectors.matchers.facts import split_path, value_at
from detectors.matchers.masked_text import MASKS
from detectors.matchers.plain import normal
from detectors.matchers.typed_base import json_text
from detectors.model.kinds.shapes import shape_at
from detectors.model.types import Event
from detectors.sdk.condition_reads import Read, Reads, told_on_request

MAX_CHARACTERS = 1000
"""Characters of a value; a longer one is none: it can't be told from others that begin alike."""

_VALUES = {
    "field.filled": "value",
    "clipboard.changed": "text",
    "agent.answered": "text",
    "agent.tool_called": "arguments",
    "agent.tool_returned": "result",
    "page.title_changed": "title",
    "page.navigated": "url",
    "probe.answered": "value",
    "widget.value_changed": "value",
}
"""What `value` means of an event; of all others it is their text."""


HIDDEN = ""
"""Stands for a value that nobody saw, in a story in which it is as wanted: no other value is
without a character."""


def can_have(kind: str, by: str) -> bool:
    """Whether an event of the kind can have what ``by`` names, and a plan can ask for it."""
    path = (
        ("path",)
        if by == "file"
        else (_VALUES.get(kind, "text"),)
        if by == "value"
        else split_path(by)
    )
    try:
        shape_at(kind, path)
        told_on_request(kind, bound_reads(by))
    except (LookupError, ValueError):
        return False
    return True


def bound_reads(by: str) -> Reads:
    """What is read of an event for what ``by`` names."""
    return Reads(() if by in ("file", "value") else (Read(split_path(by)),))


def value_of(event: Event, by: str) -> str | None:
    """What ``by`` names in the event, as a text; None where there is nothing, nothing of bounded
    length, or a secret: two that the daemon masked look alike."""
    if by == "file":
        found: Any = (
            f"{event.data.get('root')}/{event.data.get('path')}" if "path" in event.data else None
        )
    else:
        found = _named_value(event, by)
    if found is None:
        return None
    text = normal(found if isinstance(found, str) else json_text(found))
    return text if 0 < len(text) <= MAX_CHARACTERS and text not in MASKS else None


def hides_value(event: Event, by: str) -> bool:
    """Whether what ``by`` names in the event was masked as a whole."""
    return by != "file" and _named_value(event, by) in MASKS


def _named_value(event: Event, by: str) -> object:
    if by == "value":
        return event.data.get(_VALUES.get(event.kind, "text"))
    return value_at(event.data, split_path(by))

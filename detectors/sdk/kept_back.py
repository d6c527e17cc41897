"""What stands in an event, but was kept back or is not known: a condition that hangs on it is
neither true nor false."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from detectors.model.kinds.shapes import Path
from detectors.model.types import Event
from detectors.sdk.condition_reads import Read
from detectors.sdk.uploads import NO_SIZE, UPLOADS, unsized_places

SECRET_VALUE = "the field's value is a secret, kept back"
SECRET_COPY = "what was copied is a secret, kept back"


class Hidden(NamedTuple):
    """``paths`` in the event's data where it would stand, and ``reason``, why it is not known."""

    paths: tuple[Path, ...] = ()
    reason: str = ""


def find_hidden(event: Event, places: Collection[Read]) -> Hidden:
    """Return what is hidden in an event; of the sizes of uploads those that ``places`` lead to."""
    data = event.data
    if event.kind == "field.filled" and data.get("value") is None and data.get("has_value") is True:
        return Hidden((("value",),), SECRET_VALUE)
    if event.kind == "clipboard.changed" and data.get("unread_reason") == "secret":
        return Hidden((("text",), ("sha256",), ("length",)), SECRET_COPY)
    if event.kind in UPLOADS:
        return Hidden(unsized_places(event, places), NO_SIZE)
    return Hidden()

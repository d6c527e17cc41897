"""What the fold returns of a message."""

from __future__ import annotations

from typing import Any, NamedTuple


class AxObservation(NamedTuple):
    """Something that happened on the desktop: an event's kind and its data."""

    kind: str
    data: dict[str, Any]

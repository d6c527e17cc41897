"""What the fold gives: an event's kind and its data."""

from __future__ import annotations

from typing import Any, NamedTuple


class AxObservation(NamedTuple):
    """Happened."""

    kind: str
    data: dict[str, Any]

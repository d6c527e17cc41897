"""What the fold returns of a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class AxObservation(NamedTuple):
    """Something that happened on the desktop: an event's kind and its data."""

    kind: str
    data: Mapping[str, object]

"""What the rules about probes share."""

from __future__ import annotations

from detectors.registry import Keys
from detectors.types import Event


def answered(event: Event) -> Keys:
    """Index keys of an answer: whose it is."""
    return (str(event.data.get("probe")),)

"""What the rules about probes share."""

from __future__ import annotations

from detectors.model.types import Event
from detectors.sdk.registry import Keys


def answer_keys(event: Event) -> Keys:
    """Index keys of an answer: whose it is."""
    return (str(event.data.get("probe")),)

"""What can be wrong with a file that is to be converted."""

from __future__ import annotations

from agentd.core.errors import UsageError
from detectors.model.json_value import JsonValue

MAX_CHARACTERS = 120


class ConvertError(UsageError):
    """A file is none that can be converted; the message names file, place, value and what was
    wanted."""


def format_value(value: JsonValue) -> str:
    """A value as it stands in a message."""
    text = repr(value)
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"

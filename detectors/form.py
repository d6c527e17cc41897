"""What a form's field holds, for the rules that ask: reading a ``field.filled`` event's data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detectors.matchers import TextMatch


def holds(data: Mapping[str, Any], wanted: TextMatch | bool, trusted: bool) -> bool:
    """Whether the field holds what is wanted: a text, or checked or not for a box (bool).

    ``trusted``: a value that a script filled in does not count. Null (a password) equals nothing.
    """
    if trusted and data.get("trusted") is False:
        return False
    if isinstance(wanted, bool):
        return data.get("checked") is wanted
    value = data.get("value")
    if isinstance(value, list):
        return any(isinstance(item, str) and wanted.matches(item) for item in value)
    return isinstance(value, str) and data.get("checked") is not False and wanted.matches(value)

"""What a source masked before the log: `***` stands where a secret stood, and nobody knows any more what it was."""

from __future__ import annotations

from typing import Any

MASK = "***"


def is_masked(value: Any) -> bool:
    """Whether it is a text of which nothing but the mask is left."""
    return isinstance(value, str) and value.strip() == MASK


def may_be(masked: str, text: str) -> bool:
    """Whether ``masked`` may have been ``text``: what is left of it stands there, at its ends and in order."""
    first, *middle, last = masked.split(MASK)
    if not text.startswith(first) or not text.endswith(last):
        return False
    at = len(first)
    for part in middle:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return at <= len(text) - len(last)

"""Odd data is no data: an event's fields come from elsewhere, and the engine must be total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def mapping(value: object) -> Mapping[str, Any]:
    """The object that ``value`` is, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> Sequence[Any]:
    """The list that ``value`` is, or an empty one."""
    return value if isinstance(value, (list, tuple)) else ()

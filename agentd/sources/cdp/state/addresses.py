"""Addresses are kept and reported up to a length: a page can give itself one of 2 MB as often as it
likes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detectors.model.kinds.limits import LIMITS, MAX_ADDRESS

_FIELDS: Mapping[str, tuple[str, ...]] = {
    kind: names
    for kind, limits in LIMITS.items()
    if (names := tuple(str(one.path[0]) for one in limits if one.longest == MAX_ADDRESS + 1))
}
"""Kind of an event → its fields that are addresses of bounded length."""


def bound_address(url: str) -> str:
    """Cut an address at what conditions look at, and one character more, by which they know that it
    goes on."""
    return url[: MAX_ADDRESS + 1]


def bound_addresses(kind: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the ``data`` of an observation with its addresses cut."""
    long = [
        name
        for name in _FIELDS.get(kind, ())
        if isinstance(data.get(name), str) and len(data[name]) > MAX_ADDRESS
    ]
    return {**data, **{name: bound_address(data[name]) for name in long}} if long else data

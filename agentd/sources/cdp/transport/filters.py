"""Which targets a DevTools target filter lets through, as the browser itself reads one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Filter = Sequence[Mapping[str, object]]

ALMOST_ALL: Filter = ({"type": "browser", "exclude": True}, {"type": "tab", "exclude": True}, {})
"""The filter that holds where none is given."""


def passes(wanted: Filter | None, kind: str) -> bool:
    """Whether a target of that type is wanted: the first entry for it decides, and without one it
    is not."""
    for entry in ALMOST_ALL if wanted is None else wanted:
        if entry.get("type") in (None, kind):
            return not entry.get("exclude")
    return False

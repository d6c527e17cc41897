"""Gaps that a full journal could not record, kept until it can: where they began and ended.

Without them, sources that saw nothing would count as seeing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

OPENS = ("gap.began", "alarm.raised")
ENDS = ("gap.ended", "alarm.ended")
MAX_GAPS = 4_096
"""Sources and parts kept apart; what is beyond is counted as dropped."""

GapEvent = tuple[str, Mapping[str, object]]
"""Kind and data."""


class _Key(NamedTuple):
    noun: str
    source: str
    part: str | None


class PendingGaps:
    """At most two events for each source or part: those that lead to the state that it has now."""

    def __init__(self) -> None:
        self._events: dict[_Key, list[GapEvent]] = {}

    def __bool__(self) -> bool:
        return bool(self._events)

    def take(self, kind: str, data: Mapping[str, Any]) -> bool:
        """Keep an event; returns False where it is no gap or alarm, or there are too many."""
        if kind not in OPENS + ENDS:
            return False
        key = _Key(kind.partition(".")[0], str(data.get("source")), data.get("part"))
        if kind == "gap.began" and key.part is None:
            self._drop_parts(key)
        if key not in self._events and len(self._events) >= MAX_GAPS:
            return False
        self._add(key, kind, data)
        return True

    def _drop_parts(self, whole: _Key) -> None:
        """Drop the partial gaps of a source: its whole gap ends them; they are reported anew."""
        for key in list(self._events):
            if (key.noun, key.source) == (whole.noun, whole.source) and key.part is not None:
                del self._events[key]

    def _add(self, key: _Key, kind: str, data: Mapping[str, object]) -> None:
        """Add the beginning or end of a gap that could not be kept; an end that is followed by a
        beginning is one gap that goes on."""
        events = self._events.setdefault(key, [])
        last = events[-1][0] if events else None
        if kind in OPENS and last in ENDS:
            # What was observed in between could not be kept: it is one gap, which goes on.
            events.pop()
            if not events:
                del self._events[key]
        elif last is None or (last in OPENS) != (kind in OPENS):
            events.append((kind, data))

    def take_all(self) -> list[GapEvent]:
        """Hand out all events, those of a source or part in their order; none is pending then."""
        pending = [event for events in self._events.values() for event in events]
        self._events.clear()
        return pending

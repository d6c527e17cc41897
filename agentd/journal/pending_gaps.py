"""What a full journal owes: where gaps began and ended. Without it, sources that saw nothing would
count as seeing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OPENS = ("gap.began", "alarm.raised")
ENDS = ("gap.ended", "alarm.ended")
MAX_GAPS = 4_096
"""Sources and parts kept apart; what is beyond is counted as dropped."""

Told = tuple[str, Mapping[str, Any]]


class Owed:
    """At most two events for each source or part: those that leave it as it is now, and as blind as
    it was."""

    def __init__(self) -> None:
        self._owed: dict[tuple[str, str, str | None], list[Told]] = {}

    def __bool__(self) -> bool:
        return bool(self._owed)

    def take(self, kind: str, data: Mapping[str, Any]) -> bool:
        """Whether it is owed from now on; False: it is none of these, or there are too many."""
        if kind not in OPENS + ENDS:
            return False
        noun, source, of = key = (kind.partition(".")[0], str(data.get("source")), data.get("of"))
        if kind == "gap.began" and of is None:
            # The whole source's gap ends its partial ones, which are told anew after it.
            for part in [
                one for one in self._owed if one[:2] == (noun, source) and one[2] is not None
            ]:
                del self._owed[part]
        if key not in self._owed and len(self._owed) >= MAX_GAPS:
            return False
        told = self._owed.setdefault(key, [])
        if kind in OPENS and told and told[-1][0] in ENDS:
            # What was seen in between could not be kept: it is one gap, which goes on.
            told.pop()
            if not told:
                del self._owed[key]
        elif not told or (told[-1][0] in OPENS) != (kind in OPENS):
            told.append((kind, data))
        return True

    def pay(self) -> list[Told]:
        """All that is owed, each source's in its order; then nothing is."""
        owed = [one for told in self._owed.values() for one in told]
        self._owed.clear()
        return owed

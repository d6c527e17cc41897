"""Partial blindness of the browser source: said for a moment, so that it blinds the step in which
it fell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from agentd.sources.cdp.state.state import CdpObservation

REQUESTS = ("request",)
PAGES = ("page",)
DOWNLOADS = ("download",)
DIALOGS = ("dialog",)
PAGE_PARTS = ("element", "field", "form", "text")
"""What a document's observer tells of."""

TEXTS = ("text.appeared", "text.disappeared", "text.shown", "element.state_changed")
"""What a page tells without anybody's doing."""


def gap(parts: Iterable[str], reason: str) -> Iterator[CdpObservation]:
    """These parts missed something of which no more than this can be known; from here on they
    see."""
    parts = tuple(parts)
    for part in parts:
        yield CdpObservation("gap.began", {"source": "cdp", "part": part, "reason": reason})
    for part in parts:
        yield CdpObservation("gap.ended", {"source": "cdp", "part": part})


class Blindness:
    """Which parts are blind now, and for how many reasons: a gap is told once, and ends with the
    last of them."""

    def __init__(self) -> None:
        self._reasons: Counter[str] = Counter()

    def tells(self, seen: CdpObservation) -> bool:
        """Whether an observation is to be told; all that are no gaps are."""
        part = seen.data.get("part", "")
        if seen.kind == "gap.began":
            self._reasons[part] += 1
            return self._reasons[part] == 1
        if seen.kind == "gap.ended":
            self._reasons[part] -= 1
            return self._reasons[part] == 0
        return True

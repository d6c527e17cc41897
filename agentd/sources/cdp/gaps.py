"""Partial blindness of the browser source: said for a moment, so that it blinds the step in which it fell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentd.sources.cdp.state import Seen

REQUESTS = ("request",)
DOWNLOADS = ("download",)
PAGE_PARTS = ("element", "field", "form", "text")
"""What a document's observer tells of."""

TEXTS = ("text.appeared", "text.disappeared")
"""What a page tells without anybody's doing."""


def gap(parts: Iterable[str], reason: str) -> Iterator[Seen]:
    """These parts missed something of which no more than this can be known; from here on they see."""
    parts = tuple(parts)
    for part in parts:
        yield Seen("gap.began", {"source": "cdp", "of": part, "reason": reason})
    for part in parts:
        yield Seen("gap.ended", {"source": "cdp", "of": part})

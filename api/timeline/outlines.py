"""The outlines of the episodes that people look at: each log is read once, and from then on only
what is new of it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

from api.log.reader import decoded
from api.log.segments import StoredSegments
from api.rewards.explaining import Explained
from api.timeline.timeline import Outline

SEGMENTS_A_LOOK = 64
MAX_SPANS = 200_000
"""Steps of all outlines that are kept; the one that nobody looked at for longest makes room."""

MAX_EXPLAINED = 32


class Outlines:
    """The outlines of one replica."""

    def __init__(self, segments: StoredSegments) -> None:
        self._segments = segments
        self._kept: OrderedDict[str, Outline] = OrderedDict()
        self._explained: OrderedDict[tuple[str, int], list[Explained]] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def forget(self) -> None:
        """Keep nothing: an episode was deleted."""
        self._kept.clear()
        self._explained.clear()

    def explained(self, episode: str, through: int) -> list[Explained] | None:
        """What became of each milestone up to event ``through``, where somebody asked before."""
        return self._explained.get((episode, through))

    def explain(self, episode: str, through: int, found: list[Explained]) -> None:
        """Keep what became of each milestone."""
        self._explained[episode, through] = found
        while len(self._explained) > MAX_EXPLAINED:
            self._explained.popitem(last=False)

    async def load(self, episode: str, through: int) -> Outline:
        """The outline of an episode up to its event ``through`` at least."""
        lock = self._locks.setdefault(episode, asyncio.Lock())
        async with lock:
            outline = self._kept.pop(episode, None) or Outline()
            while outline.through < through:
                rows = await self._segments.list_after(episode, outline.through, SEGMENTS_A_LOOK)
                if not rows:
                    break
                await asyncio.to_thread(_take, outline, rows)
            self._keep(episode, outline)
            return outline

    def _keep(self, episode: str, outline: Outline) -> None:
        self._kept[episode] = outline
        spans = sum(len(one.spans) for one in self._kept.values())
        while spans > MAX_SPANS and len(self._kept) > 1:
            spans -= len(self._kept.popitem(last=False)[1].spans)


def _take(outline: Outline, rows: Sequence[Any]) -> None:
    for row in rows:
        for event in decoded(bytes(row.frame)):
            if event.seq > outline.through:
                outline.take(event)

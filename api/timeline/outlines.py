"""The outlines of the episodes that people look at: each log is read once, and from then on only
what is new of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

from api.log.frames import decode_frame
from api.log.segments import StoredSegments
from api.rewards.explaining import Explained
from api.timeline.timeline import Outline
from detectors.model.caches import SizedCache
from detectors.model.memory import size_of

SEGMENTS_A_LOOK = 64
OUTLINES_BYTES = 64 * 1024 * 1024
"""Bytes of the outlines that are kept; the one that nobody looked at for longest makes room."""

EXPLAINED_BYTES = 16 * 1024 * 1024


class Outlines:
    """The outlines of one replica."""

    def __init__(self, segments: StoredSegments) -> None:
        self._segments = segments
        self.kept: SizedCache[str, Outline] = SizedCache(OUTLINES_BYTES)
        self.explanations: SizedCache[tuple[str, int], list[Explained]] = SizedCache(
            EXPLAINED_BYTES
        )
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def forget(self) -> None:
        """Keep nothing: an episode was deleted."""
        self.kept.clear()
        self.explanations.clear()

    def explained(self, episode: str, through: int) -> list[Explained] | None:
        """What became of each milestone up to event ``through``, where somebody asked before."""
        return self.explanations.get((episode, through))

    def explain(self, episode: str, through: int, found: list[Explained]) -> None:
        """Keep what became of each milestone."""
        self.explanations.put((episode, through), found, size_of(found))

    async def load(self, episode: str, through: int) -> Outline:
        """The outline of an episode up to its event ``through`` at least."""
        lock = self._locks.setdefault(episode, asyncio.Lock())
        async with lock:
            outline = self.kept.get(episode) or Outline()
            known = outline.through
            while outline.through < through:
                rows = await self._segments.list_after(episode, outline.through, SEGMENTS_A_LOOK)
                if not rows:
                    break
                await asyncio.to_thread(_take, outline, rows)
            if outline.through > known:
                self.kept.put(episode, outline, outline.bytes)
            return outline


def _take(outline: Outline, rows: Sequence[Any]) -> None:
    """Add the events of stored segments that the outline has not."""
    for row in rows:
        for event in decode_frame(bytes(row.frame)):
            if event.seq > outline.through:
                outline.take(event)

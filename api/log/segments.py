"""The stored segments of an episode, in order: each as its daemon sent it, or several in a row."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from sqlalchemy import bindparam, select

from api.db.database import Database
from api.log.frames import segments_beyond
from api.log.rows import FrameRow, SegmentRow
from api.log.tables import segments

_NEXT = (
    select(segments.c.first, segments.c.last, segments.c.frame)
    .where(segments.c.episode == bindparam("episode"), segments.c.last > bindparam("after"))
    .order_by(segments.c.first)
    .limit(bindparam("count"))
)

_NEXT_ROW = (
    select(segments)
    .where(segments.c.episode == bindparam("episode"), segments.c.last > bindparam("after"))
    .order_by(segments.c.first)
    .limit(1)
)


class StoredSegments:
    """Reads the segments of every episode in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_after(self, episode: str, after: int, count: int) -> Sequence[FrameRow]:
        """At most ``count`` stored segments (first, last, frame) that hold events beyond
        ``after``."""
        return await self._database.all(_NEXT, {"episode": episode, "after": after, "count": count})

    async def rows(self, episode: str, after: int = 0) -> AsyncIterator[SegmentRow]:
        """Every stored row beyond event ``after``, in order, one in memory at a time.

        Where an episode is packed meanwhile, what was given already is not given again.
        """
        while row := await self._database.first(_NEXT_ROW, {"episode": episode, "after": after}):
            stored = SegmentRow(row.first, row.last, row.prev, row.digest, bytes(row.frame))
            yield segments_beyond(stored, after) if stored.first <= after else stored
            after = stored.last

    async def frames(self, episode: str, after: int = 0) -> AsyncIterator[bytes]:
        """The frames of the rows that `rows` gives."""
        async for row in self.rows(episode, after):
            yield row.frame

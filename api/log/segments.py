"""The stored segments of an episode, as its daemon sent them, in order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from sqlalchemy import bindparam, select

from api.db.database import Database
from api.log.rows import FrameRow
from api.log.tables import segments

_NEXT = (
    select(segments.c.first, segments.c.last, segments.c.frame)
    .where(segments.c.episode == bindparam("episode"), segments.c.last > bindparam("after"))
    .order_by(segments.c.first)
    .limit(bindparam("count"))
)


class StoredSegments:
    """Reads the segments of every episode in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_after(self, episode: str, after: int, count: int) -> Sequence[FrameRow]:
        """At most ``count`` stored segments (first, last, frame) that hold events beyond
        ``after``."""
        return await self._database.all(_NEXT, {"episode": episode, "after": after, "count": count})

    async def frames(self, episode: str, after: int = 0) -> AsyncIterator[bytes]:
        """Every stored frame beyond event ``after``, in order, one in memory at a time."""
        while rows := await self.list_after(episode, after, 1):
            after = rows[0].last
            yield bytes(rows[0].frame)

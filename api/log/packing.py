"""Packs the segments of closed episodes together, in the background of a service.

A live step makes short segments: each costs a row, an entry of the index and what zstd has to learn
anew. Once an episode is closed and signed, nothing is added to its log, so the texts of its
segments are compressed together and a row holds several: the very same texts, so that digests,
chain and signatures are what they were (docs/decisions/0038-packed-after-the-close.md). What does
not make its chain is left as it is, for `audit verify` to name. Of many replicas one works at a
time; an episode is packed in one transaction, so a crash at any moment leaves it whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import structlog
import zstandard
from sqlalchemy import bindparam, delete, insert, select

from api.core.background import PeriodicTask
from api.core.errors import GoneError, NotFoundError
from api.db.database import Database, now
from api.episodes.store import lock_episode
from api.log.frames import linked_texts
from api.log.rows import SegmentRow
from api.log.segments import StoredSegments
from api.log.tables import packings, segments
from common.frames import Packer, live_packer

AFTER_S = 60.0
"""How long a signed episode is left as it was sent, in seconds: its readers come right away."""
EVERY_S = 5.0
RETRY_S = 30.0
MAX_TEXT = 1 << 18
"""Bytes of text in a pack: more of it saves little, and who reads one event unpacks all."""
TOGETHER = 64
"""The most episodes of one turn."""
_KEY = 0x6D696C73
"""Advisory lock on Postgres, held by the replica that packs."""

_DUE = (
    select(packings.c.episode)
    .where(packings.c.queued_at <= bindparam("before"))
    .order_by(packings.c.queued_at)
    .limit(TOGETHER)
)
_DONE = delete(packings).where(packings.c.episode == bindparam("of_episode"))
_REPLACED = delete(segments).where(
    segments.c.episode == bindparam("of_episode"),
    segments.c.first >= bindparam("from_first"),
    segments.c.first <= bindparam("to_first"),
)

log = structlog.get_logger(__name__)


@dataclass
class Pack:
    """Stored rows that follow each other, and the texts in them."""

    rows: list[SegmentRow] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    size: int = 0

    def has_room(self, texts: Sequence[bytes]) -> bool:
        """Whether ``texts`` fit in beside what is there."""
        return not self.rows or self.size + sum(map(len, texts)) <= MAX_TEXT

    def add(self, row: SegmentRow, texts: Sequence[bytes]) -> None:
        """Add a stored row, which follows those that are there."""
        self.rows.append(row)
        self.texts += texts
        self.size += sum(map(len, texts))


@dataclass(frozen=True)
class Replacement:
    """One row for the rows whose first events are ``first`` to ``last_first``."""

    count: int
    last_first: int
    first: int
    last: int
    prev: str
    digest: str
    frame: bytes


def compress_pack(pack: Pack, packer: Packer) -> Replacement:
    """Compress the texts of a pack into the frame of one row."""
    begin, end = pack.rows[0], pack.rows[-1]
    frame = packer.pack(b"".join(pack.texts))
    return Replacement(
        len(pack.rows), end.first, begin.first, end.last, begin.prev, end.digest, frame
    )


class Packing:
    """The one who packs, for one database."""

    def __init__(self, database: Database, stored: StoredSegments) -> None:
        self._database, self._stored = database, stored
        self._packer = live_packer()
        self.periodic = PeriodicTask(
            "packing",
            self._run,
            retry_s=RETRY_S,
            postponed="Packing has to wait.",
            failed="Packing failed.",
        )

    async def _run(self) -> float:
        return 0.0 if await self.turn() == TOGETHER else EVERY_S

    async def turn(self, after_s: float = AFTER_S) -> int:
        """Pack the episodes that were signed ``after_s`` seconds ago, at most `TOGETHER`; return
        how many were looked at.

        Raises `UnavailableError`.
        """
        before = now(-timedelta(seconds=after_s))
        if await self._database.first(_DUE, {"before": before}) is None:
            return 0
        async with self._database.alone(_KEY) as mine:
            if not mine:
                return 0
            due = await self._database.all(_DUE, {"before": before})
            for row in due:
                await self._pack(row.episode)
            return len(due)

    async def _pack(self, episode: str) -> None:
        """Put a closed episode's segments together; one that does not read any more stays as it
        is."""
        replacements: list[Replacement] = []
        try:
            async for pack in self._packs(episode):
                if len(pack.rows) > 1:
                    replacements.append(await asyncio.to_thread(compress_pack, pack, self._packer))
        except (zstandard.ZstdError, ValueError) as error:
            # It was stored whole: somebody changed it since.
            log.error("A closed episode can't be packed.", episode=episode, why=str(error))
            replacements = []
        await self._replace(episode, replacements)

    async def _packs(self, episode: str) -> AsyncIterator[Pack]:
        """Yield an episode's segments by packs of a bounded size."""
        pack = Pack()
        async for row in self._stored.rows(episode):
            texts = await asyncio.to_thread(linked_texts, row)
            if not pack.has_room(texts):
                yield pack
                pack = Pack()
            pack.add(row, texts)
        yield pack

    async def _replace(self, episode: str, replacements: Sequence[Replacement]) -> None:
        """Write the packs in the place of their rows, all or none, and take the episode out of the
        queue."""
        async with self._database.write() as conn:
            try:
                await lock_episode(conn, episode)
            except (NotFoundError, GoneError):
                return  # deleted meanwhile, its place in the queue too
            for pack in replacements:
                removed = await conn.execute(
                    _REPLACED,
                    {
                        "of_episode": episode,
                        "from_first": pack.first,
                        "to_first": pack.last_first,
                    },
                )
                if removed.rowcount != pack.count:
                    raise RuntimeError(f"episode {episode}: its segments changed while packed")
                await conn.execute(
                    insert(segments),
                    {
                        "episode": episode,
                        "first": pack.first,
                        "last": pack.last,
                        "prev": pack.prev,
                        "digest": pack.digest,
                        "frame": pack.frame,
                    },
                )
            await conn.execute(_DONE, {"of_episode": episode})

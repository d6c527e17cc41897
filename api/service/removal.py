"""Takes episodes out of the log, whole: what they told and earned goes, a signed tombstone stays.

Each goes under the lock of its row, so no segment is half in it; a daemon that comes after that is
told 410. What other replicas remember of it they forget on the word that is sent with the commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import orjson
from sqlalchemy import and_, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from api.audit.tables import episode_facts
from api.commands.tables import commands
from api.core.errors import ForeignKeyError
from api.core.notify import GONE, Notifier
from api.core.signing import Signer
from api.db.database import Database
from api.episodes.label_index import has_mark, label_key
from api.episodes.partitions import Partitions
from api.episodes.rows import EpisodeRow
from api.episodes.shared_transaction import ALONE
from api.episodes.store import lock_episode
from api.episodes.tables import (
    closings,
    episode_marks,
    episodes,
    idempotency,
    tombstones,
    trace_exports,
)
from api.episodes.tombstones import document, find, gone_error, tombstone_row
from api.fleet.tables import sandboxes
from api.ingest.tables import engine_states
from api.labelling.store import removed_with
from api.log.broadcast import CHANNEL
from api.log.tables import packings, segments, steps
from api.ors.tables import ors_calls, ors_sessions
from api.rewards.tables import milestones, rewards
from api.start_states.tables import start_states
from api.verdicts.opinions import given_up
from api.verdicts.tables import escalations, opinions, verdicts

TOGETHER = 20
"""The most episodes in one transaction: an append to one of them waits for all of it."""

_LOCKED = (
    select(episodes)
    .where(episodes.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(episodes.c.id)
    .with_for_update()
)
_ROWS = (
    engine_states,
    segments,
    steps,
    milestones,
    rewards,
    commands,
    closings,
    packings,
    episode_facts,
    start_states,
    episode_marks,
    ors_sessions,
    ors_calls,
    trace_exports,
)
_BEYOND = (escalations, verdicts, opinions)
"""What was asked beyond the rules; a kept opinion may quote the episode that paid for it."""


class Removal:
    """Deletes from one database in the name of ``signer``."""

    def __init__(self, database: Database, signer: Signer, notifier: Notifier) -> None:
        self._database, self._signer, self._notifier = database, signer, notifier
        self._partitions = Partitions(database)
        self._refused: str | None = None

    def refuse(self, why: str) -> None:
        """Delete nothing from now on: a tombstone by another key would count as forged."""
        self._refused = why

    @property
    def refused(self) -> bool:
        """Whether nothing can be deleted here."""
        return self._refused is not None

    def _may(self) -> None:
        if self._refused is not None:
            raise ForeignKeyError(f"nothing can be deleted here: {self._refused}")

    async def delete(self, episode: str, reason: str, by: str) -> dict[str, Any]:
        """Delete one episode; gives its tombstone as the wire has it. Raises `NotFoundError`,
        `GoneError`, `ForeignKeyError`."""
        self._may()
        tombstone_before = await find(self._database, episode)
        if tombstone_before is not None:
            raise gone_error(tombstone_before)  # without waiting for whoever writes
        async with self._database.write() as conn:
            await self._alone(conn)
            row = await lock_episode(conn, episode)
            tombstone = await self._remove(conn, row, reason, by)
            await self._tell(conn)
        self._notifier.wake(GONE)
        return document(tombstone)

    async def due(
        self, before: str, labels: Sequence[tuple[str, str]] = (), abandoned: bool = False
    ) -> list[str]:
        """Episodes that were closed before ``before`` and have all ``labels``, the oldest first.

        ``abandoned``: also those that were opened before then and never closed.
        """
        old = episodes.c.closed_at < before
        if abandoned:
            old = or_(old, and_(episodes.c.closed_at.is_(None), episodes.c.opened_at < before))
        wanted = [has_mark(label_key(name, value)) for name, value in labels]
        found = (
            select(episodes.c.id).where(old, *wanted).order_by(episodes.c.opened_at, episodes.c.id)
        )
        return [row.id for row in await self._database.all(found)]

    async def prune(self, due: Sequence[str], reason: str, by: str) -> int:
        """Delete those of ``due`` that are still there; gives how many. What is done stays done if
        it is stopped."""
        self._may()
        gone = 0
        for batch in _batches(sorted(due)):
            async with self._database.write() as conn:
                await self._alone(conn)
                rows = (await conn.execute(_LOCKED, {"ids": batch})).all()
                for row in rows:
                    await self._remove(conn, row, reason, by)
                await self._tell(conn)
            self._notifier.wake(GONE)
            gone += len(rows)
        return gone

    async def drop_empty(self) -> list[date]:
        """Drop the partitions of days of which nothing is left; gives those days."""
        return await self._partitions.drop_empty()

    async def _remove(self, conn: AsyncConnection, row: EpisodeRow, reason: str, by: str) -> Any:
        values = tombstone_row(self._signer, row, reason, by)
        await conn.execute(insert(tombstones), values)
        await conn.run_sync(given_up, [row.id])
        for table in (*_ROWS, *_BEYOND):
            await conn.execute(delete(table).where(table.c.episode == row.id))
        await conn.execute(removed_with(row.id))
        held = (sandboxes.c.episode == row.id, sandboxes.c.state == "busy")
        await conn.execute(update(sandboxes).where(*held).values(state="idle", episode=None))
        # The answer that opened it would else be given again.
        await conn.execute(delete(idempotency).where(idempotency.c.intent == row.intent))
        await conn.execute(delete(episodes).where(episodes.c.id == row.id))
        return (await conn.execute(select(tombstones).where(tombstones.c.episode == row.id))).one()

    async def _alone(self, conn: AsyncConnection) -> None:
        # Budgets are given back what open questions hold of them.
        if not self._database.embedded:
            await conn.execute(ALONE)

    async def _tell(self, conn: AsyncConnection) -> None:
        if not self._database.embedded:
            await conn.execute(select(func.pg_notify(CHANNEL, orjson.dumps(["", [GONE]]).decode())))


def _batches(ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), TOGETHER):
        yield list(ids[start : start + TOGETHER])

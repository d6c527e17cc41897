"""One transaction for many who wait: work of the cascade's queue, one after the other, committed at
once.

On Postgres an advisory lock lets one such transaction of all replicas run at a time, and it takes
the locks of its episodes first and sorted, as appends do: so nobody waits in a circle, and what a
budget says is true until the commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, bindparam, func, select

from api.core.errors import UnavailableError
from api.db.database import Database
from api.episodes.tables import episodes

T = TypeVar("T")
TOGETHER = 64
ADVISORY_KEY = 0x6D696C71
"""Any number that nobody else takes in this database."""
ALONE = select(func.pg_advisory_xact_lock(ADVISORY_KEY))
"""On Postgres, before any other lock: whoever writes budgets waits for whoever else does, and nobody in a circle."""

_LOCKED = (
    select(episodes.c.id)
    .where(episodes.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(episodes.c.id)
    .with_for_update()
)


@dataclass(slots=True, eq=False)
class _CommitTicket:
    work: Callable[[Connection], Any]
    episode: str | None
    done: bool = False
    result: Any = None
    error: Exception | None = None


class Together:
    """The one writer of a replica's cascade."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pen = asyncio.Lock()
        self._waiting: list[_CommitTicket] = []

    async def do(self, work: Callable[[Connection], T], episode: str | None = None) -> T:
        """What ``work`` gives, durable; with ``episode``, under the lock of its row. ``work`` must
        not fail.

        Raises `UnavailableError`, with nothing written of all that was to be committed together; so
        does everybody whose work it was.
        """
        ticket = _CommitTicket(work, episode)
        self._waiting.append(ticket)
        try:
            async with self._pen:
                if not ticket.done:
                    await self._write()
        finally:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
        if ticket.error is not None:
            raise ticket.error
        return ticket.result  # type: ignore[no-any-return]

    async def _write(self) -> None:
        # Who holds the pen and is not done yet is among the first, for those before it were done
        # before it.
        batch, self._waiting = self._waiting[:TOGETHER], self._waiting[TOGETHER:]

        def work(conn: Connection) -> None:
            if not self._database.embedded:
                conn.execute(ALONE)
            whose = sorted({one.episode for one in batch if one.episode is not None})
            if whose:
                conn.execute(_LOCKED, {"ids": whose})
            for one in batch:
                one.result = one.work(conn)

        try:
            await self._database.run(work)
        except BaseException as error:
            # Whoever had the pen may have been cancelled; the others only know that nothing is
            # known to be written.
            told = (
                error
                if isinstance(error, Exception)
                else UnavailableError("whoever wrote for several was stopped")
            )
            for one in batch:
                one.result, one.error = None, told
            raise
        finally:
            for one in batch:
                one.done = True

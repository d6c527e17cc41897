"""One transaction for many callers: work of the cascade's queue, run in turn and committed at once.

On Postgres an advisory lock lets one such transaction of all replicas run at a time, and it takes
the locks of its episodes first and sorted, as appends do: so nobody waits in a circle, and what a
budget says is true until the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, bindparam, func, select

from api.core.errors import UnavailableError
from api.db.database import Database
from api.db.group_commit import GroupCommit, Ticket
from api.episodes.tables import episodes

T = TypeVar("T")
ADVISORY_KEY = 0x6D696C71
"""Any number that nobody else takes in this database."""
ALONE = select(func.pg_advisory_xact_lock(ADVISORY_KEY))
"""On Postgres, before any other lock: one writer of budgets at a time, and nobody in a circle."""

_LOCKED = (
    select(episodes.c.id)
    .where(episodes.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(episodes.c.id)
    .with_for_update()
)


@dataclass(slots=True, eq=False)
class _WorkTicket(Ticket):
    work: Callable[[Connection], Any]
    episode: str | None
    result: Any = None
    error: Exception | None = None


class SharedTransaction:
    """The one writer of a replica's cascade."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._group = GroupCommit[_WorkTicket](self._commit)

    async def do(self, work: Callable[[Connection], T], episode: str | None = None) -> T:
        """Return what ``work`` returns, durable; with ``episode``, under the lock of its row.

        ``work`` must not fail. Raises `UnavailableError` with nothing written of the whole
        transaction; so does everybody whose work was in it.
        """
        ticket = _WorkTicket(work, episode)
        await self._group.settle(ticket)
        if ticket.error is not None:
            raise ticket.error
        return ticket.result  # type: ignore[no-any-return]

    async def _commit(self, batch: Sequence[_WorkTicket], own: _WorkTicket) -> None:
        """Do the work of all tickets in one transaction; what breaks it is the error of each."""
        try:
            await self._database.run(lambda conn: self._run_all(conn, batch))
        except BaseException as error:
            # The caller that commits may have been cancelled; of the others' work nothing is known
            # to be written.
            reason = (
                error
                if isinstance(error, Exception)
                else UnavailableError("whoever wrote for several was stopped")
            )
            for ticket in batch:
                ticket.result, ticket.error = None, reason
            raise
        finally:
            for ticket in batch:
                ticket.done = True

    def _run_all(self, conn: Connection, batch: Sequence[_WorkTicket]) -> None:
        """Lock the episodes in one order, so that replicas wait in no circle, and do each ticket's
        work."""
        if not self._database.embedded:
            conn.execute(ALONE)
        ids = sorted({ticket.episode for ticket in batch if ticket.episode is not None})
        if ids:
            conn.execute(_LOCKED, {"ids": ids})
        for ticket in batch:
            ticket.result = ticket.work(conn)

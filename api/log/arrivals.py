"""The order in which segments of all episodes were committed, by whichever replica: what a stream
of all goes by.

A number that is given out before its commit does not do: a later number may be committed first, and
who had read on would never see the earlier one. On Postgres each row therefore has the id of its
transaction, and a reader goes only as far as the oldest transaction that still runs: rows below it
are all there, and none is added to them. On SQLite there is one writer, so numbers are in the order
of commits by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    bindparam,
    delete,
    func,
    literal,
    literal_column,
    select,
    tuple_,
    update,
)

from api.db.database import Database
from api.episodes.tables import episodes
from api.log.rows import ArrivalRow
from api.log.tables import arrivals
from api.log.upserts import Rows

KEPT = 500_000
"""Arrivals that are kept to resume from; older ones are forgotten."""
PAGE = 256

_XACT: ColumnElement[int] = literal_column("CAST(CAST(pg_current_xact_id() AS text) AS bigint)")
_SETTLED: ColumnElement[int] = literal_column(
    "CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)"
)
_NOT_YET: ColumnElement[int] = literal_column(
    "CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint)"
)
_FROM_ELSEWHERE = update(arrivals).where(arrivals.c.xact >= _NOT_YET).values(xact=0)
_OF_EPISODES = (
    select(arrivals, episodes.c.labels, episodes.c.tenant, episodes.c.task)
    .join(episodes, episodes.c.id == arrivals.c.episode)
    .order_by(arrivals.c.xact, arrivals.c.position)
)


class LogPlace(NamedTuple):
    """How far somebody has read: sorts as the log of all episodes does."""

    xact: int
    position: int


START = LogPlace(-1, -1)


def arriving(embedded: bool) -> Rows:
    """The rows that note arrivals, in the transaction that appends what arrives."""
    return Rows(
        arrivals,
        ("episode", "first", "last", "earned"),
        {"xact": literal(0) if embedded else _XACT},
    )


class Arrivals:
    """The arrivals in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        settled = () if database.embedded else (arrivals.c.xact < _SETTLED,)
        place = tuple_(arrivals.c.xact, arrivals.c.position)
        beyond = place > tuple_(
            bindparam("xact", type_=BigInteger), bindparam("position", type_=BigInteger)
        )
        self._after = _OF_EPISODES.where(beyond, *settled).limit(PAGE)
        # Of deleted episodes nothing is told, so nobody needs to look for it again.
        self._beyond = _OF_EPISODES.where(beyond).limit(1)
        self._last = (
            select(arrivals.c.xact, arrivals.c.position)
            .where(*settled)
            .order_by(arrivals.c.xact.desc(), arrivals.c.position.desc())
            .limit(1)
        )

    async def list_after(self, place: LogPlace) -> Sequence[ArrivalRow]:
        """The next arrivals beyond ``place``, with their episodes' labels, task and tenant; at most
        `PAGE`."""
        return await self._database.all(self._after, place._asdict())

    async def unsettled(self, place: LogPlace) -> bool:
        """Whether there are arrivals beyond ``place`` that an older transaction still holds
        back."""
        return await self._database.first(self._beyond, place._asdict()) is not None

    async def last(self) -> LogPlace:
        """Where a watcher begins who wants only what is to come."""
        row = await self._database.first(self._last)
        return START if row is None else LogPlace(row.xact, row.position)

    async def first(self) -> LogPlace | None:
        """The oldest arrival that is kept."""
        oldest = (
            select(arrivals.c.xact, arrivals.c.position)
            .order_by(arrivals.c.xact, arrivals.c.position)
            .limit(1)
        )
        row = await self._database.first(oldest)
        return None if row is None else LogPlace(row.xact, row.position)

    async def adopt(self) -> int:
        """Count as old what a restore brought from another server; gives how many rows that were.

        They name transactions that this server has yet to come to, and would hold every stream back
        until then.
        """
        if self._database.embedded:
            return 0
        async with self._database.write() as conn:
            return (await conn.execute(_FROM_ELSEWHERE)).rowcount

    async def trim(self, kept: int = KEPT) -> int:
        """Forget all but the newest; gives how many were forgotten."""
        newest = select(func.max(arrivals.c.position)).scalar_subquery()
        async with self._database.write() as conn:
            return (
                await conn.execute(delete(arrivals).where(arrivals.c.position <= newest - kept))
            ).rowcount

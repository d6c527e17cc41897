"""Partitions of the log by day, on Postgres: made before they are needed, dropped once nothing is
in them.

An episode's id begins with the day on which it was opened (`api.core.keys.Keys.episode_id`), so a
row finds its partition by the id that every query names anyway. A partition is built aside and
attached: that waits for no append and makes none wait. On SQLite there is nothing to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from api.db.base import PARTITIONED
from api.db.database import Database
from api.episodes.tables import episodes

ADVISORY_KEY = 0x6D696C70
"""Any number that nobody else takes in this database: one at a time changes partitions."""
KEEP_EMPTY = timedelta(days=2)
"""How long an empty partition stays: an episode of its day may still be about to be opened."""
LOCK_MS = 2_000

_DAY = re.compile(r"ep_(\d{8})")
_ATTACHED = text(
    "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
    " WHERE i.inhparent = CAST(:table AS regclass)"
)


def day_of(episode: str) -> date | None:
    """The day that an episode's id begins with, or None where it is no id that this service
    gave."""
    found = _DAY.match(episode)
    if found is None:
        return None
    try:
        return datetime.strptime(found[1], "%Y%m%d").date()
    except ValueError:
        return None


def today() -> date:
    """Return the date that it is now in UTC."""
    return datetime.now(UTC).date()


class Partitions:
    """The partitions of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ready: set[date] = set()

    async def ahead(self) -> None:
        """See to those of today and tomorrow."""
        for day in (today(), today() + timedelta(days=1)):
            await self.ready(day)

    async def ready(self, day: date) -> None:
        """See to the partitions of ``day``; many may ask at once, here and in other replicas."""
        if self._database.embedded or day in self._ready:
            return
        async with self._database.write() as conn:
            await make_room(conn, [day])
        self._ready = {one for one in self._ready if one >= today() - KEEP_EMPTY} | {day}

    async def drop_empty(self) -> list[date]:
        """Drop the partitions of past days of which no episode is left; gives those days."""
        if self._database.embedded:
            return []
        async with self._database.write() as conn:
            await _lock(conn)
            # Whoever reads a whole table keeps this waiting, and it would keep appends waiting: it
            # gives up first.
            await conn.execute(text(f"SET LOCAL lock_timeout = {LOCK_MS}"))
            past = [day for day in await _days(conn) if day < today() - KEEP_EMPTY]
            gone = [day for day in past if await _is_empty(conn, day)]
            for day in gone:
                for table in PARTITIONED:
                    await conn.execute(text(f"DROP TABLE {_name(table, day)}"))
        return gone

    async def days(self) -> list[date]:
        """The days that have partitions, oldest first."""
        if self._database.embedded:
            return []
        async with self._database.write() as conn:
            return await _days(conn)


async def make_room(conn: AsyncConnection, days: Iterable[date]) -> None:
    """Attach the partitions of ``days`` that Postgres lacks."""
    await _lock(conn)
    there = await _days(conn)
    for day in sorted(set(days).difference(there)):
        await _attach(conn, day)


def _name(table: str, day: date) -> str:
    return f"{table}_{day:%Y%m%d}"


def _bounds(day: date) -> tuple[str, str]:
    return f"ep_{day:%Y%m%d}", f"ep_{day + timedelta(days=1):%Y%m%d}"


async def _lock(conn: AsyncConnection) -> None:
    await conn.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_KEY})


async def _days(conn: AsyncConnection) -> list[date]:
    """Return the days that have partitions, in their order."""
    names = (await conn.execute(_ATTACHED, {"table": PARTITIONED[0]})).scalars()
    return sorted(datetime.strptime(name.rpartition("_")[2], "%Y%m%d").date() for name in names)


async def _attach(conn: AsyncConnection, day: date) -> None:
    first, beyond = _bounds(day)
    for table in PARTITIONED:
        name = _name(table, day)
        await conn.execute(text(f"CREATE TABLE {name} (LIKE {table} INCLUDING ALL)"))
        await conn.execute(
            text(
                f"ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ('{first}') TO"
                f" ('{beyond}')"
            )
        )


async def _is_empty(conn: AsyncConnection, day: date) -> bool:
    """Whether a day has no rows in any partitioned table, and no episode that began on it."""
    for table in PARTITIONED:
        if (
            await conn.execute(text(f"SELECT 1 FROM {_name(table, day)} LIMIT 1"))
        ).first() is not None:
            return False
    ours = episodes.c.id.startswith(_bounds(day)[0], autoescape=True)
    return (await conn.execute(select(episodes.c.id).where(ours).limit(1))).first() is None

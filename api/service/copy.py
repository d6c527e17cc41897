"""Copies everything from one database into another, empty one: SQLite to Postgres and back, and
holds both against each other before it commits.

One transaction reads, one writes: the copy is of one moment, and it is there whole or not at all.
What is compared is the content of every row of every table, the number of rows, and for every
episode the chain of its segments up to the head that its row names.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

from sqlalchemy import Integer, Table, func, insert, select, text
from sqlalchemy.ext.asyncio import AsyncConnection
from zstandard import ZstdError

from api.db.base import metadata
from api.db.database import Database
from api.db.migrate import current, latest_revision, upgrade
from api.episodes.partitions import day_of, make_room
from api.episodes.tables import episodes
from api.log.frames import linked_texts
from api.log.rows import SegmentRow
from api.log.tables import arrivals, segments
from detectors.model.codec import GENESIS, CodecError, canonical

TOGETHER = 100
"""Rows in memory at once; a segment's may have megabytes."""
TOLD_EVERY = 10_000


class MoveError(Exception):
    """The copy was not made; the target is as it was."""


class _Sum:
    """A digest of rows in any order: what two databases sort differently is compared all the
    same."""

    def __init__(self) -> None:
        self.rows, self._sum = 0, 0

    def add(self, row: dict[str, object]) -> None:
        """Add a row to the sum, which does not depend on the order."""
        plain = {
            str(name): value.hex() if isinstance(value, bytes) else value
            for name, value in row.items()
        }
        self.rows += 1
        self._sum += int.from_bytes(hashlib.sha256(canonical(plain)).digest(), "big")

    def __str__(self) -> str:
        return f"{self._sum % 2**256:064x}"


async def move(source: Database, target: Database) -> AsyncIterator[str]:
    """Copy ``source`` into ``target``; tells how far it is. Raises `MoveError`, with ``target`` as
    it was."""
    if source.url == target.url:
        raise MoveError("--to: the same database; wanted another")
    found, newest = await current(source), latest_revision()
    if found != newest:
        raise MoveError(
            f"the database is at schema {found}, wanted {newest}: run `milestoned db upgrade` first"
        )
    await upgrade(target)
    async with source.write() as reading, target.write() as writing:
        if not source.embedded:
            await reading.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
        await _refuse_full(writing)
        if not target.embedded:
            ids = (await reading.execute(select(episodes.c.id))).scalars()
            await make_room(writing, filter(None, map(day_of, ids)))
        for table in metadata.sorted_tables:
            async for line in _copy(table, reading, writing):
                yield line
        if not target.embedded:
            await _advance_sequences(writing)
        yield await _check_chains(writing)


async def _refuse_full(conn: AsyncConnection) -> None:
    """Raise `MoveError` where the other database has rows."""
    for table in metadata.sorted_tables:
        if (await conn.execute(select(text("1")).select_from(table).limit(1))).first() is not None:
            raise MoveError(f"--to: its table {table.name} has rows; wanted an empty database")


async def _copy(
    table: Table, reading: AsyncConnection, writing: AsyncConnection
) -> AsyncIterator[str]:
    """Copy a table, read it back, and yield how far it is. Raises `MoveError` where a row is other
    or missing."""
    read, written = _Sum(), _Sum()
    async for rows in _rows(table, reading):
        rows = list(_moved(table, rows, read.rows))
        for row in rows:
            read.add(row)
        await writing.execute(insert(table), rows)
        if read.rows // TOLD_EVERY > (read.rows - len(rows)) // TOLD_EVERY:
            yield f"{table.name}: {read.rows} rows so far"
    async for rows in _rows(table, writing):
        for row in rows:
            written.add(row)
    if (read.rows, str(read)) != (written.rows, str(written)):
        raise MoveError(
            f"{table.name}: {read.rows} rows were read, {written.rows} differ or are missing;"
            " nothing kept"
        )
    yield f"{table.name}: {read.rows} rows, digest {str(read)[:16]}"


async def _rows(table: Table, conn: AsyncConnection) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield a table's rows in the order of their keys, some at a time."""
    ordered = select(table).order_by(*_order(table))
    async with conn.stream(ordered, execution_options={"yield_per": TOGETHER}) as result:
        async for chunk in result.mappings().partitions(TOGETHER):
            yield [dict(row) for row in chunk]


def _order(table: Table) -> list[Any]:
    # Arrivals keep their order and not their numbers: a transaction's id means nothing in another
    # database.
    return [table.c.xact, table.c.position] if table is arrivals else list(table.primary_key)


def _moved(table: Table, rows: list[dict[str, object]], before: int) -> Iterator[dict[str, Any]]:
    """Yield rows as the other database keeps them: arrivals are numbered anew."""
    for number, row in enumerate(rows, before + 1):
        yield {**row, "xact": 0, "position": number} if table is arrivals else row


async def _advance_sequences(conn: AsyncConnection) -> None:
    """Let Postgres' own numbers go on after those that were copied."""
    for table in metadata.sorted_tables:
        column = table.autoincrement_column
        if column is None or not isinstance(column.type, Integer):
            continue
        sequence = (
            await conn.execute(select(func.pg_get_serial_sequence(table.name, column.name)))
        ).scalar()
        last = (await conn.execute(select(func.max(column)))).scalar()
        if sequence is not None and last is not None:
            await conn.execute(select(func.setval(sequence, last)))


async def _check_chains(conn: AsyncConnection) -> str:
    """Check each episode's chain of segments, and return how many there are. Raises `MoveError`."""
    count = 0
    listed = (await conn.execute(select(episodes.c.id, episodes.c.through, episodes.c.head))).all()
    for row in listed:
        through, head = 0, GENESIS
        chain = select(segments).where(segments.c.episode == row.id).order_by(segments.c.first)
        async with conn.stream(chain, execution_options={"yield_per": TOGETHER}) as result:
            async for one in result:
                stored = SegmentRow(one.first, one.last, one.prev, one.digest, bytes(one.frame))
                try:
                    texts = linked_texts(stored)
                except (CodecError, ZstdError):
                    texts = []
                if not texts or (one.first, one.prev) != (through + 1, head):
                    raise MoveError(
                        f"episode {row.id}: the chain breaks at event {one.first}; nothing was kept"
                    )
                through, head, count = one.last, one.digest, count + len(texts)
        if (through, head) != (row.through, row.head):
            raise MoveError(
                f"episode {row.id}: its segments end at event {through}, its row says"
                f" {row.through}; nothing was kept"
            )
    return f"{len(listed)} episodes: {count} segments, each chain whole up to its head"

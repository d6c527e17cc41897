"""Many writers, one commit: whoever holds the pen writes for all who wait.

While one commit is being flushed to the disk, others queue; the next one takes them all. What fails
for one fails for none of the others: a batch that breaks is tried again by each of its owners
alone.

Whoever decided by what an episode's row said has that read again under the row's lock, in the
transaction that writes: where the row moved on meanwhile nothing of that owner's is written.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Executable
from sqlalchemy.exc import IntegrityError

from api.db.database import Database
from api.log.upserts import Changes, Rows, Stood, Writing

Name = TypeVar("Name", bound=str)
Parameters = Sequence[Mapping[str, Any]]

TOGETHER = 64
"""The most owners whose rows share one commit."""
TOGETHER_BYTES = 16 * 1024 * 1024
"""The most that they bring together, but for one that brings more by itself: a server takes it all in at once."""


class OutrunError(Exception):
    """Another process wrote the same rows first: read again, then decide again."""


@dataclass(slots=True, eq=False)
class _AppendTicket:
    rows: Mapping[Any, Parameters]
    whose: str
    stood: Stood | None
    size: int
    done: bool = False
    outrun: bool = False


class GroupWriter(Generic[Name]):
    """Commits what is of named kinds, and after it rows of a fixed table of named statements, in
    the table's order."""

    def __init__(
        self,
        database: Database,
        statements: Mapping[Name, Executable],
        kinds: Mapping[Name, Rows | Changes] | None = None,
    ) -> None:
        self._database = database
        self._statements = statements
        self._writing = Writing(kinds or {}, database.embedded)
        self._pen = asyncio.Lock()
        self._waiting: list[_AppendTicket] = []

    async def commit(
        self,
        rows: Mapping[Name, Parameters],
        whose: str = "",
        stood: Stood | None = None,
        size: int = 0,
    ) -> None:
        """Durable when it returns; ``whose`` rows they are, where that episode ``stood`` when they
        were made, and their ``size`` in bytes where that may be large.

        Raises `OutrunError`, or `UnavailableError`, with nothing written."""
        ticket = _AppendTicket(rows, whose, stood, size)
        self._waiting.append(ticket)
        try:
            async with self._pen:
                if not ticket.done:
                    await self._write_with(ticket)
            if ticket.outrun:
                raise OutrunError(f"episode {whose} moved on from {ticket.stood}")
        finally:
            if ticket in self._waiting:
                self._waiting.remove(ticket)

    async def _write_with(self, ticket: _AppendTicket) -> None:
        batch = self._batch(ticket)
        self._waiting = [one for one in self._waiting if one not in batch]
        try:
            await self._write(batch)
        except IntegrityError as error:
            if len(batch) == 1:
                raise OutrunError(str(error.orig)) from error
            await self._alone(ticket)

    def _batch(self, ticket: _AppendTicket) -> list[_AppendTicket]:
        """Who has waited longest, and ``ticket`` among them; else that alone."""
        batch: list[_AppendTicket] = []
        size = 0
        for one in self._waiting[:TOGETHER]:
            size += one.size
            if batch and size > TOGETHER_BYTES:
                break
            batch.append(one)
        return batch if ticket in batch else [ticket]

    async def _alone(self, ticket: _AppendTicket) -> None:
        try:
            await self._write([ticket])
        except IntegrityError as error:
            raise OutrunError(str(error.orig)) from error

    async def _write(self, batch: Sequence[_AppendTicket]) -> None:
        outrun: set[_AppendTicket] = set()
        stood = {one.whose: one.stood for one in batch if one.stood is not None}
        given = _together(batch)
        more = [name for name in self._statements if name in given]

        def work(conn: Connection) -> None:
            if stood:
                stand = self._writing.run(conn, stood, given)
                outrun.update(
                    one for one in batch if one.stood is not None and one.whose not in stand
                )
            rest = _together([one for one in batch if one not in outrun]) if outrun else given
            for name in more:
                if name in rest:
                    conn.execute(self._statements[name], rest[name])

        await self._database.run(work, single=bool(stood) and not more)
        for one in batch:
            one.done, one.outrun = True, one in outrun


def _together(batch: Sequence[_AppendTicket]) -> dict[Any, list[Mapping[str, Any]]]:
    """What they bring, by name; none is empty."""
    rows: dict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for one in batch:
        for name, its in one.rows.items():
            if its:
                rows[name] += its
    return dict(rows)

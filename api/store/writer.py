"""Many writers, one commit: whoever holds the pen writes for all who wait.

While one commit is being flushed to the disk, others queue; the next one takes them all. What fails for one
fails for none of the others: a batch that breaks is tried again by each of its owners alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Executable
from sqlalchemy.exc import IntegrityError

from api.store.database import Database

Rows = Mapping[int, Sequence[Mapping[str, Any]]]
"""Parameter rows by the index of their statement."""

TOGETHER = 64
"""The most owners whose rows share one commit."""


class OutrunError(Exception):
    """Another process wrote the same rows first: read again, then decide again."""


@dataclass(slots=True, eq=False)
class _Ticket:
    rows: Rows
    whose: str = ""
    done: bool = False


class GroupWriter:
    """Commits rows of a fixed list of statements; statements run in the list's order."""

    def __init__(self, database: Database, statements: Sequence[Executable]) -> None:
        self._database = database
        self._statements = statements
        self._pen = asyncio.Lock()
        self._waiting: list[_Ticket] = []

    async def commit(self, rows: Rows, whose: str = "") -> None:
        """Durable when it returns; ``whose`` rows they are.

        Raises `OutrunError`, or `UnavailableError` with nothing written."""
        ticket = _Ticket(rows, whose)
        self._waiting.append(ticket)
        try:
            async with self._pen:
                if not ticket.done:
                    await self._write_with(ticket)
        finally:
            if ticket in self._waiting:
                self._waiting.remove(ticket)

    async def _write_with(self, ticket: _Ticket) -> None:
        batch = self._waiting[:TOGETHER] if ticket in self._waiting[:TOGETHER] else [ticket]
        self._waiting = [one for one in self._waiting if one not in batch]
        try:
            await self._write(batch)
        except IntegrityError as error:
            if len(batch) == 1:
                raise OutrunError(str(error.orig)) from error
            await self._alone(ticket)

    async def _alone(self, ticket: _Ticket) -> None:
        try:
            await self._write([ticket])
        except IntegrityError as error:
            raise OutrunError(str(error.orig)) from error

    async def _write(self, batch: Sequence[_Ticket]) -> None:
        # In one order for all replicas: then none waits for a row of another's that waits for one of its own.
        batch = sorted(batch, key=lambda one: one.whose)
        merged = [
            (statement, [row for one in batch for row in one.rows.get(index, ())])
            for index, statement in enumerate(self._statements)
        ]

        def work(conn: Connection) -> None:
            for statement, rows in merged:
                if rows:
                    conn.execute(statement, rows)

        await self._database.run(work)
        for one in batch:
            one.done = True

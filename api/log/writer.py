"""Rows of many writers in one commit (api/db/group_commit.py).

What fails for one fails for none of the others: a batch that breaks is tried again by each of its
owners alone.

Whoever decided by what an episode's row said has that read again under the row's lock, in the
transaction that writes: where the row moved on meanwhile nothing of that owner's is written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Executable
from sqlalchemy.exc import IntegrityError

from api.db.database import Database
from api.db.group_commit import GroupCommit, Ticket
from api.log.upserts import Changes, Rows, Stood, Writing

Name = TypeVar("Name", bound=str)
Parameters = Sequence[Mapping[str, object]]

MAX_BATCH_BYTES = 16 * 1024 * 1024
"""The most that callers commit together, but for a larger one alone: a server reads all at once."""


class OutrunError(Exception):
    """Another process wrote the same rows first: read again, then decide again."""


@dataclass(slots=True, eq=False)
class _RowsTicket(Ticket):
    rows: Mapping[Any, Parameters]
    whose: str
    stood: Stood | None
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
        self._group = GroupCommit[_RowsTicket](self._commit, MAX_BATCH_BYTES)

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
        ticket = _RowsTicket(rows, whose, stood, size=size)
        await self._group.settle(ticket)
        if ticket.outrun:
            raise OutrunError(f"episode {whose} moved on from {ticket.stood}")

    async def _commit(self, batch: Sequence[_RowsTicket], own: _RowsTicket) -> None:
        """Write a batch at once; of one that breaks, each owner tries again alone. Raises
        `OutrunError`."""
        try:
            await self._write(batch)
            return
        except IntegrityError as error:
            if len(batch) == 1:
                raise OutrunError(str(error.orig)) from error
        # Of a batch that breaks, each owner tries again alone.
        await self._commit([own], own)

    async def _write(self, batch: Sequence[_RowsTicket]) -> None:
        """Write the rows of a batch, without those of episodes that were moved on meanwhile."""
        outrun: set[_RowsTicket] = set()
        stood = {ticket.whose: ticket.stood for ticket in batch if ticket.stood is not None}
        rows = _rows_by_name(batch)
        names = [name for name in self._statements if name in rows]

        def work(conn: Connection) -> None:
            """Write within the transaction, and note whose episode was moved on."""
            remaining = rows
            if stood:
                stand = self._writing.run(conn, stood, rows)
                outrun.update(
                    ticket
                    for ticket in batch
                    if ticket.stood is not None and ticket.whose not in stand
                )
            if outrun:
                remaining = _rows_by_name([ticket for ticket in batch if ticket not in outrun])
            for name in names:
                if name in remaining:
                    conn.execute(self._statements[name], remaining[name])

        await self._database.run(work, single=bool(stood) and not names)
        for ticket in batch:
            ticket.done = True
            ticket.outrun = ticket in outrun


def _rows_by_name(batch: Sequence[_RowsTicket]) -> dict[object, list[Mapping[str, object]]]:
    """Merge what the tickets bring, by name; no list is empty."""
    merged: dict[object, list[Mapping[str, object]]] = defaultdict(list)
    for ticket in batch:
        for name, rows in ticket.rows.items():
            if rows:
                merged[name] += rows
    return dict(merged)

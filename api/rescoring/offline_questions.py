"""Questions and budgets of one run that asks for itself, in a database of its own: the service's
are not touched."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy import func, select

from api.db.base import metadata
from api.db.database import Database
from api.episodes.shared_transaction import SharedTransaction
from api.verdicts.opinions import Opinions
from api.verdicts.tables import budgets, opinions
from common.scratch import scratch_folder

_SPENT = select(
    func.coalesce(func.sum(budgets.c.calls), 0), func.coalesce(func.sum(budgets.c.cost), 0.0)
).where(
    budgets.c.scope == "tenant"  # what is spent is charged to four scopes, to each once
)


class Run:
    """The questions of one run, and what they took."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.opinions = Opinions(
            SharedTransaction(database), embedded=True, runner=uuid.uuid4().hex
        )

    async def spent(self) -> tuple[int, float]:
        """Calls and money, failed attempts among them."""
        calls, cost = await self._database.first(_SPENT)
        return int(calls), float(cost)


@asynccontextmanager
async def opened(path: Path | None, *, go_on: bool) -> AsyncIterator[Run]:
    """A run whose answers are kept at ``path`` until `forget` (None: until the end), so that it can
    ``go_on``."""
    with scratch_folder("milestoned-asked-") as folder:
        if path is not None and not go_on:
            forget(path)
        database = Database(f"sqlite+aiosqlite:///{path or folder / 'asked'}")
        try:
            # No migration: nothing older than the run is ever read here.
            await database.run(lambda conn: metadata.create_all(conn, tables=[opinions, budgets]))
            run = Run(database)
            await run.opinions.orphaned()
            yield run
        finally:
            await database.close()


def forget(path: Path) -> None:
    """Remove the answers that one run asked for."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)

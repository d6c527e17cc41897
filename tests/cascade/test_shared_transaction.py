"""Many who wait for one transaction: what it came to, all of them are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import OperationalError

from api.core.errors import UnavailableError
from api.core.settings import Settings
from api.db.database import Database
from api.db.migrate import upgrade
from api.episodes.shared_transaction import SharedTransaction
from api.verdicts.tables import budgets
from tests.api.service import Store


@pytest.fixture
async def database(store: Store) -> AsyncIterator[Database]:
    """Empty, with its tables."""
    found = Database(Settings(store.folder, store.url).database)
    await upgrade(found)
    yield found
    await found.close()


def kept(key: str) -> Any:
    """Work that writes a row."""
    row = {"scope": "day", "key": key, "calls": 1, "cost": 0.0, "held": 0.0}
    return lambda conn: conn.execute(insert(budgets).values(**row)) and key


def lost(conn: Connection) -> None:
    """Work in which the database goes away."""
    raise OperationalError("", {}, Exception("the disk is full"))


async def rows(database: Database) -> list[str]:
    """Which rows are there."""
    return [row.key for row in await database.all(select(budgets.c.key).order_by(budgets.c.key))]


async def test_a_batch_that_fails_fails_for_all_of_it(database: Database) -> None:
    """The first was committed alone; of those that waited meanwhile none was, and each is told."""
    together = SharedTransaction(database)
    works = [kept("a"), kept("b"), lost, kept("c")]
    found = await asyncio.gather(*(together.do(work) for work in works), return_exceptions=True)
    assert found[0] == "a"
    assert [type(one) for one in found[1:]] == [UnavailableError] * 3
    assert await rows(database) == ["a"]
    assert await together.do(kept("d")) == "d"
    assert await rows(database) == ["a", "d"]


async def test_who_is_stopped_while_it_writes_for_others_leaves_nobody_with_a_success(
    database: Database,
) -> None:
    """The others are told that nothing is known to be written, and may go on."""
    together, began, run = SharedTransaction(database), asyncio.Event(), database.run

    async def held(work: Any) -> None:
        began.set()
        await asyncio.Event().wait()

    first = asyncio.create_task(together.do(kept("a")))
    await first
    database.run = held  # type: ignore[method-assign]
    waiting = [asyncio.create_task(together.do(kept(key))) for key in "bcd"]
    await began.wait()
    began.clear()
    waiting[0].cancel()
    await began.wait()
    waiting[1].cancel()
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(one) for one in found] == [
        asyncio.CancelledError,
        asyncio.CancelledError,
        UnavailableError,
    ]
    database.run = run  # type: ignore[method-assign]
    assert await together.do(kept("e")) == "e"
    assert await rows(database) == ["a", "e"]

"""Connections to Postgres that stay open from one statement to the next."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from api.db.held_connections import HeldConnections
from tests.api.service import until
from tests.support.postgres import Postgres, needs_postgres

pytestmark = needs_postgres
COUNT = 2


@pytest.fixture
async def engine(postgres: Postgres) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(
        make_url(postgres.database()).set(drivername="postgresql+asyncpg"),
        pool_size=COUNT,
        max_overflow=0,
        pool_timeout=5,
        isolation_level="AUTOCOMMIT",
        pool_reset_on_return=None,
    )
    yield engine
    await engine.dispose()


async def backend(held: HeldConnections) -> int:
    """The server's number of the connection that is lent."""
    async with held.borrow() as conn:
        return int((await conn.execute(text("SELECT pg_backend_pid()"))).scalar_one())


async def test_one_statement_after_the_other_has_the_same_connection(engine: AsyncEngine) -> None:
    held = HeldConnections(engine, COUNT)
    assert len({await backend(held) for _ in range(3)}) == 1
    await held.close()


async def test_a_statement_is_committed_by_itself(engine: AsyncEngine) -> None:
    held = HeldConnections(engine, COUNT)
    async with held.borrow() as conn:
        await conn.execute(text("CREATE TABLE kept (n int)"))
    async with engine.connect() as other:
        assert (await other.execute(text("SELECT count(*) FROM kept"))).scalar_one() == 0
    await held.close()


async def test_a_failed_statement_costs_no_other(engine: AsyncEngine) -> None:
    held = HeldConnections(engine, COUNT)
    for _ in range(COUNT + 1):
        with pytest.raises(DBAPIError):
            async with held.borrow() as conn:
                await conn.execute(text("SELECT 1 / 0"))
    assert await backend(held)
    await held.close()


async def test_a_statement_that_is_given_up_costs_no_other(engine: AsyncEngine) -> None:
    held = HeldConnections(engine, COUNT)
    for _ in range(COUNT + 1):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1), held.borrow() as conn:
                await conn.execute(text("SELECT pg_sleep(60)"))
    assert await backend(held)
    await held.close()


async def test_a_connection_that_the_server_closed_is_lent_to_nobody(engine: AsyncEngine) -> None:
    held = HeldConnections(engine, COUNT)
    first = await backend(held)
    async with held.borrow() as conn, held.borrow() as other:
        driver = (await conn.get_raw_connection()).driver_connection
        ends = text("SELECT pg_terminate_backend(:pid)")
        assert (await other.execute(ends, {"pid": first})).scalar_one()
        assert driver is not None
        await until(driver.is_closed)
    for _ in range(COUNT):
        assert await backend(held) != first
    await held.close()


async def test_who_waits_too_long_is_told_so(engine: AsyncEngine) -> None:
    """A server that hangs would else keep every request that reads waiting for ever."""
    held = HeldConnections(engine, COUNT, wait_s=0.1)
    async with held.borrow(), held.borrow():
        with pytest.raises(PoolTimeoutError, match=r"no connection came free in 0\.1 s"):
            async with held.borrow():
                pass
    assert await backend(held)
    await held.close()


async def test_no_more_are_lent_than_there_are(engine: AsyncEngine) -> None:
    held = HeldConnections(engine, COUNT)
    async with held.borrow(), held.borrow():
        third = asyncio.create_task(backend(held))
        done, _ = await asyncio.wait([third], timeout=0)
        assert not done
    assert await third
    await held.close()

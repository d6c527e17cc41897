"""Connections that stay open from one statement to the next.

To take a connection out of SQLAlchemy's pool and to give it back costs the processor half of what a
short statement does, so who needs one for a statement alone borrows it here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

WAIT_S = 30.0


class HeldConnections:
    """At most ``count`` connections of an engine that nobody else uses, and whose pool has room for
    as many; each statement commits itself. Who waits for one longer than ``wait_s`` seconds, gets
    SQLAlchemy's `TimeoutError`, as from its pools."""

    def __init__(self, engine: AsyncEngine, count: int, wait_s: float = WAIT_S) -> None:
        self._engine = engine
        self._room = asyncio.Semaphore(count)
        self._wait_s = wait_s
        self._idle: list[AsyncConnection] = []

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[AsyncConnection]:
        """A connection for one statement, whose rows are read before the block ends. After an error
        it goes back to the pool, which knows whether it can be used again."""
        await self._wait_for_room()
        try:
            conn = await self._take()
            try:
                yield conn
            except BaseException:
                await asyncio.shield(conn.close())
                raise
            self._idle.append(conn)
        finally:
            self._room.release()

    async def _wait_for_room(self) -> None:
        """Wait until one more may be lent."""
        if not self._room.locked():
            await self._room.acquire()
            return
        try:
            async with asyncio.timeout(self._wait_s):
                await self._room.acquire()
        except TimeoutError:
            raise PoolTimeoutError(f"no connection came free in {self._wait_s:g} s") from None

    async def _take(self) -> AsyncConnection:
        """Return an idle connection that its server has not closed, else one of the pool's."""
        while self._idle:
            conn = self._idle.pop()
            raw = await conn.get_raw_connection()
            if not (raw.driver_connection is None or raw.driver_connection.is_closed()):
                return conn
            await conn.close()
        return await self._engine.connect()

    async def close(self) -> None:
        """Give the idle connections back to the pool."""
        while self._idle:
            await self._idle.pop().close()

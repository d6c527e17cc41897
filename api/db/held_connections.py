"""Connections that stay open from one statement to the next.

To take a connection out of SQLAlchemy's pool and to give it back costs the processor half of what a
short statement does, so who needs one for a statement alone borrows it here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine


class HeldConnections:
    """At most ``count`` connections of an engine that nobody else uses, and whose pool has room for
    as many; each statement commits itself."""

    def __init__(self, engine: AsyncEngine, count: int) -> None:
        self._engine = engine
        self._room = asyncio.Semaphore(count)
        self._idle: list[AsyncConnection] = []

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[AsyncConnection]:
        """A connection for one statement, whose rows are read before the block ends. After an error
        it goes back to the pool, which knows whether it can be used again."""
        async with self._room:
            conn = await self._take()
            try:
                yield conn
            except BaseException:
                await asyncio.shield(conn.close())
                raise
            self._idle.append(conn)

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

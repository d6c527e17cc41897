"""Many watchers, one reader: who asks for the same piece of the log gets the same answer, read and
rendered once.

A watcher takes a piece when it has sent the one before, so a slow one holds up nobody and holds one
piece in memory; there is no queue that could overflow. Pieces are kept for those who come a little
later, the newest ones.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Piece = TypeVar("Piece")


class Shared(Generic[Piece]):
    """Pieces by key; ``size`` of all kept together at most ``most``."""

    def __init__(self, size: Callable[[Piece], int], most: int) -> None:
        self._size, self._most = size, most
        self._kept: OrderedDict[Hashable, Piece] = OrderedDict()
        self._bytes = 0
        self._reading: dict[tuple[Hashable, Hashable], asyncio.Task[Piece | None]] = {}
        self.reads = 0

    async def get(
        self, key: Hashable, since: Hashable, read: Callable[[], Awaitable[Piece | None]]
    ) -> Piece | None:
        """The piece at ``key``, by ``read`` where nobody has it; None, which is not kept, where
        there is none yet.

        Only those wait for the same read who began to watch at the same time (``since``): else one
        that began before a change could tell somebody, who watches only since, that there is
        nothing new.
        """
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        reading = self._reading.get((key, since))
        if reading is None:
            reading = self._reading[key, since] = asyncio.create_task(self._read(key, since, read))
            reading.add_done_callback(_on_done)
        return await asyncio.shield(reading)  # who leaves takes the answer from nobody

    async def _read(
        self, key: Hashable, since: Hashable, read: Callable[[], Awaitable[Piece | None]]
    ) -> Piece | None:
        """Read a piece once for all who wait, and keep it within the bound on bytes."""
        self.reads += 1
        try:
            found = await read()
        finally:
            del self._reading[key, since]
        if found is not None and key not in self._kept:
            self._kept[key] = found
            self._bytes += self._size(found)
            while self._bytes > self._most:
                self._bytes -= self._size(self._kept.popitem(last=False)[1])
        return found

    def forget(self) -> None:
        """Keep nothing of what was read: an episode was deleted."""
        self._kept.clear()
        self._bytes = 0


def _on_done(task: asyncio.Task[object]) -> None:
    if not task.cancelled():
        task.exception()  # all who asked may have left; its failure is then nobody's

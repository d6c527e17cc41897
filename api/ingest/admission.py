"""Back-pressure: how much may be appended at once, and who goes first when more wants to.

What comes in is bounded in bytes and in requests, for the whole replica and for each token; beyond
that the answer is 429, at once, and the daemon keeps its journal. What was let in takes turns. A
daemon that is far behind (it says so itself) takes at most half of the bytes and of the turns, so a
fleet that comes back after an hour offline delays nobody who is live; and live ones leave a backlog
at least one turn in eight, so it drains.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager

from api.core.errors import TooManyError
from api.core.settings import Limits

FAR_BEHIND = 2_000
"""From so many events behind a segment on its daemon has a backlog: four full segments."""
RETRY_S = 1
RETRY_BACKLOG_S = 5
"""Seconds after which a refused daemon may come again."""


class AdmissionGate:
    """The way into one replica's log."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        turns = limits.appends_at_once
        self._most = {False: max(1, turns - turns // 8), True: max(1, turns // 2)}
        self._taken = {False: 0, True: 0}
        self._waiting: dict[bool, deque[asyncio.Future[None]]] = {False: deque(), True: deque()}
        self._of_token: Counter[str] = Counter()
        self._bytes = {False: 0, True: 0}
        self._requests = 0

    def room(self, token: str, size: int, backlog: bool) -> AbstractContextManager[None]:
        """Room for a request of ``size`` bytes of ``token``'s, of which nothing was read yet.
        Raises `TooManyError`."""
        limits, retry = self._limits, RETRY_BACKLOG_S if backlog else RETRY_S
        if self._of_token[token] >= limits.appends_token:
            raise TooManyError(
                f"{self._of_token[token]} segments of this token are being appended; wanted one",
                retry,
            )
        if self._requests >= limits.appends:
            raise TooManyError(
                f"{self._requests} segments are being appended; wanted at most {limits.appends}",
                retry,
            )
        most = limits.appends_bytes // 2 if backlog else limits.appends_bytes
        there = self._bytes[True] if backlog else sum(self._bytes.values())
        # One always fits where nothing else is: no bound shuts anybody out for good.
        if there and there + size > most:
            raise TooManyError(
                f"body: {there} bytes are being appended; wanted at most {most} with these {size}",
                retry,
            )
        return self._hold_place(token, size, backlog)

    @contextmanager
    def _hold_place(self, token: str, size: int, backlog: bool) -> Iterator[None]:
        self._requests += 1
        self._of_token[token] += 1
        self._bytes[backlog] += size
        try:
            yield
        finally:
            self._bytes[backlog] -= size
            self._requests -= 1
            self._of_token[token] -= 1
            if not self._of_token[token]:
                del self._of_token[token]

    @asynccontextmanager
    async def turn(self, backlog: bool) -> AsyncIterator[None]:
        """One of the turns; who waits longest goes first among those of a kind."""
        if self._free(backlog) and not self._waiting[backlog]:
            self._taken[backlog] += 1
        else:
            await self._queue(backlog)
        try:
            yield
        finally:
            self._taken[backlog] -= 1
            self._hand_on()

    async def _queue(self, backlog: bool) -> None:
        """Wait for a turn; who gives up in the moment of getting it hands it on."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[backlog].append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                # It was handed a turn in the moment that it gave up.
                self._taken[backlog] -= 1
                self._hand_on()
            elif mine in self._waiting[backlog]:
                self._waiting[backlog].remove(mine)
            raise

    def _free(self, backlog: bool) -> bool:
        return (
            self._taken[backlog] < self._most[backlog]
            and sum(self._taken.values()) < self._limits.appends_at_once
        )

    def _hand_on(self) -> None:
        """Give free turns to those who wait, live segments before backlogs."""
        for backlog in (False, True):
            while self._waiting[backlog] and self._free(backlog):
                waiter = self._waiting[backlog].popleft()
                if not waiter.done():  # else it gave up in this moment
                    self._taken[backlog] += 1
                    waiter.set_result(None)

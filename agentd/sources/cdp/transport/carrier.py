"""What a tunnel is dug through: a browser-level DevTools session that lives in another event loop,
even thread."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from typing import Protocol

from common.devtools_messages import Message


class Carrier(Protocol):
    """A browser-level session. Both are called on the daemon's loop and never wait."""

    def send(self, number: int, method: str, params: Message) -> None:
        """Send a command; its reply goes into the inbox as ``{"id": number, "result": …}`` or with
        an "error"."""

    def close(self) -> None:
        """Detach the session, and with it all that is inside."""


class Inbox:
    """Takes messages from any thread and gives them out, in order, on the loop that made it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._queue: deque[Message | None] = deque()
        self._woken = False

    def put(self, message: Message | None) -> None:
        """Add a reply or an event; None: the session is gone, nothing follows."""
        self._queue.append(message)
        if not self._woken:
            self._woken = True
            with contextlib.suppress(RuntimeError):
                # The daemon has ended: nobody reads this any more.
                self._loop.call_soon_threadsafe(self._news.set)

    async def messages(self) -> AsyncIterator[Message]:
        """All messages until the session is gone."""
        while True:
            self._news.clear()
            self._woken = (
                False  # before the queue is looked at: what comes from here on wakes again
            )
            while self._queue:
                message = self._queue.popleft()
                if message is None:
                    return
                yield message
            await self._news.wait()

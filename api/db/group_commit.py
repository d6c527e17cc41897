"""One commit for many callers: whoever holds the lock commits for all who wait.

While one commit is flushed to the disk, others queue; the next one takes them all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

MAX_BATCH = 64
"""The most callers that share one commit."""


@dataclass(slots=True, eq=False, kw_only=True)
class Ticket:
    """What one caller wants committed; ``done`` once that was settled in somebody's batch."""

    size: int = 0
    done: bool = False


AnyTicket = TypeVar("AnyTicket", bound=Ticket)
Commit = Callable[[Sequence[AnyTicket], AnyTicket], Awaitable[None]]
"""Commits a batch, called by the owner of one ticket in it; sets ``done`` of those it settled."""


class GroupCommit(Generic[AnyTicket]):
    """Queues tickets and commits them in batches of at most `MAX_BATCH` and ``max_bytes``.

    A larger ticket is committed alone; ``max_bytes`` None: of any size.
    """

    def __init__(self, commit: Commit[AnyTicket], max_bytes: int | None = None) -> None:
        self._commit, self._max_bytes = commit, max_bytes
        self._lock = asyncio.Lock()
        self._waiting: list[AnyTicket] = []

    async def settle(self, ticket: AnyTicket) -> None:
        """Return once ``ticket`` is done; raises what ``commit`` raises to this caller."""
        self._waiting.append(ticket)
        try:
            async with self._lock:
                if not ticket.done:
                    await self._commit(self._take_batch(ticket), ticket)
        finally:
            if ticket in self._waiting:
                self._waiting.remove(ticket)

    def _take_batch(self, own: AnyTicket) -> list[AnyTicket]:
        """Take those off the queue that waited longest, if ``own`` is among them; else it alone."""
        batch: list[AnyTicket] = []
        size = 0
        for ticket in self._waiting[:MAX_BATCH]:
            size += ticket.size
            if batch and self._max_bytes is not None and size > self._max_bytes:
                break
            batch.append(ticket)
        if own not in batch:
            batch = [own]
        self._waiting = [ticket for ticket in self._waiting if ticket not in batch]
        return batch

"""A database that is closed leaves nothing behind that speaks to an event loop which is no more."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from api.core.settings import async_url
from api.db.database import Database

TURNS = range(60)
"""Turns of the event loop after which a read was cancelled: as it connects, asks, and gives back."""


def threads() -> set[threading.Thread]:
    return set(threading.enumerate())


@pytest.mark.parametrize("count", [1, 4])
async def test_no_thread_of_a_cancelled_read_runs_on(tmp_path: Path, count: int) -> None:
    """SQLite's driver answers from a thread of each connection; one that found its loop closed
    would end with an error that nobody can take."""
    await asyncio.to_thread(int)  # the loop's own threads come up
    for turns in TURNS:
        before = threads()
        database = Database(async_url(f"sqlite:///{tmp_path / 'a.db'}"))
        reads = [asyncio.create_task(database.first(text("SELECT 1"))) for _ in range(count)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for read in reads:
            read.cancel()
        await asyncio.gather(*reads, return_exceptions=True)
        await database.close()
        left = {thread for thread in threads() - before if "asyncio" not in thread.name}
        assert not left, f"after {turns} turns"

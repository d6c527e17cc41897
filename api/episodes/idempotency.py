"""Answers given before, by Idempotency-Key: a trainer that retries gets the same answer, not the
effect twice.

``intent`` names the caller, the route and the key together; ``request`` is the digest of the body.
Answers that may still change (202) keep only the request, so that other content under the key is
refused all the same.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError

from api.db.database import Database, now
from api.episodes.tables import idempotency


class Given(NamedTuple):
    """What is kept of a request; ``status`` is None where its answer was not final."""

    request: str
    status: int | None
    media_type: str | None
    body: bytes | None


class Answers:
    """The answers of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, intent: str) -> Given | None:
        """What was answered under ``intent``, if anything."""
        columns = (
            idempotency.c.request,
            idempotency.c.status,
            idempotency.c.media_type,
            idempotency.c.body,
        )
        row = await self._database.first(select(*columns).where(idempotency.c.intent == intent))
        return None if row is None else Given(*row)

    async def keep(self, intent: str, given: Given) -> None:
        """Remember the answer; a final one replaces one that was not."""
        row = {"intent": intent, **given._asdict(), "created_at": now()}
        try:
            async with self._database.write() as conn:
                await conn.execute(
                    delete(idempotency).where(
                        idempotency.c.intent == intent, idempotency.c.status.is_(None)
                    )
                )
                await conn.execute(insert(idempotency), row)
        except IntegrityError:
            # Another process answered the same request meanwhile; its answer is the one that
            # stands.
            return

    async def forget(self, days: int) -> None:
        """Drop what is older than ``days``."""
        before = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        async with self._database.write() as conn:
            await conn.execute(delete(idempotency).where(idempotency.c.created_at < before))

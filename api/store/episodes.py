"""Episodes as rows: opened here, moved on by the log alone."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import bindparam, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from api.errors import KeyReusedError, NotFoundError
from api.store.database import Database, now
from api.store.tokens import token_row
from api.tables import episodes, tokens
from detectors.codec import GENESIS, canonical

_ONE = select(episodes).where(episodes.c.id == bindparam("id"))
_OPEN = select(func.count()).select_from(episodes).where(episodes.c.status != "closed")


class Episodes:
    """The episodes of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self, id: str, task: Any, labels: dict[str, Any], seed: int | None, token: str) -> None:
        """Open an episode of the task's row; opening it again with the same content changes nothing."""
        row = {
            "id": id,
            "task_number": task.number,
            "task": task.id,
            "version": task.version,
            "digest": task.digest,
            "labels": canonical(labels).decode(),
            "seed": seed,
            "status": "open",
            "through": 0,
            "head": GENESIS,
            "total": None,
            "milestones": 0,
            "opened_at": now(),
        }
        async with self._database.write() as conn:
            found = (await conn.execute(_ONE, {"id": id})).first()
            if found is None:
                await conn.execute(insert(episodes), row)
                await conn.execute(insert(tokens), token_row(token, "append", f"daemon of {id}", id))
            elif any(getattr(found, name) != row[name] for name in ("task_number", "labels", "seed")):
                raise KeyReusedError("Idempotency-Key: it opened an episode of another task, labels or seed")

    async def get(self, id: str) -> Any:
        """The row of an episode. Raises `NotFoundError`."""
        row = await self._database.first(_ONE, {"id": id})
        if row is None:
            raise NotFoundError(f"episode: there is no episode {id[:80]}")
        return row

    async def count_open(self) -> int:
        """How many episodes are not closed."""
        row = await self._database.first(_OPEN)
        return int(row[0])


async def locked(conn: AsyncConnection, id: str) -> Any:
    """The row of an episode, nobody else's to change until the transaction ends. Raises `NotFoundError`."""
    row = (await conn.execute(_ONE.with_for_update(), {"id": id})).first()
    if row is None:
        raise NotFoundError(f"episode: there is no episode {id[:80]}")
    return row


async def mark_closing(conn: AsyncConnection, id: str) -> None:
    """Take no more steps: the daemon was asked to close."""
    await conn.execute(
        update(episodes).where(episodes.c.id == id, episodes.c.status == "open").values(status="closing")
    )


def describe(row: Any) -> dict[str, Any]:
    """An episode as the wire has it."""
    names = ("task", "version", "digest", "seed", "status", "through", "head", "step", "success", "total")
    times = {"opened_at": row.opened_at, "closed_at": row.closed_at}
    return {"episode": row.id, "labels": orjson.loads(row.labels), **{n: getattr(row, n) for n in names}, **times}

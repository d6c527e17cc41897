"""Rescores as rows: what was asked, how far it is, and each episode's result beside the one that
was paid.

Whoever works at one is named in its row, and writes only while it still is: another that took over
wins. Both would write the same, since the same log under the same ruleset gives the same result.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson
import zstandard
from sqlalchemy import bindparam, delete, func, insert, select, update

from api.core.errors import NotFoundError, TooManyError
from api.db.database import Database, now
from api.episodes.tables import episodes
from api.rescoring.tables import rescored, rescores
from detectors.model.codec import canonical

UNFINISHED = 16
"""Rescores of one tenant that may wait or run at once."""
RETRY_S = 30
_INSERTED = 1_000
"""Rows in one INSERT."""

_ONE = select(rescores).where(
    rescores.c.tenant == bindparam("tenant"), rescores.c.id == bindparam("id")
)
_LATEST = (
    select(rescores)
    .where(rescores.c.tenant == bindparam("tenant"))
    .order_by(rescores.c.number.desc())
)
_UNFINISHED = select(rescores).where(rescores.c.status != "done").order_by(rescores.c.number)
_NEXT = (
    select(rescored.c.number, episodes)
    .join(episodes, episodes.c.id == rescored.c.episode)
    .where(rescored.c.rescore == bindparam("rescore"), rescored.c.status.is_(None))
    .order_by(rescored.c.number)
    .limit(bindparam("most"))
)
_PAGE = (
    select(rescored)
    .where(rescored.c.rescore == bindparam("rescore"), rescored.c.number > bindparam("after"))
    .where(rescored.c.status.is_not(None))
    .order_by(rescored.c.number)
    .limit(bindparam("most"))
)
_KEEP = (
    update(rescored)
    .where(
        rescored.c.rescore == bindparam("of_rescore"), rescored.c.number == bindparam("of_number")
    )
    .values({name: bindparam(f"new_{name}") for name in ("status", "digest", "body")})
)
_TAKE = (
    update(rescores)
    .where(rescores.c.number == bindparam("of_number"), rescores.c.status != "done")
    .where(rescores.c.scored == bindparam("seen"))
    .values(runner=bindparam("by"), status="running")
)


class RescoredEpisode(NamedTuple):
    """One finished episode: its place in the rescore, its status, the ruleset's digest and the
    result's line."""

    number: int
    status: str
    digest: str | None
    line: bytes


class Rescores:
    """The rescores of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self,
        tenant: str,
        request: Mapping[str, Any],
        task: bytes | None,
        chosen: Sequence[str],
        summary: Any,
    ) -> str:
        """A new rescore of the ``chosen`` episodes; its id. Raises `TooManyError`."""
        id = f"rs_{secrets.token_hex(16)}"
        head: dict[str, object] = {
            "id": id,
            "tenant": tenant,
            "status": "queued",
            "request": canonical(request).decode(),
            "task": task,
        }
        head |= {
            "episodes": len(chosen),
            "scored": 0,
            "summary": canonical(summary).decode(),
            "created_at": now(),
        }
        async with self._database.write() as conn:
            of_tenant = _UNFINISHED.where(rescores.c.tenant == tenant)
            waiting = (
                await conn.execute(select(func.count()).select_from(of_tenant.subquery()))
            ).scalar_one()
            if waiting >= UNFINISHED:
                raise TooManyError(
                    f"rescores: {waiting} are not finished, wanted at most {UNFINISHED}", RETRY_S
                )
            number = (
                await conn.execute(insert(rescores).returning(rescores.c.number), head)
            ).scalar_one()
            for start in range(0, len(chosen), _INSERTED):
                part = enumerate(chosen[start : start + _INSERTED], start + 1)
                await conn.execute(
                    insert(rescored),
                    [{"rescore": number, "number": n, "episode": episode} for n, episode in part],
                )
        return id

    async def get(self, tenant: str, id: str) -> Any:
        """The row of a rescore. Raises `NotFoundError`."""
        row = await self._database.first(_ONE, {"tenant": tenant, "id": id})
        if row is None:
            raise NotFoundError(f"rescore: there is no rescore {id[:80]}")
        return row

    async def listed(self, tenant: str, most: int) -> Sequence[Any]:
        """Return the latest ``most`` rescores, newest first."""
        return await self._database.all(_LATEST.limit(most), {"tenant": tenant})

    async def results(
        self, number: int, after: int, most: int, status: str | None
    ) -> list[dict[str, Any]]:
        """Finished episodes beyond the number ``after``, with their lines as JSON."""
        statement = _PAGE if status is None else _PAGE.where(rescored.c.status == status)
        rows = await self._database.all(
            statement, {"rescore": number, "after": after, "most": most}
        )
        return [
            {"number": row.number, **orjson.loads(zstandard.decompress(bytes(row.body)))}
            for row in rows
        ]

    async def remove(self, tenant: str, id: str) -> None:
        """Stop it if it runs, and forget its results. Raises `NotFoundError`."""
        row = await self.get(tenant, id)
        async with self._database.write() as conn:
            await conn.execute(delete(rescores).where(rescores.c.number == row.number))

    async def unfinished(self) -> Sequence[Any]:
        """Everybody's rescores that are not done, oldest first."""
        return await self._database.all(_UNFINISHED)

    async def take(self, row: Any, runner: str) -> bool:
        """Whether ``runner`` now works at it: not where it moved on since ``row`` was read."""
        async with self._database.write() as conn:
            values = {"of_number": row.number, "seen": row.scored, "by": runner}
            return (await conn.execute(_TAKE, values)).rowcount > 0

    async def waiting(self, number: int, most: int) -> Sequence[Any]:
        """The next episodes to score: rows of `episodes`, each with its ``number`` in the
        rescore."""
        return await self._database.all(_NEXT, {"rescore": number, "most": most})

    async def keep(
        self, number: int, runner: str, scored: Sequence[RescoredEpisode], summary: Any
    ) -> bool:
        """Keep results and what they sum up to; False, with nothing written, where ``runner`` is
        not the one any more.

        None scored: the rescore is done.
        """
        moved = {"summary": canonical(summary).decode(), "scored": rescores.c.scored + len(scored)}
        done = {} if scored else {"status": "done", "finished_at": now(), "runner": None}
        mine = update(rescores).where(rescores.c.number == number, rescores.c.runner == runner)
        async with self._database.write() as conn:
            if (await conn.execute(mine.values(**moved, **done))).rowcount == 0:
                return False
            if scored:
                await conn.execute(_KEEP, [_result_row(number, one) for one in scored])
        return True


def _result_row(number: int, one: RescoredEpisode) -> dict[str, object]:
    body = zstandard.compress(one.line)
    names = {"of_rescore": number, "of_number": one.number}
    return {**names, "new_status": one.status, "new_digest": one.digest, "new_body": body}


def describe(row: Any) -> dict[str, Any]:
    """A rescore as the wire has it."""
    names = ("status", "episodes", "scored", "created_at", "finished_at")
    told = {"request": orjson.loads(row.request), "summary": orjson.loads(row.summary)}
    return {"rescore": row.id, **{name: getattr(row, name) for name in names}, **told}

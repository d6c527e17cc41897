"""Episodes as rows: opened here, moved on by the log alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import bindparam, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from api.auth.store import Principal, Terms, token_row
from api.auth.tables import tokens
from api.core.errors import KeyReusedError, NotFoundError, ProblemError
from api.core.keys import Keys
from api.db.database import Database, now
from api.episodes.label_index import label_rows
from api.episodes.partitions import Partitions, today
from api.episodes.rows import EpisodeRow
from api.episodes.tables import episode_marks, episodes, trace_exports
from api.episodes.tombstones import find, gone_error, refuse_deleted
from api.tasks.store import Opening
from common.trace_context import TraceParent
from detectors.model.codec import GENESIS, canonical

_ONE = select(episodes).where(episodes.c.id == bindparam("id"))
_OWNER = select(episodes.c.tenant).where(episodes.c.id == bindparam("id"))
_BY_INTENT = select(episodes).where(episodes.c.intent == bindparam("intent"))
_OWNERS = 50_000
_STATUSES = select(episodes.c.id, episodes.c.status).where(
    episodes.c.tenant == bindparam("tenant"), episodes.c.id.in_(bindparam("ids", expanding=True))
)
_NOT_SENT = insert(trace_exports).values(step=0, seq=0, attempts=0, due=0.0)
_GUIDED = (
    update(episodes)
    .where(episodes.c.id == bindparam("of"), episodes.c.status != "closed")
    .values(guided=True)
)
_OPEN = select(func.count()).select_from(episodes).where(episodes.c.status != "closed")


class Episodes:
    """The episodes of one database; ``traced``: their traces are sent from here on."""

    def __init__(self, database: Database, *, traced: bool = False) -> None:
        self._database, self._traced = database, traced
        self._owners: dict[str, str] = {}
        self.partitions = Partitions(database)

    async def open(
        self,
        who: Principal,
        task: Opening,
        labels: dict[str, Any],
        seed: int | None,
        intent: str | None,
        keys: Keys,
        parent: TraceParent | None = None,
    ) -> str:
        """Open an episode of ``task`` and give its id. ``parent``: the opener's trace, where it has
        one; of one that is not sampled nothing is sent.

        What ``intent`` opened before is found again, here and in every replica. Raises
        `KeyReusedError` where that has other content, `GoneError` where it was deleted.
        """
        day = today()
        await self.partitions.ready(day)
        id = keys.episode_id(day)
        row = _row(who, id, task, labels, seed, intent)
        row["traceparent"] = None if parent is None else parent.header()
        try:
            token = token_row(
                keys.append_token(id), "append", f"daemon of {id}", Terms(who.tenant), id
            )
            marks = label_rows(labels, who.tenant, row["opened_at"], id)
            found = await self._insert(row, token, marks, parent)
        except IntegrityError:  # another replica opened it in this moment
            found = await self._database.first(_BY_INTENT, {"intent": intent})
        if found is None:
            return id
        if any(getattr(found, name) != row[name] for name in ("task_number", "labels", "seed")):
            raise KeyReusedError(
                "Idempotency-Key: it opened an episode of another task, labels or seed"
            )
        return str(found.id)

    async def _insert(
        self,
        row: dict[str, Any],
        token: dict[str, Any],
        marks: list[dict[str, str]],
        parent: TraceParent | None,
    ) -> EpisodeRow | None:
        """Insert all, or give the row that the same intent opened before."""
        async with self._database.write() as conn:
            if row["intent"] is not None:
                found = (await conn.execute(_BY_INTENT, {"intent": row["intent"]})).first()
                if found is not None:
                    return found
                await refuse_deleted(conn, row["id"], row["intent"])
            await conn.execute(insert(episodes), row)
            await conn.execute(insert(tokens), token)
            if marks:
                await conn.execute(insert(episode_marks), marks)
            if self._traced and (parent is None or parent.is_sampled):
                await conn.execute(_NOT_SENT, {"episode": row["id"]})
        return None

    async def owned(self, tenant: str, id: str) -> None:
        """Raises `NotFoundError`, in the words for an episode that nobody has, unless it is
        ``tenant``'s, and `GoneError` where it was and is deleted.

        Every id that comes from outside passes here: those in paths by `api.http.support.caller`,
        those in bodies by the readers that take them. An owner never changes, so it is looked up
        once.
        """
        owner = self._owners.get(id)
        if owner is None:
            row = await self._database.first(_OWNER, {"id": id})
            if row is None:
                raise await self._absent(tenant, id)
            if len(self._owners) >= _OWNERS:
                self._owners.clear()
            owner = self._owners[id] = str(row.tenant)
        if owner != tenant:
            raise _unknown(id)

    def surely_owned(self, tenant: str, id: str) -> bool:
        """Whether it is known without a look that the episode is ``tenant``'s."""
        return self._owners.get(id) == tenant

    async def get(self, id: str) -> EpisodeRow:
        """The row of an episode, whoever's it is: see `owned`. Raises `NotFoundError`,
        `GoneError`."""
        row: EpisodeRow | None = await self._database.first(_ONE, {"id": id})
        if row is None:
            raise await self._absent(None, id)
        return row

    async def statuses(self, tenant: str, ids: Sequence[str]) -> dict[str, str]:
        """Return the status of each of these episodes that the tenant has."""
        rows = await self._database.all(_STATUSES, {"tenant": tenant, "ids": list(ids)})
        return {row.id: row.status for row in rows}

    async def _absent(self, tenant: str | None, id: str) -> ProblemError:
        """What is said of an episode that is not there: that it was deleted, to its owner, or
        nothing."""
        tombstone = await find(self._database, id)
        if tombstone is not None and tenant in (None, tombstone.tenant):
            return gone_error(tombstone)
        return _unknown(id)

    async def mark_guided(self, id: str) -> None:
        """Note that hints were given in an episode; those that are given after its close guided
        nobody in it."""
        async with self._database.write() as conn:
            await conn.execute(_GUIDED, {"of": id})

    def forget(self) -> None:
        """Forget who owns what: an episode was deleted."""
        self._owners.clear()

    async def count_open(self) -> int:
        """How many episodes are not closed."""
        row = await self._database.first(_OPEN)
        return int(row[0])


def _row(
    who: Principal,
    id: str,
    task: Opening,
    labels: dict[str, Any],
    seed: int | None,
    intent: str | None,
) -> dict[str, Any]:
    return {
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
        "tenant": who.tenant,
        "opened_by": who.id,
        "intent": intent,
    }


async def lock_episode(conn: AsyncConnection, id: str) -> EpisodeRow:
    """The row of an episode, nobody else's to change until the transaction ends.

    Raises `NotFoundError`, `GoneError`.
    """
    row = (await conn.execute(_ONE.with_for_update(), {"id": id})).first()
    if row is None:
        await refuse_deleted(conn, id, None)
        raise _unknown(id)
    return row


def _unknown(id: str) -> NotFoundError:
    return NotFoundError(f"episode: there is no episode {id[:80]}")


async def mark_closing(conn: AsyncConnection, id: str) -> None:
    """Take no more steps: the daemon was asked to close."""
    await conn.execute(
        update(episodes)
        .where(episodes.c.id == id, episodes.c.status == "open")
        .values(status="closing")
    )


def describe(row: EpisodeRow) -> dict[str, Any]:
    """An episode as the wire has it."""
    names = (
        "task",
        "version",
        "digest",
        "seed",
        "status",
        "through",
        "head",
        "step",
        "success",
        "total",
    )
    times = {"opened_at": row.opened_at, "closed_at": row.closed_at}
    return {
        "episode": row.id,
        "labels": orjson.loads(row.labels),
        **{n: getattr(row, n) for n in names},
        "guided": row.guided is True,
        **times,
    }

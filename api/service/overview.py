"""What pages tell of many rows in one look: who opened how much, what waits to be signed, how often
milestones come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, func, select

from api.audit.tables import leaves
from api.auth.store import OPERATOR
from api.db.database import Database
from api.episodes.tables import closings, episodes
from api.fleet.tables import leases
from api.rewards.tables import milestones

_tenant: object = bindparam("tenant")
_OPENERS = (
    select(episodes.c.opened_by, func.count().label("many"))
    .where(episodes.c.tenant == _tenant, episodes.c.opened_by.is_not(None))
    .group_by(episodes.c.opened_by)
)
_QUEUED = (
    select(func.count())
    .select_from(closings.join(episodes, episodes.c.id == closings.c.episode))
    .where(episodes.c.tenant == _tenant)
)
_SIGNED = select(func.count()).select_from(leaves)
_BY_TASK = (
    select(episodes.c.task, func.count().label("many"))
    .where(episodes.c.tenant == _tenant)
    .group_by(episodes.c.task)
)
_THESE = select(episodes).where(episodes.c.id.in_(bindparam("ids", expanding=True)))
_WAITING = (
    select(func.count())
    .select_from(leases)
    .where(leases.c.tenant == _tenant, leases.c.state == "queued")
)
_RUNNING = (
    select(func.count())
    .select_from(episodes)
    .where(episodes.c.tenant == _tenant, episodes.c.closed_at.is_(None))
)
_CLOSED = select(func.count(), func.sum(episodes.c.step + 1)).where(
    episodes.c.closed_at >= bindparam("since"), episodes.c.tenant == _tenant
)
_OF_TASK = (
    select(episodes.c.id, episodes.c.total)
    .where(
        episodes.c.tenant == _tenant,
        episodes.c.task == bindparam("task"),
        episodes.c.status == "closed",
    )
    .order_by(episodes.c.opened_at.desc(), episodes.c.id.desc())
    .limit(bindparam("newest"))
)


class Overview:
    """The overviews of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def openers(self, tenant: str) -> dict[str, int]:
        """How many episodes each token opened."""
        return {
            row.opened_by: row.many
            for row in await self._database.all(_OPENERS, {"tenant": tenant})
        }

    async def signing(self, tenant: str) -> dict[str, int | None]:
        """``queued``: closed episodes of the tenant's that wait for their checkpoint; ``leaves``:
        signed ones of all tenants, for the operator's; None for another."""
        queued = await self._database.first(_QUEUED, {"tenant": tenant})
        if tenant != OPERATOR:
            return {"queued": queued[0], "leaves": None}
        signed = await self._database.first(_SIGNED)
        return {"queued": queued[0], "leaves": signed[0]}

    async def running(self, ids: Sequence[str]) -> dict[str, Any]:
        """The rows of these episodes by their ids."""
        found = await self._database.all(_THESE, {"ids": list(ids)}) if ids else []
        return {row.id: row for row in found}

    async def pace(self, tenant: str, since: str) -> dict[str, int]:
        """``queued`` for a sandbox and ``running`` now; ``closed`` since then, and the ``steps`` of
        those."""
        queued = await self._database.first(_WAITING, {"tenant": tenant})
        running = await self._database.first(_RUNNING, {"tenant": tenant})
        closed = await self._database.first(_CLOSED, {"tenant": tenant, "since": since})
        return {
            "queued": queued[0],
            "running": running[0],
            "closed": closed[0],
            "steps": int(closed[1] or 0),
        }

    async def of_tasks(self, tenant: str) -> dict[str, int]:
        """How many episodes each task has."""
        return {
            row.task: row.many for row in await self._database.all(_BY_TASK, {"tenant": tenant})
        }

    async def first_hits(
        self, tenant: str, task: str, version: str | None, newest: int
    ) -> tuple[int, int, Sequence[Any]]:
        """How many closed episodes of the task were looked at, of how many of them the total is
        known, and rows ``(id, step, episodes)``: in how many of these each milestone came first at
        each step; step -1: it was so before the first."""
        chosen = _OF_TASK if version is None else _OF_TASK.where(episodes.c.version == version)
        values = {"tenant": tenant, "task": task, "newest": newest}
        of = chosen.subquery()
        many = await self._database.first(select(func.count(), func.count(of.c.total)), values)
        first = (
            select(milestones.c.episode, milestones.c.id, func.min(milestones.c.step).label("step"))
            .join_from(of, milestones, milestones.c.episode == of.c.id)
            .where(of.c.total.is_not(None))
            .group_by(milestones.c.episode, milestones.c.id)
            .subquery()
        )
        counted = (
            select(first.c.id, first.c.step, func.count().label("episodes"))
            .group_by(first.c.id, first.c.step)
            .order_by(first.c.id, first.c.step)
        )
        return many[0], many[1], await self._database.all(counted, values)

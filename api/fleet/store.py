"""Sandboxes as rows: registered by their daemons, kept alive by beats, given up by one replica
alone."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, bindparam, case, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from api.core.errors import ForbiddenError, NotFoundError, SandboxTakenError
from api.core.keys import token_hash
from api.core.notify import Topic
from api.db.database import Database, now
from api.db.group_commit import GroupCommit, Ticket
from api.episodes.tables import episodes
from api.fleet.rows import SandboxRow
from api.fleet.tables import leases, sandboxes
from detectors.model.codec import canonical

LIVING = ("idle", "busy")
GONE = ("lost", "left")

_ONE = select(sandboxes).where(sandboxes.c.id == bindparam("id"))
_NAMED = select(sandboxes).where(
    sandboxes.c.tenant == bindparam("tenant"), sandboxes.c.name == bindparam("name")
)
_LIVING = select(sandboxes.c.id, sandboxes.c.beats, sandboxes.c.state, sandboxes.c.episode).where(
    sandboxes.c.state.in_(LIVING)
)
_COUNTS = select(sandboxes.c.state, func.count().label("many")).group_by(sandboxes.c.state)
_LISTED = (
    select(sandboxes)
    .where(sandboxes.c.tenant == bindparam("tenant"), sandboxes.c.id > bindparam("after"))
    .order_by(sandboxes.c.id)
    .limit(bindparam("limit"))
)
_SHOWN = (
    select(sandboxes)
    .where(sandboxes.c.tenant == bindparam("tenant"))
    .order_by(
        case({"lost": 0, "busy": 1, "idle": 2}, value=sandboxes.c.state, else_=3),
        sandboxes.c.heard_at.desc(),
        sandboxes.c.id,
    )
    .limit(bindparam("limit"))
)
_STATES = _COUNTS.where(sandboxes.c.tenant == bindparam("tenant"))
_BEAT = (
    update(sandboxes)
    .where(
        sandboxes.c.id == bindparam("of_sandbox"),
        sandboxes.c.tenant == bindparam("of_tenant"),
        sandboxes.c.instance == bindparam("of_instance"),
    )
    .values(
        beats=sandboxes.c.beats + 1,
        heard_at=bindparam("at"),
        through=bindparam("new_through"),
        gaps=bindparam("new_gaps"),
    )
    .returning(sandboxes)
)


def offered_topic(sandbox: str) -> Topic:
    """An episode was given to the sandbox."""
    return ("sandbox", sandbox)


class LivingSandbox(NamedTuple):
    """The count of a sandbox's heartbeats, whether it is idle or busy, and its episode."""

    beats: int
    state: str
    episode: str | None


class Newcomer(NamedTuple):
    """What a daemon says of itself and its sandbox."""

    name: str
    instance: str
    address: str | None
    labels: Mapping[str, str]
    agentd: str
    wire: int


@dataclass(slots=True, eq=False)
class _BeatTicket(Ticket):
    values: Mapping[str, object]
    sandbox: str
    row: SandboxRow | None = None


class Sandboxes:
    """The sandboxes of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._beats = GroupCommit[_BeatTicket](self._commit_beats)

    async def register(self, tenant: str, new: Newcomer) -> SandboxRow:
        """The row of the sandbox of that name: new, found again, or taken over from one that is
        gone.

        Raises `SandboxTakenError` while another instance of that name is alive."""
        facts = {
            "instance": token_hash(new.instance),
            "address": new.address,
            "labels": canonical(dict(new.labels)).decode(),
            "agentd": new.agentd,
            "wire": new.wire,
            "heard_at": now(),
        }
        try:
            return await self._register(tenant, new, facts)
        except IntegrityError:  # another replica registered it in this moment
            return await self._register(tenant, new, facts)

    async def _register(self, tenant: str, new: Newcomer, facts: dict[str, Any]) -> SandboxRow:
        """Add a sandbox, or take over the row of one that comes back under its name."""
        async with self._database.write() as conn:
            found = (
                await conn.execute(_NAMED.with_for_update(), {"tenant": tenant, "name": new.name})
            ).first()
            if found is None:
                fresh = {
                    "id": f"sb_{secrets.token_hex(10)}",
                    "tenant": tenant,
                    "name": new.name,
                    "gaps": "[]",
                }
                row = {
                    **fresh,
                    **facts,
                    "state": "idle",
                    "beats": 0,
                    "registered_at": facts["heard_at"],
                }
                await conn.execute(insert(sandboxes), row)
                id = fresh["id"]
            else:
                id = found.id
                if found.instance != facts["instance"] and found.state in LIVING:
                    raise SandboxTakenError(
                        f"name: {new.name} is a sandbox that is {found.state} and was heard of at"
                        f" {found.heard_at}; wanted another name, or that one ended first"
                    )
                moved = {**facts, "beats": found.beats + 1}
                if found.state in GONE:
                    moved |= {"state": "idle", "episode": None}
                await conn.execute(update(sandboxes).where(sandboxes.c.id == id).values(moved))
            return (await conn.execute(_ONE, {"id": id})).one()

    async def get(self, id: str) -> SandboxRow:
        """The row of a sandbox that was there a moment ago. Raises `NotFoundError`."""
        row: SandboxRow | None = await self._database.first(_ONE, {"id": id})
        if row is None:
            raise NotFoundError(f"sandbox: there is no sandbox {id[:80]}")
        return row

    async def authenticate(self, tenant: str, id: str, instance: str) -> SandboxRow:
        """The row, if the caller is its daemon. Raises `NotFoundError`, `ForbiddenError`."""
        row = await self.get(id)
        if row.tenant != tenant:
            raise NotFoundError(f"sandbox: there is no sandbox {id[:80]}")
        _require_instance(row, token_hash(instance))
        return row

    async def refreshed(self, row: SandboxRow) -> SandboxRow:
        """The row as it is now, of the daemon that it was of. Raises `NotFoundError`,
        `ForbiddenError` where another one has registered since."""
        found = await self.get(row.id)
        _require_instance(found, row.instance)
        return found

    async def beat(
        self, tenant: str, id: str, instance: str, through: int | None, gaps: Sequence[str]
    ) -> SandboxRow:
        """Note that the sandbox's daemon is there; returns the row as it is then. Many beats share
        one commit, and one alone is one statement. Raises as `authenticate`."""
        values = {
            "of_sandbox": id,
            "of_tenant": tenant,
            "of_instance": token_hash(instance),
            "at": now(),
            "new_through": through,
            "new_gaps": canonical(list(gaps)).decode(),
        }
        ticket = _BeatTicket(values, id)
        await self._beats.settle(ticket)
        row = ticket.row
        if row is None:
            return await self.authenticate(tenant, id, instance)
        if row.state not in GONE:
            return row
        async with self._database.write() as conn:
            await conn.execute(
                update(sandboxes)
                .where(sandboxes.c.id == id, sandboxes.c.state.in_(GONE))
                .values(state="idle", episode=None)
            )
        return await self.refreshed(row)

    async def _commit_beats(self, batch: Sequence[_BeatTicket], own: _BeatTicket) -> None:
        """Write several heartbeats in one transaction, in the order of their ids."""
        # In the order of their ids, so that replicas that commit several wait for each other in no
        # circle.
        ordered = sorted(batch, key=lambda ticket: ticket.sandbox)

        def work(conn: Connection) -> None:
            for ticket in ordered:
                ticket.row = conn.execute(_BEAT, ticket.values).first()

        await self._database.run(work, single=len(batch) == 1)
        for ticket in batch:  # where it failed, each of the others tries again in its turn
            ticket.done = True

    async def living(self) -> dict[str, LivingSandbox]:
        """Beats, state and episode of every sandbox that counts as alive, of all tenants."""
        rows = await self._database.all(_LIVING)
        return {row.id: LivingSandbox(row.beats, row.state, row.episode) for row in rows}

    async def lose_idle(self, id: str, beats: int) -> bool:
        """Count the sandbox as lost if it is idle and has sent no heartbeat since; it is idle again
        with its next one."""
        async with self._database.write() as conn:
            lost = await conn.execute(
                update(sandboxes)
                .where(
                    sandboxes.c.id == id, sandboxes.c.state == "idle", sandboxes.c.beats == beats
                )
                .values(state="lost")
            )
        return lost.rowcount == 1

    async def give_up(self, id: str, beats: int, why: str) -> bool:
        """Count it as lost, and what it had too, unless it beat meanwhile; True in exactly one
        replica.

        An episode of which it never heard waits for another sandbox, unless somebody wrote in its
        log.
        """
        async with self._database.write() as conn:
            row = (await conn.execute(_ONE.with_for_update(), {"id": id})).first()
            if row is None or row.beats != beats or row.state not in LIVING:
                return False
            await conn.execute(
                update(sandboxes).where(sandboxes.c.id == id).values(state="lost", episode=None)
            )
            await conn.execute(
                update(leases)
                .where(leases.c.sandbox == id, leases.c.state == "held", leases.c.held_at.is_(None))
                .where(leases.c.episode.in_(select(episodes.c.id).where(episodes.c.through == 0)))
                .values(state="queued", sandbox=None)
            )
            await conn.execute(
                update(leases)
                .where(leases.c.sandbox == id, leases.c.state == "held")
                .values(state="lost", why=why, ended_at=now())
            )
            return True

    async def leave(self, id: str) -> str:
        """The daemon goes for good, unless it has an episode: the state that the sandbox is in
        then."""
        async with self._database.write() as conn:
            await conn.execute(
                update(sandboxes)
                # Its last poll was given up before this call came, which looked like a loss.
                .where(sandboxes.c.id == id, sandboxes.c.state.in_(("idle", "lost")))
                .values(state="left")
            )
            return str((await conn.execute(_ONE, {"id": id})).one().state)

    async def listed(self, tenant: str, after: str, limit: int) -> Sequence[SandboxRow]:
        """At most ``limit`` sandboxes of the tenant beyond id ``after``."""
        return await self._database.all(_LISTED, {"tenant": tenant, "after": after, "limit": limit})

    async def list_rows(self, tenant: str, limit: int) -> Sequence[SandboxRow]:
        """At most ``limit`` sandboxes of the tenant: the lost, the busy, the idle, and at last
        those that left."""
        return await self._database.all(_SHOWN, {"tenant": tenant, "limit": limit})

    async def states(self, tenant: str) -> dict[str, int]:
        """How many the tenant has in each state."""
        return {
            row.state: row.many for row in await self._database.all(_STATES, {"tenant": tenant})
        }

    async def counts(self) -> dict[str, int]:
        """How many there are in each state, of all tenants."""
        return {row.state: row.many for row in await self._database.all(_COUNTS)}

    async def forget(self, days: int) -> None:
        """Drop those that went more than ``days`` ago."""
        before = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        async with self._database.write() as conn:
            await conn.execute(
                delete(sandboxes).where(sandboxes.c.state.in_(GONE), sandboxes.c.heard_at < before)
            )


async def hand_over(conn: AsyncConnection, id: str, episode: str) -> bool:
    """Give the idle sandbox an episode; False where somebody was faster."""
    found = await conn.execute(
        update(sandboxes)
        .where(sandboxes.c.id == id, sandboxes.c.state == "idle")
        .values(state="busy", episode=episode)
    )
    return found.rowcount == 1


def describe(row: SandboxRow) -> dict[str, Any]:
    """A sandbox as the wire has it."""
    names = (
        "name",
        "state",
        "episode",
        "address",
        "agentd",
        "wire",
        "beats",
        "through",
        "registered_at",
        "heard_at",
    )
    lists = {"labels": orjson.loads(row.labels), "gaps": orjson.loads(row.gaps)}
    return {"sandbox": row.id, **{name: getattr(row, name) for name in names}, **lists}


def _require_instance(row: SandboxRow, hashed: str) -> None:
    """Refuse a daemon whose instance, as its hash, is not the row's. Raises `ForbiddenError`."""
    if row.instance != hashed:
        raise ForbiddenError(
            f"instance: another daemon registered as sandbox {row.id} since; wanted its instance"
        )

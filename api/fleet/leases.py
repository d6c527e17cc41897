"""Which sandbox works on which episode: asked for when the episode is opened, given to the first
one that fits.

Both sides look: who opens takes an idle sandbox, who becomes idle takes the oldest episode that
waits. On Postgres the two can miss each other by a hair; then the daemon's next look, seconds
later, finds it.

A sandbox may be dead before anybody noticed. So nobody is told that it has an episode before its
daemon was: until then the lease is `queued` to all who ask, and goes to another one if that sandbox
is lost. Once told it stays: the harness may act there from then on, and whoever watched elsewhere
would see nothing and say 0.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Literal, NamedTuple

import orjson
from sqlalchemy import Select, bindparam, func, insert, select, union, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from api.core.notify import LEASE, Notifier, Topic
from api.db.database import Database, now
from api.episodes.tables import episodes
from api.fleet.rows import LeaseRow, SandboxRow
from api.fleet.store import hand_over, offered_topic
from api.fleet.tables import leases, owners, sandboxes
from detectors.model.codec import canonical

NOT_ASKED = "sandbox: episode {} was opened without asking for one"

Selector = Mapping[str, str]
"""Labels that the sandbox must have; empty: any sandbox."""

_PAGE = 200
_OF = (
    select(leases, sandboxes.c.name, sandboxes.c.address, sandboxes.c.labels)
    .outerjoin(sandboxes, leases.c.sandbox == sandboxes.c.id)
    .where(leases.c.episode == bindparam("episode"))
)
_STALE = (sandboxes.c.heard_at < bindparam("stale")).label("stale")
_IDLE = (
    select(sandboxes.c.id, sandboxes.c.labels, _STALE)
    .where(sandboxes.c.state == "idle", sandboxes.c.tenant == bindparam("tenant"))
    # Who missed a beat may be dead without anybody's having noticed, so comes last. Among the
    # others the order is nobody's merit: one that fails each episode at once would be heard of last
    # each time, and get all of them.
    .order_by(_STALE, sandboxes.c.id < bindparam("pivot"), sandboxes.c.id)
    .limit(_PAGE)
    .offset(bindparam("after"))
)
_QUEUED = (
    select(leases)
    .where(
        leases.c.state == "queued",
        leases.c.tenant == bindparam("tenant"),
        leases.c.number > bindparam("after"),
    )
    .order_by(leases.c.number)
    .limit(_PAGE)
)
_WAITS = (
    select(leases.c.episode)
    .where(leases.c.episode == bindparam("episode"), leases.c.state == "queued")
    .with_for_update()
)
_FIRST_THAT_WAITS = (
    select(leases.c.episode)
    .where(leases.c.episode.in_(bindparam("among", expanding=True)), leases.c.state == "queued")
    .order_by(leases.c.number)
    .limit(1)
    .with_for_update(skip_locked=True)
)
"""Of these episodes the oldest that waits, and that no other sandbox is being given just now: where
many become idle at once, none queues up behind the others for what they take."""
_UNCONFIRMED = (
    select(leases.c.episode, leases.c.sandbox)
    .where(leases.c.state == "held", leases.c.held_at.is_(None))
    .order_by(leases.c.number)
)
_MANY_QUEUED = select(func.count()).select_from(leases).where(leases.c.state == "queued")
_TO_END = union(
    select(leases.c.episode, leases.c.why)
    .join(episodes, leases.c.episode == episodes.c.id)
    .where(leases.c.state == "lost", episodes.c.status != "closed"),
    select(owners.c.episode, owners.c.why)
    .join(episodes, owners.c.episode == episodes.c.id)
    .where(
        owners.c.why.is_not(None),
        episodes.c.status != "closed",
        owners.c.episode.not_in(select(leases.c.episode)),
    ),
)
_SILENT_OWNER = select(owners.c.why).where(
    owners.c.episode == bindparam("episode"),
    owners.c.tenant == bindparam("tenant"),
    owners.c.why.is_not(None),
)
_TO_CANCEL = (
    select(leases.c.episode)
    .join(episodes, leases.c.episode == episodes.c.id)
    .where(leases.c.state == "queued", episodes.c.status != "open")
)


class UnconfirmedLease(NamedTuple):
    """An episode that was given to a sandbox whose daemon has not heard of it."""

    episode: str
    sandbox: str


def settled_topic(episode: str) -> Topic:
    """The episode was given a sandbox, or will get none any more."""
    return (LEASE, episode)


class Leases:
    """The leases of one database. A sandbox that was not heard of for ``stale_s`` is given an
    episode last."""

    def __init__(self, database: Database, notifier: Notifier, stale_s: float) -> None:
        self._database, self._notifier = database, notifier
        self._stale = timedelta(seconds=stale_s)

    async def ask(self, tenant: str, episode: str, selector: Selector) -> None:
        """Queue the episode for a sandbox and give it one that is idle; asked again it changes
        nothing."""
        if await self.find(episode) is None:
            row = {"episode": episode, "tenant": tenant, "state": "queued", "asked_at": now()}
            asked = {**row, "selector": canonical(dict(selector)).decode()}
            with suppress(IntegrityError):  # another replica was asked in this moment
                async with self._database.write() as conn:
                    await conn.execute(insert(leases), asked)
        # Who becomes idle while the episode is locked here passes over it, so is looked for again.
        while await self._offer(tenant, episode, selector) == "busy":
            pass

    async def _offer(
        self, tenant: str, episode: str, selector: Selector
    ) -> Literal["settled", "busy", "none"]:
        """Give the episode to an idle sandbox that fits, each tried once; ``busy``: those that
        fitted had another by then, ``none``: there were none."""
        pivot = f"sb_{secrets.token_hex(10)}"
        order = {"tenant": tenant, "stale": now(-self._stale), "pivot": pivot}
        outcome: Literal["busy", "none"] = "none"
        after = 0
        while idle := await self._database.all(_IDLE, {**order, "after": after}):
            for sandbox in _shuffled(idle):
                if not _fits(selector, orjson.loads(sandbox.labels)):
                    continue
                if await self._give(sandbox.id, _WAITS, {"episode": episode}) != "busy":
                    return "settled"
                outcome = "busy"
            after += len(idle)
        return outcome

    async def take(self, sandbox: SandboxRow) -> None:
        """Give the idle ``sandbox`` the oldest episode that waits for one like it, if any does."""
        labels, after = orjson.loads(sandbox.labels), 0
        while waiting := await self._database.all(
            _QUEUED, {"tenant": sandbox.tenant, "after": after}
        ):
            among = [
                lease.episode for lease in waiting if _fits(orjson.loads(lease.selector), labels)
            ]
            given = {"among": among}
            if among and await self._give(sandbox.id, _FIRST_THAT_WAITS, given) != "gone":
                return
            after = waiting[-1].number

    async def _give(
        self, sandbox: str, waits: Select[str], values: Mapping[str, object]
    ) -> Literal["given", "busy", "gone"]:
        """Join the sandbox with the episode that ``waits`` finds and locks; or ``busy``: the
        sandbox has another by now, ``gone``: it finds none."""
        async with self._database.write() as conn:
            episode = (await conn.execute(waits, values)).scalar()
            if episode is None:
                return "gone"
            if not await hand_over(conn, sandbox, episode):
                return "busy"
            held = {"state": "held", "sandbox": sandbox, "held_at": None}
            await conn.execute(update(leases).where(leases.c.episode == episode).values(held))
        self._notifier.tell(offered_topic(sandbox))
        return "given"

    async def mark_announced(self, sandbox: str, episode: str) -> None:
        """The sandbox's daemon is being told of its episode: from now on everybody may be."""
        async with self._database.write() as conn:
            untold = (
                leases.c.episode == episode,
                leases.c.sandbox == sandbox,
                leases.c.held_at.is_(None),
            )
            await conn.execute(update(leases).where(*untold).values(held_at=now()))
        self._notifier.tell(settled_topic(episode))

    async def free(self, sandbox: str, episode: str) -> None:
        """The daemon is done with the closed ``episode``: the sandbox is idle again."""
        async with self._database.write() as conn:
            row = (
                await conn.execute(select(episodes.c.status).where(episodes.c.id == episode))
            ).first()
            if row is not None and row.status != "closed":
                return
            await conn.execute(
                update(leases)
                .where(
                    leases.c.episode == episode,
                    leases.c.sandbox == sandbox,
                    leases.c.state == "held",
                )
                .values(state="ended", ended_at=now())
            )
            await conn.execute(
                update(sandboxes)
                .where(
                    sandboxes.c.id == sandbox,
                    sandboxes.c.episode == episode,
                    sandboxes.c.state == "busy",
                )
                .values(state="idle", episode=None)
            )

    async def lose(self, episode: str, why: str) -> None:
        """Nobody will work on the episode any more: it is to be ended without its sandbox."""
        async with self._database.write() as conn:
            await lose_lease(conn, episode, why)
        self._notifier.tell(settled_topic(episode))

    async def find(self, episode: str) -> LeaseRow | None:
        """The lease with its sandbox's name, address and labels; None where the episode asked for
        none."""
        row: LeaseRow | None = await self._database.first(_OF, {"episode": episode})
        return row

    async def to_end(self) -> list[tuple[str, str]]:
        """Episodes whose sandbox is lost, or whose owner is silent, and whose log has no end yet,
        with the reason."""
        return [(row.episode, row.why) for row in await self._database.all(_TO_END)]

    async def to_cancel(self) -> list[str]:
        """Episodes that are to be closed before any sandbox had them."""
        return [row.episode for row in await self._database.all(_TO_CANCEL)]

    async def given_up(self, tenant: str, episode: str) -> dict[str, str | None] | None:
        """That the episode was ended without its sandbox, and why; None where it was not."""
        row = await self.find(episode)
        if row is not None and row.tenant == tenant and row.state == "lost":
            return {"episode": episode, "why": row.why}
        silent = await self._database.first(_SILENT_OWNER, {"episode": episode, "tenant": tenant})
        return None if silent is None else {"episode": episode, "why": silent.why}

    async def list_unconfirmed(self) -> list[UnconfirmedLease]:
        """Episodes that were given to a sandbox whose daemon has not heard of them."""
        rows = await self._database.all(_UNCONFIRMED)
        return [UnconfirmedLease(row.episode, row.sandbox) for row in rows]

    async def take_back(self, lease: UnconfirmedLease) -> bool:
        """Give the episode to another sandbox, unless its daemon has heard of it or somebody wrote
        in its log; the sandbox is lost until its next heartbeat. True in exactly one replica."""
        async with self._database.write() as conn:
            taken = await conn.execute(
                update(leases)
                .where(
                    leases.c.episode == lease.episode,
                    leases.c.sandbox == lease.sandbox,
                    leases.c.state == "held",
                    leases.c.held_at.is_(None),
                    leases.c.episode.in_(
                        select(episodes.c.id).where(
                            episodes.c.id == lease.episode, episodes.c.through == 0
                        )
                    ),
                )
                .values(state="queued", sandbox=None)
            )
            if taken.rowcount != 1:
                return False
            await conn.execute(
                update(sandboxes)
                .where(sandboxes.c.id == lease.sandbox, sandboxes.c.episode == lease.episode)
                .values(state="lost", episode=None)
            )
        row = await self.find(lease.episode)
        if row is not None:
            await self.ask(row.tenant, lease.episode, orjson.loads(row.selector))
        return True

    async def queued(self, tenant: str | None = None) -> int:
        """How many episodes wait for a sandbox: of one tenant, or of all."""
        statement = (
            _MANY_QUEUED if tenant is None else _MANY_QUEUED.where(leases.c.tenant == tenant)
        )
        return int((await self._database.first(statement))[0])


async def lose_lease(conn: AsyncConnection, episode: str, why: str) -> None:
    """Take the episode from its sandbox or out of the queue, if it is in either."""
    await conn.execute(
        update(leases)
        .where(leases.c.episode == episode, leases.c.state.in_(("held", "queued")))
        .values(state="lost", why=why, ended_at=now())
    )
    await conn.execute(
        update(sandboxes).where(sandboxes.c.episode == episode).values(state="idle", episode=None)
    )


def _shuffled(idle: Sequence[object]) -> list[Any]:
    return sorted(idle, key=lambda sandbox: (bool(sandbox.stale), random.random()))


def _fits(selector: Selector, labels: Mapping[str, object]) -> bool:
    return all(labels.get(name) == value for name, value in selector.items())


def untold(row: LeaseRow) -> bool:
    """Whether the lease has a sandbox whose daemon was not told of it yet."""
    return row.state == "held" and row.held_at is None


def describe(row: LeaseRow) -> dict[str, Any]:
    """A lease as the wire has it."""
    sandbox = None
    if untold(row):
        return {"episode": row.episode, "state": "queued", "why": None, "sandbox": None}
    if row.sandbox is not None and row.name is not None:
        sandbox = {
            "sandbox": row.sandbox,
            "name": row.name,
            "address": row.address,
            "labels": orjson.loads(row.labels),
        }
    return {"episode": row.episode, "state": row.state, "why": row.why, "sandbox": sandbox}

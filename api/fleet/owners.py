"""Owners of episodes: a trainer that died is noticed by its silence, and its episode is ended.

An episode's owner is heard by a call about it with a trainer's token, or with the token that opened
it; by a stream or socket that such a token holds open; by a heartbeat; and by a step that begins in
the episode's log, since a harness beside the daemon may call the daemon alone. A replica collects
what it hears and writes it down at each look.

The database's clock alone decides. Time in which no replica looked does not count, whether the
services or the database were down or the clock was set: the row of `hearing` says since when there
is no such break. One conditional update ends an episode, so that one replica does
(docs/decisions/0036-an-owner-that-is-heard.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from typing import NamedTuple

import structlog
from sqlalchemy import and_, bindparam, case, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from api.auth.store import Principal
from api.core.background import PeriodicTask
from api.core.metrics import Metrics
from api.core.notify import Notifier
from api.db.clock import clock
from api.db.database import Database
from api.episodes.tables import episodes
from api.fleet.leases import lose_lease, settled_topic
from api.fleet.rows import OwnerRow
from api.fleet.tables import hearing, owners

LOOK_S = 10.0
"""How often a replica writes down whom it heard, and looks who is silent."""
MAX_PAUSE_S = 3 * LOOK_S
"""A longer time between two looks of all replicas is one in which nobody could be heard."""
FRESH = 1 / 20
"""Part of the silence within which an owner that is heard again is not written down again."""
WHY = "its owner was not heard of for {:g} s"
_ROW = 1

log = structlog.get_logger(__name__)


class _Voice(NamedTuple):
    """What was heard: a call about an episode. ``token`` is empty for a trainer's."""

    episode: str
    tenant: str
    token: str


class OwnerSilence(NamedTuple):
    """How long an owner has been silent, and after how long its episode ends, in seconds."""

    silent_s: float
    silence_s: float


def limit_s(silence_s: float) -> float:
    """Return the silence that is certain to be one of ``silence_s`` at every replica.

    A call may have been heard and not be written down yet.
    """
    return silence_s * (1 + FRESH) + 2 * LOOK_S


class Owners:
    """The owners of one database's episodes, as one replica hears them."""

    def __init__(self, database: Database, notifier: Notifier, metrics: Metrics) -> None:
        self._database, self._notifier, self._metrics = database, notifier, metrics
        self._owned: Mapping[str, float] = {}
        self._heard: set[_Voice] = set()
        self._held: Counter[_Voice] = Counter()
        at = clock(database.embedded)
        heard_at = case(
            (owners.c.heard_at > hearing.c.since, owners.c.heard_at), else_=hearing.c.since
        )
        silent_s = (at - heard_at).label("silent_s")
        awaited = owners.join(episodes, owners.c.episode == episodes.c.id).join(
            hearing, hearing.c.id == _ROW
        )
        has_paused = (at - hearing.c.looked_at > MAX_PAUSE_S) | (
            at - hearing.c.looked_at < -MAX_PAUSE_S
        )
        self._look = (
            update(hearing)
            .where(hearing.c.id == _ROW)
            .values(since=case((has_paused, at), else_=hearing.c.since), looked_at=at)
        )
        self._first_look = insert(hearing).values(id=_ROW, since=at, looked_at=at)
        self._awaited = (
            select(
                owners.c.episode,
                owners.c.tenant,
                owners.c.silence_s,
                owners.c.step.label("known_step"),
                episodes.c.step,
                episodes.c.status,
                episodes.c.opened_by,
                silent_s,
            )
            .select_from(awaited)
            .where(owners.c.why.is_(None))
        )
        self._measured = (
            select(func.count().label("many"), func.max(at - heard_at).label("longest_s"))
            .select_from(awaited)
            .where(owners.c.why.is_(None), episodes.c.status == "open")
        )
        self._shown = self._awaited.where(
            owners.c.episode.in_(bindparam("episodes", expanding=True)),
            episodes.c.status == "open",
        )
        self._insert = insert(owners).values(heard_at=at)
        self._hear = (
            update(owners)
            .where(owners.c.episode == bindparam("of_episode"), owners.c.why.is_(None))
            .values(heard_at=at, step=bindparam("at_step"))
        )
        limit = owners.c.silence_s * (1 + FRESH) + 2 * LOOK_S
        is_open = select(episodes.c.id).where(
            episodes.c.id == owners.c.episode, episodes.c.status == "open"
        )
        could_be_heard = select(hearing.c.id).where(
            hearing.c.id == _ROW, hearing.c.since + limit <= at
        )
        self._end = (
            update(owners)
            .where(
                and_(
                    owners.c.episode == bindparam("of_episode"),
                    owners.c.why.is_(None),
                    owners.c.heard_at + limit <= at,
                    is_open.exists(),
                    could_be_heard.exists(),
                )
            )
            .values(why=bindparam("reason"))
        )
        self.periodic = PeriodicTask(
            "owners",
            self._turn,
            retry_s=LOOK_S,
            postponed="Owners of episodes can't be looked at now.",
            failed="Owners of episodes can't be looked at.",
        )

    async def add(self, tenant: str, episode: str, silence_s: float) -> None:
        """End the episode once its owner was not heard of for ``silence_s``; again it changes
        nothing."""
        row = {"episode": episode, "tenant": tenant, "silence_s": silence_s}
        with suppress(IntegrityError):  # the same request again
            async with self._database.write() as conn:
                await conn.execute(self._insert, row)

    def hear(self, who: Principal, about: Iterable[str | None]) -> None:
        """Note a call of ``who`` about these episodes; whether it is their owner's is looked up
        later. Daemons and readers are not heard."""
        if who.scope in ("trainer", "admin"):
            self._heard.update(
                _voice(who, one) for one in about if one is not None and one in self._owned
            )

    @contextmanager
    def holding(self, who: Principal, episode: str) -> Iterator[None]:
        """Hear ``who`` about the episode for as long as the block runs, as a stream does."""
        if who.scope not in ("trainer", "admin"):
            yield
            return
        voice = _voice(who, episode)
        self._held[voice] += 1
        try:
            yield
        finally:
            self._held[voice] -= 1
            if not self._held[voice]:
                del self._held[voice]

    async def look(self) -> list[str]:
        """Write down who was heard, and return the episodes that end because their owner was not.

        Raises `UnavailableError`; what was heard is then written at the next look.
        """
        await self._note_look()
        heard = {*self._heard, *self._held}
        rows: Sequence[OwnerRow] = await self._database.all(self._awaited)
        self._owned = {row.episode: row.silence_s for row in rows}
        await self._write(rows, heard)
        self._heard -= heard
        return [
            row.episode
            for row in rows
            if row.silent_s >= limit_s(row.silence_s)
            and row.status == "open"
            and not _is_heard(row, heard)
            and await self._end_silent(row)
        ]

    async def _note_look(self) -> None:
        async with self._database.write() as conn:
            is_noted = (await conn.execute(self._look)).rowcount == 1
        if not is_noted:
            with suppress(IntegrityError):  # another replica's is the first
                async with self._database.write() as conn:
                    await conn.execute(self._first_look)

    async def _write(self, rows: Sequence[OwnerRow], heard: set[_Voice]) -> None:
        """Renew the owners that were heard, and drop those of episodes that are closed."""
        # In one order at every replica, so that none waits for a row that another one has.
        rows = sorted(rows, key=attrgetter("episode"))
        renewed = [
            {"of_episode": row.episode, "at_step": row.step}
            for row in rows
            if _is_heard(row, heard) and row.silent_s > row.silence_s * FRESH
        ]
        closed = [row.episode for row in rows if row.status == "closed"]
        if not renewed and not closed:
            return
        async with self._database.write() as conn:
            if renewed:
                await conn.execute(self._hear, renewed)
            if closed:
                ended = delete(owners).where(owners.c.episode == bindparam("of_episode"))
                await conn.execute(ended, [{"of_episode": one} for one in closed])

    async def _end_silent(self, row: OwnerRow) -> bool:
        """End the episode, unless its owner was heard elsewhere; True in exactly one replica."""
        reason = WHY.format(row.silence_s)
        async with self._database.write() as conn:
            values = {"of_episode": row.episode, "reason": reason}
            if (await conn.execute(self._end, values)).rowcount != 1:
                return False
            await lose_lease(conn, row.episode, reason)
        self._notifier.tell(settled_topic(row.episode))
        self._metrics.owner_silent.inc()
        log.warning("An episode's owner is silent; it ends.", episode=row.episode, why=reason)
        return True

    async def silences(self, ids: Sequence[str]) -> dict[str, OwnerSilence]:
        """How long the owners of these open episodes have been silent; those without one are not
        in it."""
        rows: Sequence[OwnerRow] = await self._database.all(self._shown, {"episodes": list(ids)})
        return {row.episode: OwnerSilence(max(row.silent_s, 0.0), row.silence_s) for row in rows}

    async def measure(self) -> tuple[int, float]:
        """How many open episodes have an owner, and the longest silence of one, in seconds."""
        row = await self._database.first(self._measured)
        return row.many, max(row.longest_s or 0.0, 0.0)

    def start(self) -> None:
        """Look now and then, until `stop`."""
        self.periodic.start()

    async def stop(self) -> None:
        """Cancel the look that runs and return once it ended."""
        await self.periodic.stop()

    async def _turn(self) -> float:
        await self.look()
        return LOOK_S


def _voice(who: Principal, episode: str) -> _Voice:
    return _Voice(episode, who.tenant, "" if who.scope == "trainer" else who.id)


def _is_heard(row: OwnerRow, heard: set[_Voice]) -> bool:
    """Whether the owner was heard, or began a step at the daemon since it last was."""
    by_opener = _Voice(row.episode, row.tenant, row.opened_by or "")
    by_trainer = by_opener._replace(token="")
    return by_trainer in heard or by_opener in heard or row.step != row.known_step

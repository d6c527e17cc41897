"""What was earned: milestones and sealed rewards, written with the segment that earned them.

A final reward never changes, so its bytes may be kept in memory until its episode is deleted;
`settling` is never stored. A step that is asked about beyond the rules is stored as `escalating`,
and replaced once, by what was decided.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from sqlalchemy import Float, Numeric, bindparam, case, cast, func, select, update

from api.db.database import Database
from api.episodes.tables import episodes
from api.rewards.tables import milestones, rewards
from api.verdicts.recorded import DECIDED
from api.verdicts.tables import verdicts

ESCALATING = "escalating"
ASIDE = 0
"""The ``first`` of an arrival that is no segment: the step ``last`` was decided."""
DECIDE = (
    update(rewards)
    .where(
        rewards.c.episode == bindparam("of_episode"),
        rewards.c.step == bindparam("of_step"),
        rewards.c.status == ESCALATING,
    )
    .values({name: bindparam(f"new_{name}") for name in ("status", "reward", "body")})
)
"""What was asked is answered: the step's one and final value."""
_of_total = rewards.c.episode == bindparam("of_episode")
_sum = cast(func.round(cast(func.sum(rewards.c.reward), Numeric), 12), Float)
TOTAL = (
    update(episodes)
    .where(episodes.c.id == bindparam("of_episode"))
    .values(
        total=select(case((func.count() > func.count(rewards.c.reward), None), else_=_sum))
        .where(_of_total)
        .scalar_subquery()
    )
)
"""`detectors.model.rewards.episode_total` of what is stored, where the engine alone can't know it.

Each has at most 12 decimals, so that their sum, rounded to 12, is the same in any order."""

_BODY = select(rewards.c.body, rewards.c.status).where(
    rewards.c.episode == bindparam("episode"), rewards.c.step == bindparam("step")
)
_ALL = (
    select(rewards.c.body).where(rewards.c.episode == bindparam("episode")).order_by(rewards.c.step)
)
_LAST = select(func.max(rewards.c.step)).where(rewards.c.episode == bindparam("episode"))


def _between(table: Any, column: Any, order: Any) -> Any:
    return (
        select(column.label("seq"), table.c.body)
        .where(
            table.c.episode == bindparam("episode"),
            column >= bindparam("first"),
            column <= bindparam("last"),
        )
        .order_by(column, order)
    )


_DECIDED = (
    select(rewards.c.step)
    .join(verdicts, (rewards.c.episode == verdicts.c.episode) & (rewards.c.step == verdicts.c.step))
    .where(verdicts.c.episode == bindparam("episode"), verdicts.c.kind == DECIDED)
    .where(rewards.c.through <= bindparam("through"))
    .order_by(verdicts.c.seq)
)
_ESCALATING = (
    select(rewards.c.step)
    .where(rewards.c.episode == bindparam("episode"), rewards.c.status == ESCALATING)
    .limit(1)
)
_MILESTONES_BETWEEN = _between(milestones, milestones.c.seq, milestones.c.number)
_REWARDS_BETWEEN = _between(rewards, rewards.c.through, rewards.c.step)


MAX_CACHED_BYTES = 64 << 20
"""Bytes of the rewards that are remembered."""
EACH = 256
"""Bytes that one costs beside its text: its key and its place in the table."""


class Ledger:
    """The earnings in one database."""

    def __init__(self, database: Database, cached: int) -> None:
        self._database = database
        self._cached = cached
        self._bytes: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self.bytes, self.max_bytes = 0, MAX_CACHED_BYTES
        """Bytes that the remembered rewards take, with what each of them costs beside its text."""

    def remembered(self, episode: str, step: int) -> bytes | None:
        """The sealed reward's bytes, where they are in memory."""
        return self._bytes.get((episode, step))

    def remember(self, episode: str, step: int, body: bytes) -> None:
        """Keep a reward that is durable; the one that was kept longest makes room."""
        self._drop(self._bytes.pop((episode, step), None))
        # A copy: what encoded it allocated more than it needed, and the whole allocation would be
        # kept.
        kept = self._bytes[episode, step] = bytes(memoryview(body))
        self.bytes += len(kept) + EACH
        while len(self._bytes) > self._cached or self.bytes > MAX_CACHED_BYTES:
            self._drop(self._bytes.popitem(last=False)[1])

    def _drop(self, body: bytes | None) -> None:
        self.bytes -= 0 if body is None else len(body) + EACH

    def forget(self) -> None:
        """Forget what is in memory: an episode was deleted."""
        self._bytes.clear()
        self.bytes = 0

    async def stored(self, episode: str, step: int) -> tuple[bytes | None, bool]:
        """The step's reward as it is stored, and whether it is final; (None, False) before it is
        sealed."""
        body = self.remembered(episode, step)
        if body is not None:
            return body, True
        row = await self._database.first(_BODY, {"episode": episode, "step": step})
        if row is None:
            return None, False
        body, final = bytes(row.body), row.status != ESCALATING
        if final:
            self.remember(episode, step, body)
        return body, final

    async def sealed(self, episode: str, step: int) -> bytes | None:
        """The final reward's bytes, or None while there is none."""
        body, final = await self.stored(episode, step)
        return body if final else None

    async def all(self, episode: str) -> list[bytes]:
        """Every sealed reward of the episode, by step."""
        return [bytes(row.body) for row in await self._database.all(_ALL, {"episode": episode})]

    async def last_step(self, episode: str) -> int | None:
        """The last step that has a sealed reward."""
        row = await self._database.first(_LAST, {"episode": episode})
        return None if row is None else row[0]

    async def milestones_between(
        self, episode: str, first: int, last: int
    ) -> list[tuple[int, bytes]]:
        """Milestones reached at events ``first`` to ``last``, with the event's seq."""
        return await self._pairs(_MILESTONES_BETWEEN, episode, first, last)

    async def rewards_between(self, episode: str, first: int, last: int) -> list[tuple[int, bytes]]:
        """Rewards sealed by events ``first`` to ``last``, with the event's seq."""
        return await self._pairs(_REWARDS_BETWEEN, episode, first, last)

    async def decided(self, episode: str, through: int) -> list[int]:
        """Steps sealed by event ``through`` whose value was decided beyond the rules, as they were
        decided."""
        return [
            row.step
            for row in await self._database.all(_DECIDED, {"episode": episode, "through": through})
        ]

    async def escalating(self, episode: str) -> bool:
        """Whether a step of the episode waits for an answer from beyond the rules."""
        return await self._database.first(_ESCALATING, {"episode": episode}) is not None

    async def _pairs(
        self, statement: Any, episode: str, first: int, last: int
    ) -> list[tuple[int, bytes]]:
        rows = await self._database.all(
            statement, {"episode": episode, "first": first, "last": last}
        )
        return [(row.seq, bytes(row.body)) for row in rows]

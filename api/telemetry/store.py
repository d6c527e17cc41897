"""How far each episode's trace is sent: read and moved on by the exporter alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

import orjson
from sqlalchemy import and_, bindparam, delete, or_, select, update

from api.db.clock import clock
from api.db.database import Database
from api.episodes.rows import EpisodeRow
from api.episodes.tables import episodes, trace_exports
from api.rewards.ledger import ESCALATING
from api.rewards.tables import rewards
from detectors.model.rewards import RewardJson

_EXPORTING = 0x6D696C74
"""Advisory lock on Postgres, held by the replica that exports."""

_next_status = (
    select(rewards.c.status)
    .where(rewards.c.episode == trace_exports.c.episode, rewards.c.step >= trace_exports.c.step)
    .order_by(rewards.c.step)
    .limit(1)
    .scalar_subquery()
)
_REWARDS = (
    select(rewards.c.status, rewards.c.body)
    .where(rewards.c.episode == bindparam("episode"), rewards.c.step >= bindparam("step"))
    .order_by(rewards.c.step)
    .limit(bindparam("count"))
)
_this = trace_exports.c.episode == bindparam("of_episode")
_ADVANCE = (
    update(trace_exports)
    .where(_this)
    .values(step=bindparam("new_step"), seq=bindparam("new_seq"), attempts=0)
)
_FINISH = delete(trace_exports).where(_this)


class NextPart(NamedTuple):
    """Everything before ``step`` is sent, and the log is read up to event ``seq``."""

    step: int
    seq: int


class PendingTrace(EpisodeRow, Protocol):
    """An episode's row with what of its trace was sent: see `trace_exports`. ``next_step`` is the
    first step that was not."""

    next_step: int
    seq: int
    attempts: int


class TraceExports:
    """The queue of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._now = clock(database.embedded)

    def alone(self) -> AbstractAsyncContextManager[bool]:
        """Whether this process may export until the block ends: see `Database.alone`."""
        return self._database.alone(_EXPORTING)

    async def pending(self, count: int) -> Sequence[PendingTrace]:
        """Return at most ``count`` episodes of which something can be sent now: their next step has
        a final reward, or they are closed and no step is left."""
        can_be_sent = or_(
            _next_status != ESCALATING,
            and_(_next_status.is_(None), episodes.c.status == "closed"),
        )
        statement = (
            select(
                episodes,
                trace_exports.c.step.label("next_step"),
                trace_exports.c.seq,
                trace_exports.c.attempts,
            )
            .join(trace_exports, trace_exports.c.episode == episodes.c.id)
            .where(trace_exports.c.due <= self._now, can_be_sent)
            .order_by(trace_exports.c.due, episodes.c.id)
            .limit(count)
        )
        return await self._database.all(statement)

    async def final_rewards(
        self, episode: str, step: int, count: int
    ) -> tuple[list[RewardJson], bool]:
        """Return the rewards from ``step`` up to the first that is not final, at most ``count``,
        and whether there is none behind them."""
        values = {"episode": episode, "step": step, "count": count + 1}
        rows = await self._database.all(_REWARDS, values)
        final: list[RewardJson] = []
        for row in rows[:count]:
            if row.status == ESCALATING:
                break
            final.append(orjson.loads(row.body))
        return final, len(final) == len(rows)

    async def note(self, sent: Mapping[str, NextPart | None]) -> None:
        """Note, by episode, where what is not sent begins; None: all of it is sent."""
        async with self._database.write() as conn:
            for episode, following in sorted(sent.items()):
                if following is None:
                    await conn.execute(_FINISH, {"of_episode": episode})
                else:
                    place = {"new_step": following.step, "new_seq": following.seq}
                    await conn.execute(_ADVANCE, {"of_episode": episode, **place})

    async def postpone(self, episode: str, pause_s: float) -> None:
        """Note that the next part was refused; it is due again in ``pause_s`` seconds."""
        again = update(trace_exports).where(_this)
        later = again.values(attempts=trace_exports.c.attempts + 1, due=self._now + pause_s)
        async with self._database.write() as conn:
            await conn.execute(later, {"of_episode": episode})

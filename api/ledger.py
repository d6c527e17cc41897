"""What was earned: milestones and sealed rewards, written with the segment that earned them.

A sealed reward never changes, so its bytes may be kept in memory until its episode is deleted; `settling` is never
stored.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import bindparam, func, insert, select

from api.store.database import Database
from api.tables import milestones, rewards
from detectors.codec import canonical
from detectors.rewards import encode_reward, milestone_to_json
from detectors.types import Milestone, Reward

INSERT_MILESTONES = insert(milestones)
INSERT_REWARDS = insert(rewards)

_BODY = select(rewards.c.body).where(rewards.c.episode == bindparam("episode"), rewards.c.step == bindparam("step"))
_ALL = select(rewards.c.body).where(rewards.c.episode == bindparam("episode")).order_by(rewards.c.step)
_LAST = select(func.max(rewards.c.step)).where(rewards.c.episode == bindparam("episode"))


def _between(table: Any, column: Any, order: Any) -> Any:
    return (
        select(column.label("seq"), table.c.body)
        .where(table.c.episode == bindparam("episode"), column >= bindparam("first"), column <= bindparam("last"))
        .order_by(column, order)
    )


_MILESTONES_BETWEEN = _between(milestones, milestones.c.seq, milestones.c.number)
_REWARDS_BETWEEN = _between(rewards, rewards.c.through, rewards.c.step)


class Ledger:
    """The earnings in one database."""

    def __init__(self, database: Database, cached: int) -> None:
        self._database = database
        self._cached = cached
        self._bytes: OrderedDict[tuple[str, int], bytes] = OrderedDict()

    def remembered(self, episode: str, step: int) -> bytes | None:
        """The sealed reward's bytes, where they are in memory."""
        return self._bytes.get((episode, step))

    def remember(self, episode: str, step: int, body: bytes) -> None:
        """Keep a reward that is durable; the one that was kept longest makes room."""
        self._bytes[episode, step] = body
        if len(self._bytes) > self._cached:
            self._bytes.popitem(last=False)

    def forget(self) -> None:
        """Forget what is in memory: an episode was deleted."""
        self._bytes.clear()

    async def sealed(self, episode: str, step: int) -> bytes | None:
        """The sealed reward's bytes, or None while there is none."""
        body = self.remembered(episode, step)
        if body is None:
            row = await self._database.first(_BODY, {"episode": episode, "step": step})
            if row is not None:
                body = bytes(row.body)
                self.remember(episode, step, body)
        return body

    async def all(self, episode: str) -> list[bytes]:
        """Every sealed reward of the episode, by step."""
        return [bytes(row.body) for row in await self._database.all(_ALL, {"episode": episode})]

    async def last_step(self, episode: str) -> int | None:
        """The last step that has a sealed reward."""
        row = await self._database.first(_LAST, {"episode": episode})
        return None if row is None else row[0]

    async def milestones_between(self, episode: str, first: int, last: int) -> list[tuple[int, bytes]]:
        """Milestones reached at events ``first`` to ``last``, with the event's seq."""
        return await self._pairs(_MILESTONES_BETWEEN, episode, first, last)

    async def rewards_between(self, episode: str, first: int, last: int) -> list[tuple[int, bytes]]:
        """Rewards sealed by events ``first`` to ``last``, with the event's seq."""
        return await self._pairs(_REWARDS_BETWEEN, episode, first, last)

    async def _pairs(self, statement: Any, episode: str, first: int, last: int) -> list[tuple[int, bytes]]:
        rows = await self._database.all(statement, {"episode": episode, "first": first, "last": last})
        return [(row.seq, bytes(row.body)) for row in rows]


def milestone_rows(
    episode: str, number: int, first: int, last: int, found: Sequence[Milestone]
) -> list[dict[str, Any]]:
    """Rows of the milestones that the events ``first`` to ``last`` brought, numbered from ``number``."""
    return [
        {
            "episode": episode,
            "number": number + n,
            # Whoever follows the log segment by segment must meet it there, even where all evidence is older.
            "seq": max(first, max(m.evidence, default=last)),
            "step": m.step,
            "id": m.id,
            "worth": m.worth,
            "body": canonical(milestone_to_json(m)),
        }
        for n, m in enumerate(found)
    ]


def reward_rows(sealed: Iterable[Reward]) -> list[dict[str, Any]]:
    """Rows of newly sealed rewards."""
    return [
        {
            "episode": r.episode,
            "step": r.step,
            "status": r.status,
            "reward": r.reward,
            "through": r.through,
            "body": encode_reward(r),
        }
        for r in sealed
    ]

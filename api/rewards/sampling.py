"""Draws closed episodes for training: a sample that the same seed gives again.

Each candidate has a number that its id and the seed decide, so an episode that comes later moves
none of the others: it enters the sample or it does not.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import Literal, get_args

from sqlalchemy import Select, func, select

from api.db.database import Database
from api.episodes.rows import EpisodeRow
from api.episodes.search import EpisodeQuery, matching
from api.episodes.tables import episodes
from api.rewards.tables import milestones
from api.tasks.tables import tasks

Pick = Literal["any", "success", "failure", "near_miss", "novel"]
PICKS: tuple[Pick, ...] = get_args(Pick)
"""``near_miss``: a failure that earned at least a share of what its task can pay; ``novel``: any,
those first whose set of milestones is rare."""
MAX_POOL = 100_000
"""Candidates that are drawn from: the newest ones."""
_BETWEEN_ROWS, _BETWEEN_NAMES = "\n", " "
"""What neither ids of episodes nor of milestones contain."""


@dataclass(frozen=True, slots=True)
class SampleQuery:
    """What is drawn. ``near``: the share of what is attainable that makes a failure a near miss, 0
    to 1."""

    pool: EpisodeQuery
    pick: Pick
    count: int
    seed: int
    near: float


@dataclass(frozen=True, slots=True)
class EpisodeSample:
    """The episodes in the order in which they were drawn; ``pool``: how many there were to draw
    from."""

    pool: int
    episodes: list[EpisodeRow]


class EpisodeSampler:
    """Draws from one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def draw(self, wanted: SampleQuery) -> EpisodeSample:
        """Return at most ``count`` closed episodes, fewer where there are no more."""
        pool = _pool_of(wanted)
        if wanted.pick == "novel":
            weights = weigh_novelty(await self._milestones(pool))
        else:
            weights = dict.fromkeys(await self._ids(pool), 1.0)
        drawn = await asyncio.to_thread(draw_weighted, weights, wanted.count, wanted.seed)
        found = await self._database.all(select(episodes).where(episodes.c.id.in_(drawn)))
        rows = {row.id: row for row in found}
        return EpisodeSample(len(weights), [rows[id] for id in drawn if id in rows])

    async def _ids(self, pool: Select[tuple[str]]) -> list[str]:
        """Return the candidates, as one text of the database: ten thousand rows cost more."""
        joined = select(func.aggregate_strings(pool.subquery().c.id, _BETWEEN_ROWS))
        return _split(await self._database.first(joined))

    async def _milestones(self, pool: Select[tuple[str]]) -> Mapping[str, frozenset[str]]:
        """Return the milestones that each candidate reached, none of one that reached none."""
        candidate, of = pool.subquery().c, milestones.c
        reached = (
            select(candidate.id, func.aggregate_strings(of.id, _BETWEEN_NAMES).label("names"))
            .outerjoin(milestones, of.episode == candidate.id)
            .group_by(candidate.id)
            .subquery()
            .c
        )
        row = reached.id + _BETWEEN_NAMES + func.coalesce(reached.names, "")
        lines = _split(
            await self._database.first(select(func.aggregate_strings(row, _BETWEEN_ROWS)))
        )
        sets: dict[str, frozenset[str]] = {}
        found = {}
        for text in lines:
            id, _, names = text.partition(_BETWEEN_NAMES)
            if names not in sets:
                sets[names] = frozenset(names.split(_BETWEEN_NAMES)) - {""}
            found[id] = sets[names]
        return found


def _split(row: tuple[str | None]) -> list[str]:
    """Return the rows that the database joined to one text; None where there were none."""
    (text,) = row
    return text.split(_BETWEEN_ROWS) if text else []


def _pool_of(wanted: SampleQuery) -> Select[tuple[str]]:
    """Return the statement of the candidates' ids."""
    conditions = [*matching(wanted.pool), episodes.c.status == "closed"]
    statement = select(episodes.c.id)
    if wanted.pick == "success":
        conditions.append(episodes.c.success.is_(True))
    elif wanted.pick == "failure":
        conditions.append(episodes.c.success.is_(False))
    elif wanted.pick == "near_miss":
        statement = statement.join_from(episodes, tasks, episodes.c.task_number == tasks.c.number)
        conditions.append(episodes.c.success.is_(False))
        conditions.append(episodes.c.total >= wanted.near * tasks.c.attainable)
    newest = episodes.c.opened_at.desc(), episodes.c.id.desc()
    return statement.where(*conditions).order_by(*newest).limit(MAX_POOL)


def weigh_novelty(reached: Mapping[str, frozenset[str]]) -> dict[str, float]:
    """Weigh each episode by 1 / n, n the episodes that reached the same set of milestones."""
    frequency = Counter(reached.values())
    return {id: 1.0 / frequency[milestones_of] for id, milestones_of in reached.items()}


def draw_weighted(weights: Mapping[str, float], count: int, seed: int) -> list[str]:
    """Draw ``count`` ids without replacement, each with a chance in proportion to its weight.

    The ids with the smallest -ln(u) / w are drawn, u in (0, 1) by a hash of seed and id (Efraimidis
    and Spirakis, 2006).
    """

    def drawn_at(id: str) -> float:
        digest = hashlib.sha256(f"{seed}\0{id}".encode()).digest()
        uniform = (int.from_bytes(digest[:8]) + 0.5) / 2**64
        return -math.log(uniform) / weights[id]

    return [id for _, id in nsmallest(count, ((drawn_at(id), id) for id in weights))]

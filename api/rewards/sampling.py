"""Draws closed episodes for training: a sample that the same seed gives again.

Each candidate has a number that its id and the seed decide, so an episode that comes later moves
none of the others: it enters the sample or it does not.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy import Select, select

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
        ids = [str(row.id) for row in await self._database.all(pool)]
        weights = dict.fromkeys(ids, 1.0)
        if wanted.pick == "novel":
            weights = weigh_novelty(ids, await self._milestones(pool))
        drawn = await asyncio.to_thread(draw_weighted, weights, wanted.count, wanted.seed)
        found = await self._database.all(select(episodes).where(episodes.c.id.in_(drawn)))
        rows = {row.id: row for row in found}
        return EpisodeSample(len(ids), [rows[id] for id in drawn if id in rows])

    async def _milestones(self, pool: Select[tuple[str]]) -> Mapping[str, frozenset[str]]:
        """Return the milestones that each candidate reached; nothing for those that have none."""
        of = milestones.c
        statement = select(of.episode, of.id).distinct().where(of.episode.in_(pool))
        reached: defaultdict[str, set[str]] = defaultdict(set)
        for row in await self._database.all(statement):
            reached[row.episode].add(row.id)
        return {episode: frozenset(ids) for episode, ids in reached.items()}


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


def weigh_novelty(ids: Iterable[str], reached: Mapping[str, frozenset[str]]) -> dict[str, float]:
    """Weigh each episode by 1 / n, n the episodes that reached the same set of milestones."""
    sets = {id: reached.get(id, frozenset()) for id in ids}
    frequency = Counter(sets.values())
    return {id: 1.0 / frequency[milestones_of] for id, milestones_of in sets.items()}


def draw_weighted(weights: Mapping[str, float], count: int, seed: int) -> list[str]:
    """Draw ``count`` ids without replacement, each with a chance in proportion to its weight.

    The ids with the smallest -ln(u) / w are drawn, u in (0, 1) by a hash of seed and id (Efraimidis
    and Spirakis, 2006).
    """

    def drawn_at(id: str) -> float:
        digest = hashlib.sha256(f"{seed}\0{id}".encode()).digest()
        uniform = (int.from_bytes(digest[:8]) + 0.5) / 2**64
        return -math.log(uniform) / weights[id]

    return sorted(weights, key=lambda id: (drawn_at(id), id))[:count]

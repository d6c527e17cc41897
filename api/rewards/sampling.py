"""Draws closed episodes for training: a sample that the same seed gives again.

Each candidate has a number that its id and the seed decide, so an episode that comes later moves
none of the others: it enters the sample or it does not.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from typing import Literal, get_args

from sqlalchemy import ColumnElement, Select, func, select, text

from api.db.database import Database
from api.episodes.rows import EpisodeRow
from api.episodes.search import EpisodeQuery, matching
from api.episodes.tables import CLOSED, episodes
from api.tasks.tables import tasks

Pick = Literal["any", "success", "failure", "near_miss", "novel"]
PICKS: tuple[Pick, ...] = get_args(Pick)
"""``near_miss``: a failure that earned at least a share of what its task can pay; ``novel``: any,
those first whose set of milestones is rare."""
MAX_POOL = 100_000
"""Candidates that a pool has at most."""
_BETWEEN_IDS = "\n"
"""What no id of an episode contains."""


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
    """Draws from one database, of each pool from its ``max_pool`` newest candidates."""

    def __init__(self, database: Database, max_pool: int = MAX_POOL) -> None:
        self._database = database
        self._max_pool = max_pool

    async def draw(self, wanted: SampleQuery) -> EpisodeSample:
        """Return at most ``count`` closed episodes, fewer where there are no more."""
        groups = await self._groups(wanted)
        drawn = await asyncio.to_thread(draw_groups, groups, wanted.count, wanted.seed)
        found = await self._database.all(select(episodes).where(episodes.c.id.in_(drawn)))
        rows = {row.id: row for row in found}
        pool = sum(len(group.ids) for group in groups)
        return EpisodeSample(pool, [rows[id] for id in drawn if id in rows])

    async def _groups(self, wanted: SampleQuery) -> list[CandidateGroup]:
        """Return the candidates, in groups of which all have one weight.

        The database joins the ids of each group to one text: ten thousand rows cost more. They
        have no order unless there are more than may be drawn from, for sorting them costs half of
        a draw.
        """
        pool = _pool_of(wanted)
        groups = await self._groups_in(pool.limit(self._max_pool + 1), wanted.pick)
        if sum(len(group.ids) for group in groups) <= self._max_pool:
            return groups
        newest = episodes.c.opened_at.desc(), episodes.c.id.desc()
        return await self._groups_in(pool.order_by(*newest).limit(self._max_pool), wanted.pick)

    async def _groups_in(self, pool: Select[object], pick: Pick) -> list[CandidateGroup]:
        """Return the pool's episodes as groups to draw from, by what they reached where novelty
        counts."""
        candidate = pool.subquery().c
        joined = func.aggregate_strings(candidate.id, _BETWEEN_IDS)
        if pick == "novel":
            rows = await self._database.all(select(joined).group_by(candidate.reached))
        else:
            rows = await self._database.all(select(joined))
        ids = [_split(row) for row in rows]
        if pick == "novel":
            return weigh_by_novelty(ids)
        return [CandidateGroup(one, 1.0) for one in ids]


def _split(row: Sequence[str | None]) -> list[str]:
    """Return the ids that the database joined to one text; None where there were none."""
    (joined,) = row
    return joined.split(_BETWEEN_IDS) if joined else []


def _pool_of(wanted: SampleQuery) -> Select[object]:
    """Return the statement of the candidates' ids and sets of milestones."""
    conditions: list[ColumnElement[bool]] = matching(wanted.pool)
    closed = text(f"episodes.{CLOSED}")
    statement = select(episodes.c.id, episodes.c.reached)
    if wanted.pick == "success":
        conditions.append(episodes.c.success.is_(True))
    elif wanted.pick == "failure":
        conditions.append(episodes.c.success.is_(False))
    elif wanted.pick == "near_miss":
        statement = statement.join_from(episodes, tasks, episodes.c.task_number == tasks.c.number)
        conditions.append(episodes.c.success.is_(False))
        conditions.append(episodes.c.total >= wanted.near * tasks.c.attainable)
    return statement.where(*conditions, closed)


@dataclass(frozen=True, slots=True)
class CandidateGroup:
    """Candidates of one weight each: a chance in proportion to it."""

    ids: Sequence[str]
    weight: float


def weigh_by_novelty(groups: Iterable[Sequence[str]]) -> list[CandidateGroup]:
    """Weigh each candidate by 1 / n, n the candidates that reached the same set of milestones.

    ``groups``: for each set, the ids of the candidates that reached it.
    """
    return [CandidateGroup(ids, 1.0 / len(ids)) for ids in groups if ids]


def draw_groups(groups: Iterable[CandidateGroup], count: int, seed: int) -> list[str]:
    """Draw ``count`` ids without replacement, each with a chance in proportion to its weight.

    The ids with the smallest -ln(u) / w are drawn, u in (0, 1) by a hash of seed and id (Efraimidis
    and Spirakis, 2006). Within a group these are those with the greatest hash.
    """
    beginning = hashlib.sha256(f"{seed}\0".encode())

    def hash_of(id: str) -> bytes:
        hashed = beginning.copy()
        hashed.update(id.encode())
        return hashed.digest()

    drawn: list[tuple[float, str]] = []
    for group in groups:
        for digest, id in nlargest(count, ((hash_of(id), id) for id in group.ids)):
            uniform = (int.from_bytes(digest[:8]) + 0.5) / 2**64
            drawn.append((-math.log(uniform) / group.weight, id))
    return [id for _, id in nsmallest(count, drawn)]

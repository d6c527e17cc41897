"""Draws closed episodes for training: a sample that the same seed gives again.

Each candidate has a number that its id and the seed decide, so an episode that comes later moves
none of the others: it enters the sample or it does not.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import defaultdict
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
        groups = await self._groups(wanted)
        drawn = await asyncio.to_thread(draw_groups, groups, wanted.count, wanted.seed)
        found = await self._database.all(select(episodes).where(episodes.c.id.in_(drawn)))
        rows = {row.id: row for row in found}
        pool = sum(len(group.ids) for group in groups)
        return EpisodeSample(pool, [rows[id] for id in drawn if id in rows])

    async def _groups(self, wanted: SampleQuery) -> list[CandidateGroup]:
        """Return the candidates, in groups of which all have one weight.

        They come as one text of the database: ten thousand rows cost more.
        """
        candidate = _pool_of(wanted).subquery().c
        row: ColumnElement[str] = candidate.id
        if wanted.pick == "novel":
            row = row + _BETWEEN_NAMES + func.coalesce(candidate.reached, "")
        joined = select(func.aggregate_strings(row, _BETWEEN_ROWS))
        lines = _split(await self._database.first(joined))
        return group_by_novelty(lines) if wanted.pick == "novel" else [CandidateGroup(lines, 1.0)]


def _split(row: tuple[str | None]) -> list[str]:
    """Return the rows that the database joined to one text; None where there were none."""
    (joined,) = row
    return joined.split(_BETWEEN_ROWS) if joined else []


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
    newest = episodes.c.opened_at.desc(), episodes.c.id.desc()
    return statement.where(*conditions, closed).order_by(*newest).limit(MAX_POOL)


@dataclass(frozen=True, slots=True)
class CandidateGroup:
    """Candidates of one weight each: a chance in proportion to it."""

    ids: Sequence[str]
    weight: float


def group_by_novelty(lines: Iterable[str]) -> list[CandidateGroup]:
    """Group candidates by the key of the set of milestones that they reached, and weigh each by
    1 / n, n the candidates of its group. ``lines``: an id and the key, with a space between."""
    groups: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        id, _, key = line.partition(_BETWEEN_NAMES)
        groups[key].append(id)
    return [CandidateGroup(ids, 1.0 / len(ids)) for ids in groups.values()]


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

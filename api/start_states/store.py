"""Start states as the database has them, and the comparison of one with those of its task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from sqlalchemy import bindparam, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from api.db.database import Database
from api.episodes.rows import EpisodeRow
from api.log.reader import Follower
from api.start_states.comparison import FindingJson, Others, compare
from api.start_states.expected import compare_expected, is_refusing
from api.start_states.facts import StartReader, StartState, decode_state, encode_state
from api.start_states.tables import start_states
from api.tasks.store import Tasks
from detectors.model.types import Json

MAX_STARTS = 200
"""Different starts of a task that one comparison reads, the most frequent first."""

_OTHERS = (
    select(
        start_states.c.digest,
        func.count().label("episodes"),
        func.max(start_states.c.facts).label("facts"),
        func.min(start_states.c.episode).label("example"),
    )
    .where(
        start_states.c.task_number == bindparam("task"),
        start_states.c.episode != bindparam("but"),
    )
    .group_by(start_states.c.digest)
    .order_by(func.count().desc(), start_states.c.digest)
    .limit(MAX_STARTS)
)


class StartJson(TypedDict):
    """How an episode began, beside the task's others. ``digest``, of all that stood, and ``facts``
    are null before its first step; ``refused``: the task refuses such a start."""

    digest: str | None
    facts: StartState | None
    others: int
    refused: bool
    findings: list[FindingJson]


class UnusualStart(TypedDict):
    """Episodes of a task that began unlike its others, in the same way."""

    episode: str
    episodes: int
    findings: list[FindingJson]


async def insert_start(
    conn: AsyncConnection, episode: str, task_number: int, state: StartState
) -> None:
    """Store how an episode began, within a transaction of the caller's."""
    facts, digest = encode_state(state)
    row = {"episode": episode, "task_number": task_number, "digest": digest, "facts": facts}
    await conn.execute(delete(start_states).where(start_states.c.episode == episode))
    await conn.execute(insert(start_states), row)


class StartStates:
    """How the episodes of one database began."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def others(self, task_number: int, but: str) -> list[Others]:
        """The starts of the task's closed episodes but one, with their numbers."""
        rows = await self._database.all(_OTHERS, {"task": task_number, "but": but})
        return [Others(decode_state(row.facts), row.episodes) for row in rows]

    async def unusual(
        self, task_number: int, task: Mapping[str, Json] | None = None
    ) -> list[UnusualStart]:
        """The starts of a task's closed episodes that are unlike its other ones, or that ``task``,
        the task as JSON, does not expect."""
        rows = await self._database.all(_OTHERS, {"task": task_number, "but": ""})
        starts = [Others(decode_state(row.facts), row.episodes) for row in rows]
        found: list[UnusualStart] = []
        for place, row in enumerate(rows):
            own = starts[place]
            rest = [*starts[:place], own._replace(episodes=own.episodes - 1), *starts[place + 1 :]]
            findings = [*compare_expected(task or {}, own.state), *compare(own.state, rest)]
            if findings:
                found.append(
                    {"episode": row.example, "episodes": row.episodes, "findings": findings}
                )
        return found


class StartGuard:
    """Compares how an episode began, by its log, with what its task expects and with the task's
    other episodes."""

    def __init__(self, states: StartStates, follower: Follower, tasks: Tasks) -> None:
        self._states, self._follower, self._tasks = states, follower, tasks

    async def of_episode(self, row: EpisodeRow) -> StartJson:
        """Return how an episode began, by its row. What it is compared with are the closed episodes
        of the same version of the same tenant's task."""
        reader = StartReader()
        async for event in self._follower.events(row.id):
            reader.apply(event)
            if reader.began:
                break
        if not reader.began:
            return {"digest": None, "facts": None, "others": 0, "refused": False, "findings": []}
        state = reader.state()
        others = await self._states.others(row.task_number, row.id)
        task = await self._tasks.document(row.task_number)
        unexpected = compare_expected(task, state)
        return {
            "digest": encode_state(state)[1],
            "facts": state,
            "others": sum(other.episodes for other in others),
            "refused": bool(unexpected) and is_refusing(task),
            "findings": [*unexpected, *compare(state, others)],
        }

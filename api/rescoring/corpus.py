"""Stored episodes as a corpus: which, in which order, and all that was kept of each.

Only closed episodes: what is still written to has no last word to compare with. The order is that
of their ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

import orjson
from sqlalchemy import bindparam, select

from api.db.database import Database
from api.episodes.rows import EpisodeRow
from api.episodes.tables import episodes
from api.log.tables import segments
from api.rewards.tables import milestones, rewards
from api.tasks.tables import tasks
from api.verdicts.tables import verdicts

PAGE = 64
"""Episodes read at once: with all their frames they are in memory together."""
ROWS = 1_000
"""Rows of episodes read at once, before labels are looked at."""


class CorpusSelection(NamedTuple):
    """Which episodes: all conditions that are set must hold. ``tenant`` None: everybody's, for the
    operator's shell."""

    tenant: str | None = None
    episodes: tuple[str, ...] | None = None
    task: str | None = None
    version: str | None = None
    digest: str | None = None
    labels: Mapping[str, Any] = {}


class StoredEpisode(NamedTuple):
    """A closed episode: its row, its task's canonical JSON, frames, sealed rewards and milestones,
    in order."""

    row: EpisodeRow
    task: bytes
    content: bytes
    rewards: list[bytes]
    milestones: list[bytes]
    verdicts: list[bytes]


def _rows(selection: CorpusSelection) -> Any:
    """Return the statement that lists a selection's closed episodes, page by page."""
    wanted = {"tenant": selection.tenant, "task": selection.task, "version": selection.version}
    wanted["digest"] = selection.digest
    statement = select(episodes).where(
        episodes.c.status == "closed", episodes.c.id > bindparam("after")
    )
    for name, value in wanted.items():
        if value is not None:
            statement = statement.where(episodes.c[name] == value)
    if selection.episodes is not None:
        statement = statement.where(episodes.c.id.in_(bindparam("ids", expanding=True)))
    return statement.order_by(episodes.c.id).limit(bindparam("most"))


def _rows_of(table: Any, *order: Any) -> Any:
    return (
        select(table)
        .where(table.c.episode.in_(bindparam("ids", expanding=True)))
        .order_by(table.c.episode, *order)
    )


_STILL_THERE = select(episodes.c.id).where(episodes.c.id.in_(bindparam("ids", expanding=True)))
_FRAMES = _rows_of(segments, segments.c.first)
_REWARDS = _rows_of(rewards, rewards.c.step)
_MILESTONES = _rows_of(milestones, milestones.c.number)
_VERDICTS = _rows_of(verdicts, verdicts.c.seq)
_TASKS = select(tasks.c.number, tasks.c.body).where(
    tasks.c.number.in_(bindparam("numbers", expanding=True))
)


class Corpus:
    """The closed episodes of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rows(self, selection: CorpusSelection, after: str = "") -> AsyncGenerator[Any, None]:
        """The rows of the selected episodes, by id, from behind the id ``after`` on."""
        statement = _rows(selection)
        named = {"ids": list(selection.episodes)} if selection.episodes is not None else {}
        while page := await self._database.all(statement, {"after": after, "most": ROWS, **named}):
            for row in page:
                after = row.id
                labels = orjson.loads(row.labels)
                if all(
                    name in labels and labels[name] == value
                    for name, value in selection.labels.items()
                ):
                    yield row

    async def page(
        self, selection: CorpusSelection, after: str
    ) -> tuple[list[StoredEpisode], str | None]:
        """The next `PAGE` of the selected episodes whole, by id, behind the id ``after``, and
        behind which id the page after it begins; None for the last page."""
        rows: list[Any] = []
        async with aclosing(self.rows(selection, after)) as found:
            async for row in found:
                rows.append(row)
                if len(rows) == PAGE:
                    break
        is_last = len(rows) < PAGE
        return await self.existing(rows), None if is_last else rows[-1].id

    async def existing(self, rows: Sequence[EpisodeRow]) -> list[StoredEpisode]:
        """The same as `whole`, without the episodes that were deleted before all was read: what was
        read of one of them may be a part."""
        read = await self.whole(rows)
        ids = {"ids": [row.id for row in rows]}
        left = {row.id for row in await self._database.all(_STILL_THERE, ids)} if rows else set()
        return [stored for stored in read if stored.row.id in left]

    async def whole(
        self, rows: Sequence[EpisodeRow], *, with_log: bool = True
    ) -> list[StoredEpisode]:
        """Everything that is kept of these episodes, in their order; ``with_log`` False: but for
        their events."""
        if not rows:
            return []
        ids = {"ids": [row.id for row in rows]}
        frames: Mapping[str, list[bytes]] = defaultdict(list)
        if with_log:
            frames = await self._bodies(_FRAMES, ids, "frame")
        sealed = await self._bodies(_REWARDS, ids, "body")
        reached = await self._bodies(_MILESTONES, ids, "body")
        said = await self._bodies(_VERDICTS, ids, "body")
        numbers = {"numbers": sorted({row.task_number for row in rows})}
        bodies = {row.number: bytes(row.body) for row in await self._database.all(_TASKS, numbers)}
        return [
            StoredEpisode(
                row,
                bodies[row.task_number],
                b"".join(frames[row.id]),
                sealed[row.id],
                reached[row.id],
                said[row.id],
            )
            for row in rows
        ]

    async def _bodies(
        self, statement: Any, ids: Mapping[str, Any], column: str
    ) -> Mapping[str, list[bytes]]:
        found: dict[str, list[bytes]] = defaultdict(list)
        for row in await self._database.all(statement, ids):
            found[row.episode].append(bytes(getattr(row, column)))
        return found

"""What an audit reads, in pages of bounded size, and what signing writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import orjson
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    Table,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from api.audit.evaluation import StepCounts
from api.audit.label_leaf import LabelLeaf
from api.audit.rows import (
    CheckpointRow,
    LabelLeafRow,
    LeafRow,
    OpenerRow,
    StepRow,
    StoredLeafRow,
    StoredVerdictRow,
    TreeRow,
)
from api.audit.tables import audit_trees, checkpoints, episode_facts, label_leaves, leaves
from api.auth.tables import tokens
from api.db.database import Database, now
from api.episodes import tombstones
from api.episodes.label_index import Finding, has_mark, mark_found
from api.episodes.rows import EpisodeRow, TombstoneRow
from api.episodes.tables import closings, episode_marks, episodes
from api.episodes.tables import tombstones as tombstones_table
from api.ingest.tables import engine_states
from api.labelling.tables import preferences
from api.log.rows import SegmentRow
from api.log.segments import StoredSegments
from api.log.tables import packings, segments, steps
from api.rewards.tables import milestones, rewards
from api.start_states.facts import StartState
from api.start_states.store import StartStates, UnusualStart, insert_start
from api.tasks.store import TaskRow
from api.tasks.tables import tasks
from api.verdicts.tables import escalations, verdicts
from detectors.model.types import Json

TREE = "episodes"
"""The tree of which each closed episode is a leaf."""
LABEL_TREE = "labels"
"""The tree of which each word of a person is a leaf."""
PAGE = 200
_SIGNING = 0x6D696C72
"""Advisory lock on Postgres, held by the replica that makes and delivers checkpoints."""

_episode: BindParameter[str] = bindparam("episode")


def _page_of(table: Table, key: str) -> Select[object]:
    """The next ``count`` rows of an episode whose ``key`` is greater than ``after``."""
    column = table.c[key]
    beyond = select(table).where(table.c.episode == _episode, column > bindparam("after"))
    return beyond.order_by(column).limit(bindparam("count"))


_EPISODE = select(episodes).where(episodes.c.id == _episode)
_ASKED = exists().where(escalations.c.episode == closings.c.episode, escalations.c.audit.is_(False))
_PENDING = (
    select(closings.c.episode)
    .where(~_ASKED)
    .order_by(closings.c.queued_at, closings.c.episode)
    .limit(bindparam("count"))
)
_TASK = select(tasks).where(tasks.c.number == bindparam("number"))
_OPENER = select(
    tokens.c.id, tokens.c.label, tokens.c.scope, tokens.c.tenant, tokens.c.created_at
).where(tokens.c.id == bindparam("id"))
_MILESTONES = _page_of(milestones, "number")
_REWARDS = _page_of(rewards, "step")
_STEPS = _page_of(steps, "step")
_BEYOND = (
    select(segments.c.frame)
    .where(segments.c.episode == _episode, segments.c.last > bindparam("seq"))
    .order_by(segments.c.first)
    .limit(bindparam("count"))
)
_VERDICTS = select(verdicts).where(verdicts.c.episode == _episode).order_by(verdicts.c.seq)
_STEP = select(steps).where(steps.c.episode == _episode, steps.c.step == bindparam("step"))
_STATE = select(engine_states).where(engine_states.c.episode == _episode)
_LEAVES = (
    select(leaves, episodes.c.id.label("stored"))
    .outerjoin(episodes, episodes.c.id == leaves.c.episode)
    .where(leaves.c.number > bindparam("after"))
    .order_by(leaves.c.number)
    .limit(bindparam("count"))
)
_COUNTED = select(episode_facts).where(episode_facts.c.episode == _episode)
_MARKS = select(episode_marks).where(episode_marks.c.episode == _episode)
_LEAF = select(leaves).where(leaves.c.episode == _episode)
_QUEUED = select(closings.c.episode).where(closings.c.episode == _episode)
_TREE = select(audit_trees).where(audit_trees.c.name == bindparam("name"))
_UNSIGNED_LABELS = (
    select(preferences)
    .where(preferences.c.leaf.is_(None))
    .order_by(preferences.c.number)
    .limit(bindparam("count"))
)
_NOTES = (
    select(checkpoints)
    .where(checkpoints.c.origin == bindparam("origin"))
    .order_by(checkpoints.c.number)
)
_NEWEST_NOTE = select(checkpoints.c.note).order_by(checkpoints.c.number.desc()).limit(1)
_UNDELIVERED = (
    select(checkpoints)
    .where(checkpoints.c.delivered_at.is_(None))
    .order_by(checkpoints.c.number)
    .limit(bindparam("count"))
)


class Audits:
    """The audit's view of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stored = StoredSegments(database)

    # -- what verification and explanations read

    async def episode(self, episode: str) -> EpisodeRow | None:
        """Return the row of the episode with this id, or None."""
        row: EpisodeRow | None = await self._database.first(_EPISODE, {"episode": episode})
        return row

    async def episode_rows(
        self, mark: str | None = None, newest: int | None = None, **wanted: str | None
    ) -> AsyncIterator[Any]:
        """Episodes in the order of their ids, which begin with the day; `PAGE` in memory.

        Each has its facts; they are None while it is open. ``newest``: those alone that were opened
        last, at most so many, all in memory, the newest first.

        ``mark``: see api/episodes/label_index.py; ``wanted``: ``task``, ``status`` and ``tenant``
        as they are, ``since`` and ``until`` (exclusive) of the opening.
        """
        columns = episodes.c
        selected = _select_episodes(mark, wanted)
        if newest is not None:
            last = selected.order_by(columns.opened_at.desc(), columns.id.desc()).limit(newest)
            for row in await self._database.all(last):
                yield row
            return
        async for row in self._pages(selected, columns.id, "id"):
            yield row

    async def step_counts(self, episodes: Sequence[str]) -> dict[str, StepCounts]:
        """Return the steps of each episode that has any, counted by their rewards."""
        rows = await self._database.all(_STEP_COUNTS, {"episodes": list(episodes)})
        return {
            row.episode: StepCounts(row.earned, row.idle, row.wrong, row.unknown) for row in rows
        }

    async def newest(self, count: int) -> Sequence[Any]:
        """The episodes that were signed last, with their facts."""
        return await self._database.all(_NEWEST, {"count": count})

    async def tombstone(self, episode: str) -> TombstoneRow | None:
        """The tombstone of a deleted episode, or None."""
        return await tombstones.find(self._database, episode)

    async def task(self, number: int) -> Any:
        """Return the row of the task version with this number, or None."""
        return await self._database.first(_TASK, {"number": number})

    async def tasks(self) -> AsyncIterator[TaskRow]:
        """Every registered task version, in the order of registration."""
        async for row in self._pages(select(tasks), tasks.c.number, "number"):
            yield row

    async def opener(self, token: str | None) -> OpenerRow | None:
        """Id, label, scope, tenant and time of a token, never the token itself; None where there is
        none."""
        if token is None:
            return None
        row: OpenerRow | None = await self._database.first(_OPENER, {"id": token})
        return row

    async def facts(self, episode: str) -> Any:
        """What is counted of an episode, or None."""
        return await self._database.first(_COUNTED, {"episode": episode})

    async def marks(self, episode: str) -> set[tuple[str, str, str]]:
        """What lists find an episode by: key, tenant and time of opening."""
        rows = await self._database.all(_MARKS, {"episode": episode})
        return {(row.key, row.tenant, row.opened_at) for row in rows}

    async def _pages(self, statement: Select[Any], column: Any, name: str) -> AsyncIterator[Any]:
        """Every row in the order of ``column``, which rows have as ``name``; `PAGE` in memory."""
        page = statement.order_by(column).limit(PAGE)
        rows = await self._database.all(page)
        while rows:
            for row in rows:
                yield row
            if len(rows) < PAGE:
                return
            rows = await self._database.all(page.where(column > getattr(rows[-1], name)))

    async def segments(self, episode: str) -> AsyncIterator[SegmentRow]:
        """Every stored row of segments, in order, one in memory at a time."""
        async for row in self._stored.rows(episode):
            yield row

    async def _page(
        self, statement: Select[Any], episode: str, after: int, count: int
    ) -> Sequence[Any]:
        names = {"episode": episode, "after": after, "count": count}
        return await self._database.all(statement, names)

    async def frames_beyond(self, episode: str, seq: int, count: int) -> list[bytes]:
        """Frames of the segments that hold what comes after event ``seq``."""
        rows = await self._database.all(_BEYOND, {"episode": episode, "seq": seq, "count": count})
        return [bytes(row.frame) for row in rows]

    async def milestones(self, episode: str, after: int, count: int) -> Sequence[object]:
        """The next ``count`` stored milestones beyond number ``after``."""
        return await self._page(_MILESTONES, episode, after, count)

    async def rewards(self, episode: str, after: int, count: int) -> Sequence[object]:
        """The next ``count`` stored rewards, of steps beyond ``after``."""
        return await self._page(_REWARDS, episode, after, count)

    async def verdicts(self, episode: str) -> Sequence[StoredVerdictRow]:
        """The episode's stored log of verdicts, in order."""
        return await self._database.all(_VERDICTS, {"episode": episode})

    async def steps(self, episode: str, after: int, count: int) -> Sequence[object]:
        """Where the next ``count`` steps beyond ``after`` began and ended."""
        return await self._page(_STEPS, episode, after, count)

    async def step(self, episode: str, step: int) -> StepRow | None:
        """Where one step began and ended, or None."""
        values = {"episode": episode, "step": step}
        row: StepRow | None = await self._database.first(_STEP, values)
        return row

    async def state(self, episode: str) -> Any:
        """The stored engine state, or None."""
        return await self._database.first(_STATE, {"episode": episode})

    # -- what was signed

    async def leaf(self, episode: str) -> LeafRow | None:
        """The episode's leaf in the tree, or None."""
        row: LeafRow | None = await self._database.first(_LEAF, {"episode": episode})
        return row

    async def queued(self, episode: str) -> bool:
        """Whether the episode waits for its checkpoint."""
        return await self._database.first(_QUEUED, {"episode": episode}) is not None

    async def leaves(self) -> AsyncIterator[StoredLeafRow]:
        """Every leaf, in order, with the id of its episode (``stored``) where that is still
        there."""
        after = -1
        while rows := await self._database.all(_LEAVES, {"after": after, "count": PAGE}):
            for row in rows:
                yield row
            after = rows[-1].number

    async def tree(self, name: str = TREE) -> TreeRow | None:
        """The row of a tree, or None before its first leaf."""
        row: TreeRow | None = await self._database.first(_TREE, {"name": name})
        return row

    async def labels(self) -> AsyncIterator[Any]:
        """Every word of every tenant, in the order in which they were said."""
        async for row in self._pages(select(preferences), preferences.c.number, "number"):
            yield row

    async def label_leaves(self) -> AsyncIterator[LabelLeafRow]:
        """Every leaf of the tree over labels, in order."""
        async for row in self._pages(select(label_leaves), label_leaves.c.number, "number"):
            yield row

    async def unsigned_labels(self, count: int) -> Sequence[Any]:
        """The words that are no leaf yet, the oldest first."""
        return await self._database.all(_UNSIGNED_LABELS, {"count": count})

    async def key(self) -> str | None:
        """The public key that the database is signed with, in signed-note's form; None where nobody
        noted it."""
        row = await self.tree()
        return None if row is None else row.key

    async def notes(self, origin: str) -> Sequence[CheckpointRow]:
        """Checkpoints of one origin, the oldest first."""
        return await self._database.all(_NOTES, {"origin": origin})

    async def all_notes(self) -> AsyncIterator[CheckpointRow]:
        """Every checkpoint of every origin, the oldest first."""
        async for row in self._pages(select(checkpoints), checkpoints.c.number, "number"):
            yield row

    async def tombstones(self) -> AsyncIterator[Any]:
        """Every tombstone, with the tenant of its episode's statement (``leaf``, None where it was
        never signed)."""
        statement = select(tombstones_table, leaves.c.body.label("leaf")).outerjoin(
            leaves, leaves.c.episode == tombstones_table.c.episode
        )
        async for row in self._pages(statement, tombstones_table.c.episode, "episode"):
            yield row

    # -- signing

    async def pending(self, count: int) -> list[str]:
        """Closed episodes that wait for their checkpoint and for nothing else, the oldest first.

        One of which a step is asked about beyond the rules has rewards that are not final yet.
        """
        return [row.episode for row in await self._database.all(_PENDING, {"count": count})]

    def alone(self) -> AbstractAsyncContextManager[bool]:
        """Whether this process may sign until the block ends: see `Database.alone`."""
        return self._database.alone(_SIGNING)

    @asynccontextmanager
    async def signing(self, name: str = TREE) -> AsyncIterator[SigningTransaction]:
        """The transaction in which a tree grows: all of it or nothing."""
        if await self.tree(name) is None:
            first = {"name": name, "size": 0, "full": b"", "signed_size": 0, "signed_day": ""}
            with suppress(IntegrityError):  # another replica, which starts in this moment too
                async with self._database.write() as conn:
                    await conn.execute(insert(audit_trees), first)
        async with self._database.write() as conn:
            row = (await conn.execute(_TREE.with_for_update(), {"name": name})).one()
            yield SigningTransaction(conn, row)

    async def unusual_starts(self, task_number: int) -> list[UnusualStart]:
        """Starts of a task's closed episodes that are unlike its other ones, or that the task does
        not expect."""
        task: Json = orjson.loads((await self.task(task_number)).body)
        return await StartStates(self._database).unusual(task_number, task)

    async def undelivered(self, count: int) -> Sequence[CheckpointRow]:
        """Checkpoints that did not leave the database yet, the oldest first."""
        return await self._database.all(_UNDELIVERED, {"count": count})

    async def delivered(self, number: int) -> None:
        """Note that the checkpoint with this number was delivered."""
        async with self._database.write() as conn:
            await conn.execute(
                update(checkpoints).where(checkpoints.c.number == number).values(delivered_at=now())
            )


class SigningTransaction:
    """Holds the tree's row. ``tree`` is how it was when the transaction began."""

    def __init__(self, conn: AsyncConnection, tree: Any) -> None:
        self._conn, self.tree = conn, tree

    async def take(self, episode: str) -> bool:
        """Take an episode out of the queue; whether it was still in it."""
        found = await self._conn.execute(delete(closings).where(closings.c.episode == episode))
        return found.rowcount == 1

    async def add_start(self, episode: str, task_number: int, state: StartState) -> None:
        """Store what stood when an episode of the task began."""
        await insert_start(self._conn, episode, task_number, state)

    async def add_leaf(self, number: int, episode: str, body: bytes) -> None:
        """Add the leaf with this number, the statement ``body`` of an episode. What is signed may
        be packed."""
        await self._conn.execute(
            insert(leaves), {"number": number, "episode": episode, "body": body}
        )
        await self._conn.execute(delete(packings).where(packings.c.episode == episode))
        await self._conn.execute(insert(packings), {"episode": episode, "queued_at": now()})

    async def add_facts(
        self, episode: str, facts: Mapping[str, object], findings: Sequence[Finding]
    ) -> None:
        """What reports and lists know of an episode."""
        await self._conn.execute(insert(episode_facts), {"episode": episode, **facts})
        await mark_found(self._conn, episode, findings)

    async def add_note(self, origin: str, size: int, note: str) -> None:
        """A signed checkpoint; it waits for its delivery."""
        row = {"origin": origin, "size": size, "note": note, "made_at": now(), "delivered_at": None}
        await self._conn.execute(insert(checkpoints), row)

    async def newest_note(self) -> str | None:
        """The checkpoint that was made last."""
        return (await self._conn.execute(_NEWEST_NOTE)).scalar()

    async def grown(self, **values: object) -> None:
        """Set columns of the tree's row."""
        await self._conn.execute(
            update(audit_trees).where(audit_trees.c.name == self.tree.name).values(**values)
        )

    async def unsigned_labels(self, count: int) -> Sequence[Any]:
        """The words that are no leaf yet, the oldest first; nobody else changes them until the
        transaction ends."""
        found = await self._conn.execute(_UNSIGNED_LABELS.with_for_update(), {"count": count})
        return found.all()

    async def add_label(self, number: int, word: int, leaf: LabelLeaf) -> None:
        """Add the leaf with this number, of the word with the number ``word``."""
        await self._conn.execute(insert(label_leaves), {"number": number, **leaf._asdict()})
        await self._conn.execute(
            update(preferences).where(preferences.c.number == word).values(leaf=number)
        )


_REWARD = rewards.c.reward


def _count_rows(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.count(case((condition, 1)))


_STEP_COUNTS = (
    select(
        rewards.c.episode,
        _count_rows(_REWARD > 0).label("earned"),
        _count_rows(_REWARD == 0).label("idle"),
        _count_rows(_REWARD < 0).label("wrong"),
        _count_rows(_REWARD.is_(None)).label("unknown"),
    )
    .where(rewards.c.episode.in_(bindparam("episodes", expanding=True)))
    .group_by(rewards.c.episode)
)
_FACTS: Iterable[Any] = tuple(
    column.label("facts" if column.name == "body" else column.name)
    for column in episode_facts.c
    if column.name != "episode"
)
_NEWEST = (
    select(episodes, *_FACTS)
    .join(leaves, leaves.c.episode == episodes.c.id)
    .join(episode_facts, episode_facts.c.episode == episodes.c.id)
    .order_by(leaves.c.number.desc())
    .limit(bindparam("count"))
)


def _select_episodes(mark: str | None, wanted: Mapping[str, str | None]) -> Select[Any]:
    """Episodes with their facts, by the conditions of `Audits.episode_rows`."""
    columns = episodes.c
    statement = select(episodes, *_FACTS).outerjoin(
        episode_facts, episode_facts.c.episode == columns.id
    )
    for name in ("task", "status", "tenant"):
        if wanted.get(name) is not None:
            statement = statement.where(columns[name] == wanted[name])
    if mark is not None:
        statement = statement.where(has_mark(mark))
    if wanted.get("since") is not None:
        statement = statement.where(columns.opened_at >= wanted["since"])
    if wanted.get("until") is not None:
        statement = statement.where(columns.opened_at < wanted["until"])
    return statement

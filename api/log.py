"""Appends segments: once, in order, with their detection in the same transaction.

Everything that is refused is refused before a row is written; everything that is acknowledged is on the disk.
An engine is kept in memory for the event that it stands at. The row of its episode is read again under its lock, in
the transaction that writes the segment: where another replica moved it on, nothing is written and all is decided anew.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete, insert, select, update

from api.errors import EpisodeClosedError, ForkedLogError, GapInLogError, OtherEpisodeError, UnavailableError
from api.frames import NUMBERED, read_segment
from api.ledger import ESCALATING, INSERT_MILESTONES, INSERT_REWARDS, TOTAL, Ledger, milestone_rows, reward_rows, told
from api.metrics import Metrics
from api.notify import ASKED, Notifier, log_of
from api.settings import Limits
from api.store.arrivals import arriving
from api.store.database import Database, now
from api.store.engines import STATE_EVERY, Engines, Live
from api.store.episodes import Episodes
from api.store.escalations import queueing
from api.store.writer import GroupWriter, OutrunError, Rows
from api.tables import closings, commands, engine_states, episodes, segments, steps
from detectors.engine import Outcome
from detectors.types import Event, Segment

_INLINE_BYTES = 64 * 1024
"""Larger frames are unpacked and fed beside the event loop, so that others are not kept waiting."""

_OUTRUN_MOST = 5

_of_episode: Any = bindparam("of_episode")
STATEMENTS = (
    insert(segments),
    insert(steps),
    update(steps)
    .where(steps.c.episode == _of_episode, steps.c.step == bindparam("of_step"), steps.c.ended.is_(None))
    .values(ended=bindparam("at_seq")),
    INSERT_MILESTONES,
    INSERT_REWARDS,
    update(commands)
    .where(commands.c.episode == _of_episode, commands.c.number == bindparam("of_number"), commands.c.seq.is_(None))
    .values(seq=bindparam("at_seq")),
    delete(engine_states).where(engine_states.c.episode == _of_episode),
    insert(engine_states),
    update(episodes)
    .where(episodes.c.id == _of_episode)
    .values({name: bindparam(f"new_{name}") for name in ("through", "head", "step", "success", "total", "milestones")}),
    update(episodes).where(episodes.c.id == _of_episode).values(status="closed", closed_at=bindparam("new_closed_at")),
    update(commands)
    .where(commands.c.episode == _of_episode, commands.c.kind == "episode.close", commands.c.seq.is_(None))
    .values(seq=bindparam("at_seq")),
    insert(closings),
    TOTAL,
)
(
    SEGMENT,
    BEGAN,
    ENDED,
    MILESTONES,
    REWARDS,
    COMMANDS,
    OLD_STATE,
    STATE,
    ADVANCE,
    CLOSE,
    CLOSE_COMMAND,
    CLOSING,
    SUM,
    ARRIVAL,
    ASK,
) = range(len(STATEMENTS) + 2)

_SAME = select(segments.c.digest).where(
    segments.c.episode == bindparam("episode"), segments.c.first == bindparam("first")
)
_NEXT = (
    select(segments.c.first, segments.c.last, segments.c.frame)
    .where(segments.c.episode == bindparam("episode"), segments.c.last > bindparam("after"))
    .order_by(segments.c.first)
    .limit(bindparam("count"))
)


class Acknowledged(NamedTuple):
    """How far the log is durable, and the digest of its last segment."""

    through: int
    head: str


class Log:
    """The log of every episode in one database."""

    def __init__(
        self,
        database: Database,
        engines: Engines,
        episodes: Episodes,
        ledger: Ledger,
        notifier: Notifier,
        metrics: Metrics,
        limits: Limits,
    ) -> None:
        self._database, self._engines, self._episodes, self._ledger = database, engines, episodes, ledger
        self._notifier, self._metrics, self._limits = notifier, metrics, limits
        self._writer = GroupWriter(database, (*STATEMENTS, arriving(database.embedded), queueing(database.embedded)))

    async def append(self, episode: str, frame: bytes) -> Acknowledged:
        """Append the segment in ``frame``; the same one again is acknowledged again. Raises `ProblemError`."""
        began = time.perf_counter()
        if len(frame) > _INLINE_BYTES:
            segment = await asyncio.to_thread(read_segment, frame, episode, self._limits)
        else:
            segment = read_segment(frame, episode, self._limits)
        if segment.episode != episode:
            raise OtherEpisodeError(f"episode: the segment is {segment.episode}'s, wanted {episode}'s")
        async with self._engines.lock(episode):
            ack = await self._append_first(segment, frame)
        self._metrics.ingest_seconds.observe(time.perf_counter() - began)
        return ack

    async def through(self, episode: str) -> int:
        """How far the log goes, without a look at the database where that is in memory. Raises `NotFoundError`."""
        live = self._engines.kept(episode)
        return live.through if live is not None else int((await self._episodes.get(episode)).through)

    async def _append_first(self, segment: Segment, frame: bytes) -> Acknowledged:
        for _ in range(_OUTRUN_MOST):
            try:
                return await self._append(segment, frame)
            except OutrunError:  # what was decided, was decided by an older row: read it, decide again
                continue
        raise UnavailableError(f"episode: other replicas moved {segment.episode} on {_OUTRUN_MOST} times meanwhile")

    async def _append(self, segment: Segment, frame: bytes) -> Acknowledged:
        live = self._engines.kept(segment.episode)
        if live is None or not _continues(live, segment):
            # Only the database may say no: another process may have moved the episode on.
            live = await self._engines.load(segment.episode)
            if segment.last <= live.through and await self._same(segment):
                return Acknowledged(live.through, live.head)
            _refuse_unless_next(live, segment)
        return await self._write(live, segment, frame)

    async def end(self, episode: str, frame: bytes) -> Acknowledged:
        """Append the last segment of an episode whose rules this build has not; see api/fleet/stranger.py.

        Raises `ProblemError`.
        """
        segment = read_segment(frame, episode, self._limits)
        async with self._engines.lock(episode):
            for _ in range(_OUTRUN_MOST):
                live = await self._engines.stand_in(episode)
                _refuse_unless_next(live, segment)
                with suppress(OutrunError):
                    return await self._write(live, segment, frame)
        raise UnavailableError(f"episode: other replicas moved {episode} on {_OUTRUN_MOST} times meanwhile")

    async def _write(self, live: Live, segment: Segment, frame: bytes) -> Acknowledged:
        durable = False
        try:
            outcome = await self._feed(live, segment)
            rows = _rows(live, segment, frame, outcome)
            await self._writer.commit(rows, segment.episode, (live.through, live.head))
            durable = True
        finally:
            if not durable:
                self._engines.drop(segment.episode)
        self._moved_on(live, segment, rows)
        return Acknowledged(live.through, live.head)

    async def _same(self, segment: Segment) -> bool:
        row = await self._database.first(_SAME, {"episode": segment.episode, "first": segment.first})
        return row is not None and bool(row.digest == segment.digest)

    async def _feed(self, live: Live, segment: Segment) -> Outcome:
        if segment.count > STATE_EVERY:
            return await asyncio.to_thread(live.engine.feed, segment.events)
        return live.engine.feed(segment.events)

    def _moved_on(self, live: Live, segment: Segment, rows: Rows) -> None:
        live.through, live.head, live.closed = segment.last, segment.digest, live.engine.closed
        live.step = -1 if live.engine.step is None else live.engine.step
        live.milestones += len(rows[MILESTONES])
        live.stored = segment.last if rows[STATE] else live.stored
        final = [row for row in rows[REWARDS] if row["status"] != ESCALATING]
        for row in final:
            self._ledger.remember(segment.episode, row["step"], row["body"])
        self._metrics.appended(segment.count, [row["status"] for row in final], len(rows[MILESTONES]))
        self._notifier.tell(log_of(segment.episode))
        if rows[ASK]:
            self._notifier.tell(ASKED)

    async def after(self, episode: str, after: int, count: int) -> Sequence[Any]:
        """At most ``count`` stored segments (first, last, frame) that hold events beyond ``after``."""
        return await self._database.all(_NEXT, {"episode": episode, "after": after, "count": count})

    async def frames(self, episode: str, after: int = 0) -> AsyncIterator[bytes]:
        """Every stored frame beyond event ``after``, in order, one in memory at a time."""
        while rows := await self.after(episode, after, 1):
            after = rows[0].last
            yield bytes(rows[0].frame)


def _continues(live: Live, segment: Segment) -> bool:
    return segment.first == live.through + 1 and segment.prev == live.head and not live.closed


def _refuse_unless_next(live: Live, segment: Segment) -> None:
    stands: dict[str, Any] = {"wanted": live.through + 1, "through": live.through, "head": live.head}
    if segment.first <= live.through:
        raise ForkedLogError(
            f"first: event {segment.first} is in the log already, in another segment; wanted {live.through + 1}",
            **stands,
        )
    if live.closed:
        raise EpisodeClosedError(f"first: event {segment.first} follows the episode's end at {live.through}", **stands)
    if segment.first > live.through + 1:
        raise GapInLogError(f"first: got {segment.first}, wanted {live.through + 1}", **stands)
    if segment.prev != live.head:
        raise ForkedLogError(f"prev: got {segment.prev}, wanted {live.head}", **stands)


def _rows(live: Live, segment: Segment, frame: bytes, outcome: Outcome) -> Rows:
    engine, episode = live.engine, segment.episode
    whose = {"of_episode": episode}
    began, ended, journalled = marks(segment.events, live.step)
    keep = segment.last - live.stored >= STATE_EVERY or engine.closed
    rules, state = engine.ruleset, engine.dump() if keep else b""
    sealed = outcome.rewards if rules is None else told(rules, outcome)
    escalates = rules is not None and rules.task.escalation is not None
    position = {
        "through": segment.last,
        "head": segment.digest,
        "step": engine.step,
        "success": sealed[-1].success if escalates and sealed and engine.closed else engine.success,
        "total": engine.total,
        "milestones": live.milestones + len(outcome.milestones),
    }
    stored = {"episode": episode, "first": segment.first, "last": segment.last}
    return {
        SEGMENT: [{**stored, "prev": segment.prev, "digest": segment.digest, "frame": frame}],
        BEGAN: [{"episode": episode, "step": step, "began": seq, "ended": None} for step, seq in began],
        ENDED: [{**whose, "of_step": step, "at_seq": seq} for step, seq in ended],
        MILESTONES: milestone_rows(episode, live.milestones, segment.first, segment.last, outcome.milestones),
        REWARDS: reward_rows(sealed),
        COMMANDS: [{**whose, "of_number": number, "at_seq": seq} for number, seq in journalled],
        OLD_STATE: [whose] if keep else [],
        STATE: [{"episode": episode, "through": segment.last, "body": state}] if state else [],
        ADVANCE: [{**whose, **{f"new_{name}": value for name, value in position.items()}}],
        CLOSE: [{**whose, "new_closed_at": now()}] if engine.closed else [],
        CLOSE_COMMAND: [{**whose, "at_seq": segment.last}] if engine.closed else [],
        CLOSING: [{"episode": episode, "queued_at": now()}] if engine.closed else [],
        SUM: [whose] if escalates else [],
        ASK: [{"episode": episode, "step": a.step, "item": a.item, "audit": a.audit} for a in outcome.asks],
        ARRIVAL: [{**stored, "earned": len(outcome.milestones) + len(outcome.rewards)}],
    }


Marks = list[tuple[int, int]]


def marks(events: Sequence[Event], step: int) -> tuple[Marks, Marks, Marks]:
    """(step, seq) of steps that began, that ended, and (command, seq) of commands that reached the journal."""
    began: Marks = []
    ended: Marks = []
    journalled: Marks = []
    for event in events:
        if event.kind not in NUMBERED:
            continue
        if event.kind == "step.began" and event.data["step"] > step:
            step = event.data["step"]
            began.append((step, event.seq))
        elif event.kind == "step.ended":
            ended.append((event.data["step"], event.seq))
        if type(event.data.get("command")) is int:
            journalled.append((event.data["command"], event.seq))
    return began, ended, journalled

"""Appends segments: once, in order, with their detection in the same transaction.

Everything that is refused is refused before a row is written; everything that is acknowledged is on
the disk. An engine is kept in memory for the event that it stands at. The row of its episode is
read again under its lock, in the transaction that writes the segment: where another replica moved
it on, nothing is written and all is decided anew.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import structlog
from sqlalchemy import Executable, bindparam, delete, select, update

from api.commands.tables import commands
from api.core.errors import (
    ConflictError,
    CostlySegmentError,
    EpisodeClosedError,
    ForkedLogError,
    GapInLogError,
    UnavailableError,
)
from api.core.frames import read_appended, stated_size
from api.core.metrics import Metrics
from api.core.notify import ASKED, Notifier, grew_topic, log_of
from api.core.settings import Limits
from api.db.database import Database, now
from api.episodes.position import EpisodePosition
from api.episodes.store import Episodes
from api.episodes.tables import closings, episodes
from api.ingest.advance import STATE_EVERY, Advance, Write, advance
from api.ingest.crew import Crew, DiedError, Feed, LostError
from api.ingest.engines import Engines, Live, StoredEngine
from api.ingest.placeholder_engine import Stranger
from api.ingest.tables import engine_states
from api.ingest.wire import SegmentResult
from api.log.arrivals import arriving
from api.log.frames import texts_in
from api.log.tables import segments, steps
from api.log.upserts import Changes, Rows
from api.log.writer import GroupWriter, OutrunError
from api.rewards.ledger import ESCALATING, TOTAL, Ledger
from api.rewards.tables import milestones, rewards
from api.verdicts.escalations import RELEASE, queueing
from detectors.engine.engine import Engine
from detectors.matchers.faults import describe_consequence
from detectors.model.codec import sha256
from detectors.model.types import Segment

_INLINE_ENGINE = 1024 * 1024
"""Bytes of an engine that is measured in the event loop."""
_INLINE_BYTES = 64 * 1024
"""Larger frames are unpacked and fed beside the event loop, so that others are not kept waiting."""

_MAX_ATTEMPTS = 5
_TRIES = 2
"""Processes that may die over one segment."""
_COSTLY_KEPT = 1_024
"""Refused segments that are remembered."""

log = structlog.get_logger(__name__)

_of_episode: Any = bindparam("of_episode")
KINDS: Mapping[Write, Rows | Changes] = {
    "segment": Rows.whole(segments),
    "began": Rows.whole(steps),
    "milestones": Rows.whole(milestones),
    "rewards": Rows.whole(rewards),
    "state": Rows.whole(engine_states, replaces=True),
    "closing": Rows.whole(closings),
    "ended": Changes(steps, ("episode", "step"), ("ended",), once=True),
    "commands": Changes(commands, ("episode", "number"), ("seq",), once=True),
    "advance": Changes(
        episodes, ("id",), ("through", "head", "step", "success", "total", "milestones")
    ),
}
STATEMENTS: Mapping[Write, Executable] = {
    "no state": delete(engine_states).where(engine_states.c.episode == _of_episode),
    "release": RELEASE,
    "close": (
        update(episodes)
        .where(episodes.c.id == _of_episode)
        .values(
            status="closed",
            closed_at=bindparam("new_closed_at"),
            reached=bindparam("new_reached"),
        )
    ),
    "close command": (
        update(commands)
        .where(
            commands.c.episode == _of_episode,
            commands.c.kind == "episode.close",
            commands.c.seq.is_(None),
        )
        .values(seq=bindparam("at_seq"))
    ),
    "sum": TOTAL,
}

_HOLDING = (
    select(segments.c.digest, segments.c.frame)
    .where(segments.c.episode == bindparam("episode"), segments.c.first <= bindparam("first"))
    .order_by(segments.c.first.desc())
    .limit(1)
)


class _ApartError(Exception):
    """The episode's engine is not for this process: its rules may cost much."""


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
        crew: Crew,
    ) -> None:
        self._database, self._engines, self._episodes, self._ledger = (
            database,
            engines,
            episodes,
            ledger,
        )
        self._notifier, self._metrics, self._limits = notifier, metrics, limits
        self._crew = crew
        self._costly: OrderedDict[tuple[str, str], str] = OrderedDict()
        kinds: Mapping[Write, Rows | Changes] = {
            **KINDS,
            "arrival": arriving(database.embedded),
            "ask": queueing(database.embedded),
        }
        self._writer = GroupWriter[Write](database, STATEMENTS, kinds)

    async def append(self, episode: str, frame: bytes) -> Acknowledged:
        """Append the segment in ``frame``; the same one again is acknowledged again. Raises
        `ProblemError`."""
        began = time.perf_counter()
        ack = await self._append_somewhere(episode, frame)
        self._metrics.ingest_seconds.observe(time.perf_counter() - began)
        return ack

    async def through(self, episode: str) -> int:
        """How far the log goes, without a look at the database where that is in memory. Raises
        `NotFoundError`."""
        at = self._engines.position(episode)
        return at.through if at is not None else int((await self._episodes.get(episode)).through)

    async def _append_somewhere(self, episode: str, frame: bytes) -> Acknowledged:
        """Append a segment here or in a worker process, as its size and the engine's place ask
        for."""
        live = self._engines.cached(episode)
        self._refuse_costly(episode, frame)
        if self._crew.wants(frame) or (
            live is not None and isinstance(live.engine, int | StoredEngine)
        ):
            with suppress(LostError):  # nobody is there to do it: it is done here
                return await self._append_apart(episode, frame)
        if len(frame) > _INLINE_BYTES:
            segment = await asyncio.to_thread(read_appended, frame, episode, self._limits)
        else:
            segment = read_appended(frame, episode, self._limits)
        try:
            async with self._engines.lock(episode):
                return await self._append_first(
                    episode, frame, partial(self._feed, segment, stated_size(frame))
                )
        except _ApartError:
            pass
        try:
            return await self._append_apart(episode, frame)
        except LostError as error:
            raise UnavailableError(f"episode: {episode} can't be moved on now: {error}") from error

    async def _append_apart(self, episode: str, frame: bytes) -> Acknowledged:
        """By a process that can be ended. Raises `LostError`, and `CostlySegmentError` where the
        segment ended two."""
        async with self._engines.lock(episode):
            for tried in range(_TRIES):
                try:
                    ack = await self._append_first(
                        episode, frame, partial(self._crew.feed, frame, waits=tried > 0)
                    )
                except DiedError as died:
                    self._engines.drop(episode)
                    why = str(died)
                    log.error(
                        "A process died over a segment.",
                        alarm="detection_died",
                        episode=episode,
                        why=why,
                    )
                else:
                    self._metrics.apart.inc()
                    return ack
        self._metrics.costly.inc()
        self._remember_costly(episode, frame, why)
        log.error(
            "A segment is refused: two processes died over it.",
            alarm="costly_segment",
            episode=episode,
            why=why,
        )
        raise _costly(why)

    def _remember_costly(self, episode: str, frame: bytes, why: str) -> None:
        self._costly[episode, sha256(frame)] = why
        if len(self._costly) > _COSTLY_KEPT:
            self._costly.popitem(last=False)

    def _refuse_costly(self, episode: str, frame: bytes) -> None:
        """Raises `CostlySegmentError` for a segment that was refused, without another try."""
        why = self._costly.get((episode, sha256(frame))) if self._costly else None
        if why is not None:
            raise _costly(why)

    async def _append_first(self, episode: str, frame: bytes, feed: Feed) -> Acknowledged:
        """Append, and decide again while other replicas move the episode on. Raises
        `UnavailableError` after some tries."""
        for _ in range(_MAX_ATTEMPTS):
            try:
                return await self._append(episode, frame, feed)
            except OutrunError:
                # What was decided, was decided by an older row: read it, decide again.
                continue
        raise UnavailableError(
            f"episode: other replicas moved {episode} on {_MAX_ATTEMPTS} times meanwhile"
        )

    async def _append(self, episode: str, frame: bytes, feed: Feed) -> Acknowledged:
        """Append by the engine that is at hand, else by one that is loaded; a segment that is there
        already is acknowledged. Raises `ConflictError`."""
        live = self._engines.cached(episode)
        if live is not None:
            with suppress(LostError):
                segment, found = await feed(live)
                if found is not None:
                    return await self._write(live, found, frame)
        # Only the database may say no: another process may have moved the episode on.
        live = await self._engines.load(episode)
        try:
            segment, found = await feed(live)
        except LostError:
            if not isinstance(live.engine, StoredEngine) or not live.engine.state:
                raise
            log.warning("A stored engine state is of no use.", episode=episode)
            live = await self._engines.load(episode, whole=True)
            segment, found = await feed(live)
        if found is not None:
            return await self._write(live, found, frame)
        if segment.last <= live.at.through and await self._same(segment):
            return Acknowledged(live.at.through, live.at.head)
        raise _refusal(live.at, segment)

    async def end(self, episode: str, frame: bytes) -> Acknowledged:
        """Append the last segment of an episode whose rules this build has not; see
        api/ingest/placeholder_engine.py.

        Raises `ProblemError`.
        """
        segment = read_appended(frame, episode, self._limits)
        async with self._engines.lock(episode):
            for _ in range(_MAX_ATTEMPTS):
                live = await self._engines.stand_in(episode)
                _, found = await self._feed(segment, stated_size(frame), live)
                if found is None:
                    raise _refusal(live.at, segment)
                with suppress(OutrunError):
                    return await self._write(live, found, frame)
        raise UnavailableError(
            f"episode: other replicas moved {episode} on {_MAX_ATTEMPTS} times meanwhile"
        )

    async def _feed(self, segment: Segment, text_bytes: int, live: Live) -> SegmentResult:
        """Feed the segment to an engine of this process, beside the loop where it is large. Raises
        `LostError` without one."""
        if not live.at.continued_by(segment):
            return SegmentResult(segment, None)
        if isinstance(live.engine, StoredEngine):
            raise _ApartError
        if isinstance(live.engine, int):
            raise LostError("the engine is in another process")
        try:
            if segment.count > STATE_EVERY or live.size.measured > _INLINE_ENGINE:
                found = await asyncio.to_thread(_advance, live, segment, text_bytes)
            else:
                found = _advance(live, segment, text_bytes)
            return SegmentResult(segment, found)
        except BaseException:
            self._engines.drop(live.episode)
            raise

    async def _write(self, live: Live, found: Advance, frame: bytes) -> Acknowledged:
        """Commit what the segment adds; an engine whose rows may not be written is dropped."""
        rows = {**found.rows, "segment": [{**row, "frame": frame} for row in found.rows["segment"]]}
        durable = False
        try:
            await self._writer.commit(
                rows, live.episode, (live.at.through, live.at.head), len(frame)
            )
            durable = True
        finally:
            if not durable:
                self._engines.drop(live.episode)
        self._moved_on(live, found)
        return Acknowledged(live.at.through, live.at.head)

    async def _same(self, segment: Segment) -> bool:
        """Whether this very segment is in the log, in a row of its own or packed with others."""
        row = await self._database.first(
            _HOLDING, {"episode": segment.episode, "first": segment.first}
        )
        if row is None or row.digest == segment.digest:
            return row is not None
        texts = await asyncio.to_thread(lambda: list(texts_in(bytes(row.frame))))
        return any(sha256(text) == segment.digest for text in texts)

    def _moved_on(self, live: Live, found: Advance) -> None:
        """Take over what was written: position, final rewards, metrics, alarms, and wake who waits
        for it."""
        rows, count = found.rows, found.standing.through - live.at.through
        live.at = found.standing
        self._engines.resize(live)
        final = [row for row in rows["rewards"] if row["status"] != ESCALATING]
        for row in final:
            self._ledger.remember(live.episode, row["step"], row["body"])
        self._metrics.appended(count, [row["status"] for row in final], len(rows["milestones"]))
        for alarm in found.alarms:
            self._metrics.matcher_failures.labels(alarm.matcher, alarm.error).inc()
            consequence = describe_consequence(alarm.error)
            log.warning(
                f"A matcher failed on a text from agent or page; {consequence}.",
                alarm="matcher_failed",
                episode=live.episode,
                **alarm._asdict(),
            )
        seqs = {str(row["number"]): row["seq"] for row in rows["commands"]}
        self._notifier.tell(log_of(live.episode), {"seqs": seqs})
        if found.asks_model:
            self._notifier.wake(grew_topic(live.episode))
        if rows["ask"]:
            self._notifier.tell(ASKED)


def _advance(live: Live, segment: Segment, text_bytes: int) -> Advance:
    assert isinstance(live.engine, Engine | Stranger)
    found = advance(live.engine, live.at, segment, now())
    if isinstance(live.engine, Engine):
        live.size.grow(live.engine, text_bytes)
    return found


def _costly(why: str) -> CostlySegmentError:
    return CostlySegmentError(
        f"events: detection of this segment ended {_TRIES} processes, the last one because {why};"
        " wanted one that the task's rules can read within these bounds. It is not tried again,"
        " and the episode is ended"
    )


def _refusal(at: EpisodePosition, segment: Segment) -> ConflictError:
    """Return why a segment does not continue the log, with what would."""
    stands: dict[str, object] = {"wanted": at.through + 1, "through": at.through, "head": at.head}
    if segment.first <= at.through:
        return ForkedLogError(
            f"first: event {segment.first} is in the log already, in another segment; wanted"
            f" {at.through + 1}",
            **stands,
        )
    if at.closed:
        return EpisodeClosedError(
            f"first: event {segment.first} follows the episode's end at {at.through}", **stands
        )
    if segment.first > at.through + 1:
        return GapInLogError(f"first: got {segment.first}, wanted {at.through + 1}", **stands)
    return ForkedLogError(f"prev: got {segment.prev}, wanted {at.head}", **stands)

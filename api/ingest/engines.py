"""Engines of the episodes that are running, kept between two segments and rebuilt wherever they are
not.

A stored state is a shortcut, never the truth: it is written every so many events
(api/ingest/advance.py), and what came after it is fed again from the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import orjson
import structlog
from sqlalchemy import bindparam, select

from api.core.errors import RulesetChangedError, UnavailableError
from api.db.database import Database
from api.episodes.position import EpisodePosition
from api.episodes.rows import EpisodeRow
from api.episodes.store import Episodes
from api.ingest.engine_size import EngineSize
from api.ingest.packed_engines import PackedEngine, UsedOrder, pack_engine, unpack_engine
from api.ingest.placeholder_engine import Stranger
from api.ingest.stored_frames import feed_frame
from api.ingest.tables import engine_states
from api.log.tables import segments
from api.rewards.tables import milestones, rewards
from api.tasks.store import Tasks
from detectors.engine.engine import Engine
from detectors.model.caches import SharedPart, SizedCache
from detectors.model.errors import GapError, StateError
from detectors.model.rewards import milestone_from_json
from detectors.task.ruleset import Ruleset

UNPACKED_SHARE = 32
"""Small engines are packed beyond this part of the memory for engines."""
ENTRY_BYTES = 1_024
"""Bytes that a kept episode takes beside its engine: where it stands, its digests, its name."""
_LOOKS = 5
"""Tries: another replica may advance an episode between reads of its row, state and segments."""

_STATE = select(engine_states).where(engine_states.c.episode == bindparam("episode"))
_AFTER = (
    select(segments.c.frame)
    .where(segments.c.episode == bindparam("episode"), segments.c.first > bindparam("after"))
    .where(segments.c.last <= bindparam("through"))
    .order_by(segments.c.first)
)

_REWARD = (
    select(rewards.c.step, rewards.c.body)
    .where(rewards.c.episode == bindparam("episode"))
    .order_by(rewards.c.step.desc())
    .limit(1)
)
_EARNED = (
    select(milestones.c.body)
    .where(milestones.c.episode == bindparam("episode"), milestones.c.step == bindparam("step"))
    .order_by(milestones.c.number)
)

log = structlog.get_logger()


class StoredEngine(NamedTuple):
    """An engine that is made of its stored state (empty: from the start) and of the frames after
    that, elsewhere: the rules may cost much."""

    ruleset: Ruleset
    state: bytes
    frames: tuple[bytes, ...]


@dataclass(slots=True)
class Live:
    """An episode at its last durable event. Its engine is here, packed while the episode waits, or
    with a process of the crew's (api/ingest)."""

    episode: str
    engine: Engine | PackedEngine | Stranger | StoredEngine | int
    at: EpisodePosition
    size: EngineSize = field(default_factory=EngineSize)

    @property
    def bytes(self) -> int:
        """What keeping it takes in this process."""
        if isinstance(self.engine, StoredEngine):
            return ENTRY_BYTES + len(self.engine.state) + sum(map(len, self.engine.frames))
        if isinstance(self.engine, PackedEngine):
            return ENTRY_BYTES + len(self.engine.state)
        return ENTRY_BYTES + (self.size.bytes if isinstance(self.engine, Engine) else 0)

    @property
    def shared(self) -> SharedPart | None:
        """The rules, which are kept as long as the engine is."""
        if isinstance(self.engine, Engine | PackedEngine | StoredEngine):
            return self.engine.ruleset.shared
        return None


class Engines:
    """The engines of one process, ``max_bytes`` of them in memory. Hold the episode's `lock` from
    `get` until the log is durable."""

    def __init__(
        self, database: Database, episodes: Episodes, tasks: Tasks, max_bytes: int
    ) -> None:
        self._database, self._episodes, self._tasks = database, episodes, tasks
        self.kept: SizedCache[str, Live] = SizedCache(max_bytes)
        self._unpacked = UsedOrder(max_bytes // UNPACKED_SHARE)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock(self, episode: str) -> asyncio.Lock:
        """One at a time moves an episode on."""
        lock = self._locks.get(episode)
        if lock is None:
            lock = self._locks[episode] = asyncio.Lock()
        return lock

    def cached(self, episode: str) -> Live | None:
        """What is in memory, if anything, with an engine that is not packed."""
        live = self.kept.get(episode)
        if live is not None and isinstance(live.engine, PackedEngine):
            live.engine = unpack_engine(live.engine)
            self._keep(live)
        return live

    def position(self, episode: str) -> EpisodePosition | None:
        """Where the episode stands, if it is in memory."""
        live = self.kept.get(episode)
        return None if live is None else live.at

    def resize(self, live: Live) -> None:
        """An engine that is kept moved on: where all of them take too much now, some are let
        go."""
        if self.kept.get(live.episode) is live:
            self._keep(live)

    def _keep(self, live: Live) -> None:
        """Keep an episode that was used now, and pack the engines of those that wait longest."""
        self.kept.put(live.episode, live, live.bytes, live.shared)
        if isinstance(live.engine, Engine):
            for episode in self._unpacked.use(live.episode, live.size.bytes):
                self._pack(episode)

    def _pack(self, episode: str) -> None:
        """Pack an engine, unless somebody works at it: then it may be ahead of the log."""
        live, lock = self.kept.peek(episode), self._locks.get(episode)
        if live is None or (lock is not None and lock.locked()):
            return
        if isinstance(live.engine, Engine):
            live.engine = pack_engine(live.engine)
            self.kept.resize(episode, live.bytes)

    def drop(self, episode: str) -> None:
        """Forget an engine that may be ahead of the log."""
        self.kept.drop(episode)
        self._unpacked.forget(episode)

    def forget(self) -> None:
        """Forget every engine: an episode was deleted."""
        self.kept.clear()
        self._unpacked.clear()

    async def load(self, episode: str, *, whole: bool = False) -> Live:
        """Rebuild from the database; ``whole``: from the start, whatever state is stored.

        Raises `NotFoundError`, `GoneError`, `RulesetChangedError`."""
        self.drop(episode)
        for _ in range(_LOOKS):
            live = await self._rebuild(await self._episodes.get(episode), whole)
            if live is not None:
                break
        else:
            raise UnavailableError(
                f"episode: the log of {episode} ends elsewhere than its row says"
            )
        self._keep(live)
        return live

    async def stand_in(self, episode: str) -> Live:
        """The episode without its rules, good for nothing but its end; it is not kept. Raises
        `ProblemError`."""
        self.drop(episode)
        row = await self._episodes.get(episode)
        step = -1 if row.step is None else row.step
        last = await self._database.first(_REWARD, {"episode": episode})
        sealed = step < 0 or (last is not None and last.step >= step)
        earned = (
            [] if sealed else await self._database.all(_EARNED, {"episode": episode, "step": step})
        )
        components = (
            orjson.loads(last.body)["components"]
            if last
            else await self._tasks.components(row.task_number)
        )
        pending = [milestone_from_json(orjson.loads(one.body)) for one in earned]
        stranger = Stranger(row.id, row.digest, components, (row.through, step), sealed, pending)
        return Live(row.id, stranger, _standing(row, row.through))

    async def _rebuild(self, row: EpisodeRow, whole: bool) -> Live | None:
        """None where the episode moved on between two reads."""
        rules = await self._tasks.ruleset(row.task_number)
        if rules.digest != row.digest:
            raise RulesetChangedError(
                f"digest: episode {row.id} was opened under {row.digest}, this build's rules give"
                f" {rules.digest}; wanted the build that opened it, or a new episode"
            )
        state = None if whole else await self._database.first(_STATE, {"episode": row.id})
        stored = 0 if state is None else state.through
        if stored > row.through:
            return None
        if rules.metered:
            frames = tuple([frame async for frame in self._frames(stored, row)])
            return Live(
                row.id,
                StoredEngine(rules, bytes(state.body) if state else b"", frames),
                _standing(row, stored),
            )
        engine = None if state is None else await self._resumed(rules, state, row)
        if engine is None:
            engine, stored = Engine(rules, row.id), 0
            await self._feed(engine, stored, row)
        if engine.through != row.through:
            return None
        size = EngineSize()
        await asyncio.to_thread(size.grow, engine, 0)
        return Live(row.id, engine, _standing(row, stored), size)

    async def _resumed(self, rules: Ruleset, state: Any, row: EpisodeRow) -> Engine | None:
        """The engine from its stored state on; None where that is of no use and all has to be fed
        again.

        It is another build's, or lies between two ends of segments, where nobody wrote it: `audit
        verify` tells.
        """
        try:
            engine = Engine.load(rules, bytes(state.body))
            await self._feed(engine, state.through, row)
        except (StateError, GapError) as error:
            log.warning("A stored engine state is of no use.", episode=row.id, why=str(error))
            return None
        return engine if engine.through == row.through else None

    async def _feed(self, engine: Engine, after: int, row: EpisodeRow) -> None:
        async for frame in self._frames(after, row):
            feed_frame(engine, frame)

    async def _frames(self, after: int, row: EpisodeRow) -> AsyncIterator[bytes]:
        for segment in await self._database.all(
            _AFTER, {"episode": row.id, "after": after, "through": row.through}
        ):
            yield bytes(segment.frame)


def _standing(row: EpisodeRow, stored: int) -> EpisodePosition:
    step = -1 if row.step is None else row.step
    return EpisodePosition(
        row.through, row.head, row.status == "closed", step, row.milestones, stored
    )

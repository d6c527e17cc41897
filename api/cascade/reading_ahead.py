"""Reads the logs of episodes whose task asks the reward model while they grow, so that a question
finds them read.

Only in a service that has its database to itself: of several replicas one appends, and any of them
may ask.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import structlog

from api.cascade.evidence import EpisodeEvidence, Readings
from api.core.background import PeriodicTask
from api.core.errors import ProblemError
from api.core.notify import GREW, Notifier
from api.episodes.store import Episodes
from api.stages.base import Stage
from api.tasks.store import Tasks
from detectors.model.types import Event, Json

MAX_PENDING = 1_000
"""Episodes that wait to be read on; one more is read when it is asked about."""
RETRY_S = 1.0

log = structlog.get_logger(__name__)


@runtime_checkable
class LogReader(Protocol):
    """A stage that can read a log before it is asked about it."""

    def read(self, episode: str, task: Mapping[str, Json], events: Sequence[Event]) -> int:
        """Read a part of what is new; return how many of these events are not read yet."""


async def let_read(
    stage: Stage, episode: str, task: Mapping[str, Json], events: Sequence[Event]
) -> None:
    """Let a stage read a log in parts, and others run between two of them: an opening with hundreds
    of texts takes tens of milliseconds."""
    if not isinstance(stage, LogReader):
        return
    before, unread = len(events) + 1, stage.read(episode, task, events)
    while 0 < unread < before:  # no progress: it is too large to be kept
        await asyncio.sleep(0)
        before, unread = unread, stage.read(episode, task, events)


class ReadingAhead:
    """Reads on, in the background, the episodes that `note` names."""

    def __init__(
        self,
        notifier: Notifier,
        readings: Readings,
        episodes: Episodes,
        tasks: Tasks,
        stages: Sequence[Stage],
    ) -> None:
        self._readings, self._episodes, self._tasks = readings, episodes, tasks
        self._stages = [stage for stage in stages if isinstance(stage, LogReader)]
        self._pending: dict[str, None] = {}
        self._news = asyncio.Event()
        self._reading = PeriodicTask(
            "reading ahead",
            self._turn,
            retry_s=RETRY_S,
            postponed="Logs are read when they are asked about.",
            failed="Logs can't be read ahead.",
        )
        if self._stages:
            notifier.subscribe(GREW, self.note)

    def start(self) -> None:
        """Begin to read, until `stop`; nothing, where no stage can."""
        if self._stages:
            self._reading.start()

    async def stop(self) -> None:
        """Stop reading; what is pending is read when it is asked about."""
        await self._reading.stop()

    def note(self, episode: str) -> None:
        """Something was appended to the log of an episode whose task asks the model."""
        if len(self._pending) < MAX_PENDING:
            self._pending[episode] = None
            self._news.set()

    async def _turn(self) -> float:
        """Read the logs of the episodes that have news. Return 0: the next turn waits for news
        itself."""
        if not self._pending:  # else an error ended the turn before
            await self._news.wait()
        self._news.clear()
        while self._pending:
            episode = next(iter(self._pending))
            del self._pending[episode]
            await self._read(episode)
        return 0.0

    async def _read(self, episode: str) -> None:
        """Read one episode's log for each stage that wants it; one that was deleted is passed
        over."""
        try:
            seen = await self._evidence(episode)
        except ProblemError as error:  # such as one that was deleted meanwhile
            log.info("A log is not read ahead.", episode=episode, why=error.detail)
            return
        for stage in self._stages:
            await let_read(stage, seen.engine.state.episode, seen.task, seen.events)

    async def _evidence(self, episode: str) -> EpisodeEvidence:
        """Return an episode's evidence, read up to now."""
        kept = self._readings.kept.get(episode)
        if kept is not None:
            return await self._readings.read_on(episode, lambda: kept.rules)
        row = await self._episodes.get(episode)
        rules = await self._tasks.ruleset(row.task_number)
        return await self._readings.read_on(episode, lambda: rules)

"""Rescores in the background of a service: one at a time, in one process of low priority beside it.

What is done is on the disk batch by batch, so a service that is killed goes on where it was. Of
many replicas one works at a rescore; where its count of finished episodes stands still, by the
others' own clocks, another takes it over.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any

import orjson
import structlog

from api.core.background import PeriodicTask
from api.core.heartbeat import Pulse
from api.db.database import Database
from api.rescoring.corpus import Corpus
from api.rescoring.crews import pool
from api.rescoring.report import Tally
from api.rescoring.store import RescoredEpisode, Rescores
from api.rescoring.stored import material
from api.rescoring.work import EpisodeOutcome, Material, broken_outcome, work

EVERY_S = 2.0
"""How often another replica's rescores are looked at."""
LOST_S = 60.0
"""How long a count may stand still: longer than a batch of the longest episodes takes."""
TOGETHER = 16
NICE = 10

log = structlog.get_logger(__name__)


class Rescorer:
    """The one who scores again, in the background of a service."""

    def __init__(self, database: Database, rescores: Rescores) -> None:
        self._rescores, self._corpus = rescores, Corpus(database)
        self._me = uuid.uuid4().hex
        self._alone = database.embedded
        self._pulse: Pulse[int] = Pulse(LOST_S, EVERY_S)
        self._news = asyncio.Event()
        self.periodic = PeriodicTask(
            "rescores",
            self._turn,
            retry_s=EVERY_S,
            postponed="Rescores have to wait.",
            failed="Rescores failed.",
        )
        self._pool: ProcessPoolExecutor | None = None

    def start(self) -> None:
        """Start working at rescores in the background, until `stop`."""
        self.periodic.start()

    async def stop(self) -> None:
        """Let go; what is not done stays so."""
        await self.periodic.stop()
        await self._stop_idle()

    def wake(self) -> None:
        """Tell the worker that a rescore was added."""
        self._news.set()

    async def _turn(self) -> float:
        """Work on the next rescore, or wait for one. Return 0: the next turn waits itself."""
        self._news.clear()
        row = await self._next()
        if row is not None:
            await self._whole(row)
            return 0.0
        await self._stop_idle()
        # A replica of many also looks for what others left; a service alone is woken for each.
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), None if self._alone else EVERY_S)
        return 0.0

    async def _next(self) -> Any:
        """A rescore that is now this process's, or None."""
        rows = await self._rescores.unfinished()
        counts = {row.id: row.scored for row in rows if row.runner is not None}
        still = set(self._pulse.look(time.monotonic(), counts))
        for row in rows:
            # In a database of its own, whoever else is named was this service before it was started
            # again.
            free = row.runner is None or self._alone or row.runner == self._me or row.id in still
            if free and await self._rescores.take(row, self._me):
                return row
        return None

    async def _whole(self, row: Any) -> None:
        """Score a rescore's episodes, some at a time, until all are done or somebody else took it
        over."""
        tally = Tally(orjson.loads(row.summary))
        log.info(
            "A rescore begins, or goes on.",
            rescore=row.id,
            scored=row.scored,
            episodes=row.episodes,
        )
        while True:
            waiting = await self._rescores.waiting(row.number, TOGETHER)
            stored = await self._corpus.whole(waiting)
            task = None if row.task is None else bytes(row.task)
            answers = await self._answers([material(one, task, True) for one in stored])
            scored = [
                _scored(one.number, answer, tally)
                for one, answer in zip(waiting, answers, strict=True)
            ]
            if not await self._rescores.keep(row.number, self._me, scored, tally.summary()):
                log.info("A rescore was removed, or taken over.", rescore=row.id)
                return
            if not scored:
                log.info("A rescore is done.", rescore=row.id, **tally.statuses)
                return

    async def _answers(self, materials: list[Material]) -> list[EpisodeOutcome]:
        """Score episodes; where that kills the process, one by one, so that only the deadly one
        fails."""
        try:
            return await self._worked(materials)
        except BrokenProcessPool:
            log.warning(
                "The process that scores died; its episodes are tried one by one.",
                episodes=len(materials),
            )
        found: list[EpisodeOutcome] = []
        for one in materials:
            try:
                found += await self._worked([one])
            except BrokenProcessPool:
                found.append(broken_outcome(one, "the process that scored it died twice"))
        return found

    async def _worked(self, materials: list[Material]) -> list[EpisodeOutcome]:
        """Score episodes in a process of their own. Raises `BrokenProcessPool`."""
        if not materials:
            return []
        if self._pool is None:
            self._pool = pool(1, NICE)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work, materials)
        except BrokenProcessPool:
            await self._stop_idle()
            raise

    async def _stop_idle(self) -> None:
        """Keep no process while there is nothing for it to do."""
        crew, self._pool = self._pool, None
        if crew is not None:
            await asyncio.to_thread(crew.shutdown, cancel_futures=True)


def _scored(number: int, answer: EpisodeOutcome, tally: Tally) -> RescoredEpisode:
    tally.take(answer)
    new = orjson.loads(answer.line)["new"]
    return RescoredEpisode(
        number, answer.status, None if new is None else new["ruleset"], answer.line
    )

"""What the tiers say of whole episodes that the rules left equal, for the order of a group.

A tier is asked about the goal as the cascade asks it (api/cascade/asking.py): on the same budgets,
once for equal questions. What it says orders a group and changes no reward.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from api.cascade.asking import Asker, Later
from api.cascade.evidence import EpisodeEvidence, Readings
from api.cascade.stages import Stages
from api.core.errors import ProblemError
from api.core.metrics import Metrics
from api.core.notify import Deadline
from api.core.settings import StageSettings
from api.episodes.rows import EpisodeRow
from api.tasks.store import Tasks
from api.verdicts.escalations import Item, PendingItem
from api.verdicts.opinions import Opinions
from detectors.model.caches import SizedCache
from detectors.model.memory import size_of
from detectors.model.types import Ask

ANSWERS_BYTES = 4 * 1024 * 1024
"""Bytes of the answers that are kept, so that who asks again need not wait for the database."""

Answer = Mapping[str, Any]
"""A verdict as the log of verdicts has it: `verdict`, `evidence`, `record`."""


@dataclass(frozen=True, slots=True)
class ClosedEpisode:
    """An episode that is asked about: its row and its last sealed step."""

    row: EpisodeRow
    last_step: int


class TieBreaker:
    """Asks the tiers of one service. A call that outlives its request goes on, and its answer is
    kept for the next one."""

    def __init__(
        self,
        opinions: Opinions,
        readings: Readings,
        tasks: Tasks,
        metrics: Metrics,
        stages: Stages,
        settings: StageSettings,
    ) -> None:
        self._opinions, self._readings, self._tasks = opinions, readings, tasks
        self._asker = Asker(opinions, metrics, stages, settings)
        self._running: dict[Item, asyncio.Task[Answer]] = {}
        self.kept: SizedCache[Item, Answer] = SizedCache(ANSWERS_BYTES)

    def forget(self) -> None:
        """Forget what was answered: an episode was deleted."""
        self.kept.clear()

    async def stop(self) -> None:
        """Let go of the calls that still run."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def ask(self, episode: ClosedEpisode, tier: str, deadline: Deadline) -> Answer | None:
        """Return what ``tier`` says of the episode's goal; None if it said nothing in time."""
        key = (episode.row.id, episode.last_step, tier)
        kept = self.kept.get(key)
        if kept is not None:
            return kept
        task = self._running.get(key)
        if task is None:
            task = asyncio.create_task(self._answer(episode, tier), name="tie")
            self._running[key] = task
            task.add_done_callback(lambda ended: self._ended(key, ended))
        done, _ = await asyncio.wait({task}, timeout=deadline.remaining_s())
        return task.result() if done else None

    def _ended(self, key: Item, task: asyncio.Task[Answer]) -> None:
        """Keep an answer for who asks again; that nobody could be asked is not kept."""
        self._running.pop(key, None)
        if task.cancelled() or task.exception() is not None:
            return
        answer = task.result()
        if answer["question"] is not None:  # else nobody was asked: a budget may be refilled
            self.kept.put(key, answer, size_of(answer))

    async def _answer(self, episode: ClosedEpisode, tier: str) -> Answer:
        """Ask until there is an answer or the task's patience is over."""
        row, step = episode.row, episode.last_step
        rules = await self._tasks.ruleset(row.task_number)
        asked = PendingItem(
            row.id, step, tier, False, 0, 0.0, row.tenant, row.task, row.task_number, heard=False
        )
        seen = await self._readings.read(asked, lambda: rules)
        ask = Ask(step, "goal", (tier,))
        began = time.monotonic()
        while True:
            said = await self._say(asked, ask, seen, tier, time.monotonic() - began)
            if not isinstance(said, Later):
                return said
            await asyncio.sleep(said.after_s)
            asked = asked._replace(attempts=asked.attempts + 1)

    async def _say(
        self, asked: PendingItem, ask: Ask, seen: EpisodeEvidence, tier: str, waited_s: float
    ) -> Answer | Later:
        """Ask a tier, keep what it costs, and let go of what was held in any case."""
        try:
            said = await self._asker.say(asked, ask, seen, tier, waited_s)
            if isinstance(said, Later):
                return said
            if said.asking is not None:
                await self._opinions.keep(said.asking, said.kept, said.calls, said.cost)
            self._asker.holding.pop(asked.key, None)
            assert said.data is not None, "a tier that is asked says something"
            return said.data
        finally:
            await self._let_go(asked)

    async def _let_go(self, asked: PendingItem) -> None:
        """Whoever is next may ask what was not answered."""
        asking = self._asker.holding.pop(asked.key, None)
        if asking is not None:
            with suppress(ProblemError):  # then its lease ends by itself
                await self._opinions.free(asking)

"""Takes what was queued, asks, keeps the answer: as many at once as endpoints bear, again where
nobody answered.

Nothing is known here that is not in the database: a worker that is killed leaves its rows to the
end of their lease, and whoever takes them up finds what was said already, and what was billed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from api.cascade.asking import Asker, Later, event_of, make_spared_row, pause_s
from api.cascade.evidence import EpisodeEvidence, Readings
from api.cascade.stages import Stages
from api.cascade.store import VerdictRow, Verdicts
from api.core.background import PeriodicTask
from api.core.errors import ProblemError, UnavailableError
from api.core.metrics import Metrics
from api.core.notify import ASKED, Notifier, log_of
from api.core.settings import StageSettings
from api.stages.base import Opinion
from api.tasks.store import Tasks
from api.verdicts.escalations import Escalations, Item, PendingItem
from api.verdicts.opinions import Opinions
from api.verdicts.recorded import words_of
from common.trace_context import PASSED_ON
from detectors.engine.resolution import CAUSE, decide, needs_goal, next_tier
from detectors.model.types import Ask, Reward, Verdict

LOOK_S = 5.0
"""How often the queue is looked at unasked."""
AGAIN_S = 1.0
"""How soon after it could not be read; doubles from try to try up to `LOOK_S`."""
AHEAD = 4
"""Rows in work for each call that may run: reading, billing and keeping go on meanwhile."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Stores:
    """What the worker reads and writes."""

    escalations: Escalations
    opinions: Opinions
    verdicts: Verdicts
    tasks: Tasks


class Worker:
    """The one who asks, in the background of a service."""

    def __init__(
        self,
        stores: Stores,
        readings: Readings,
        notifier: Notifier,
        metrics: Metrics,
        runner: str,
        stages: Stages,
        settings: StageSettings,
    ) -> None:
        self._stores, self._readings, self._notifier, self._metrics = (
            stores,
            readings,
            notifier,
            metrics,
        )
        self._runner, self._lease_s = runner, settings.lease_s
        self._asker = Asker(stores.opinions, metrics, stages, settings)
        self._most = AHEAD * settings.at_once * max(1, sum(map(len, stages.by_tier.values())))
        self._running: dict[Item, asyncio.Task[None]] = {}
        self._freed = asyncio.Event()
        self._has_freed_orphans = False
        self._taking = PeriodicTask(
            "cascade",
            self._turn,
            retry_s=AGAIN_S,
            max_retry_s=LOOK_S,
            postponed="Escalations have to wait.",
            failed="The queue of escalations can't be read.",
        )
        self._renewing = PeriodicTask(
            "cascade leases",
            self._renew,
            retry_s=self._lease_s / 3,
            postponed="Leases of escalations can't be renewed now.",
            failed="Leases of escalations can't be renewed.",
        )

    def start(self) -> None:
        """Start answering questions in the background, until `stop`."""
        self._taking.start()
        self._renewing.start(delay_s=self._lease_s / 3)

    async def stop(self) -> None:
        """Let go; what is not answered stays queued."""
        await self._taking.stop()
        await self._renewing.stop()
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _turn(self) -> float:
        """Begin what is due, then wait until there may be more."""
        news = self._notifier.watch(ASKED)
        self._freed.clear()
        if not self._has_freed_orphans:
            await self._stores.escalations.orphaned()
            await self._stores.opinions.orphaned()
            self._has_freed_orphans = True
        rows: Sequence[PendingItem] = ()
        free = self._most - len(self._running)
        if free:
            rows = await self._stores.escalations.take(min(free, self._most // 2), self._lease_s)
        for row in rows:
            self._begin(row)
        if not rows or len(self._running) >= self._most:
            await self._wait(news, await self._pause())
        return 0.0

    async def _pause(self) -> float:
        """How long until there is something to take, as far as anybody knows."""
        if len(self._running) >= self._most:
            return LOOK_S
        due = await self._stores.escalations.next_due_s()
        return LOOK_S if due is None else min(LOOK_S, max(0.01, due))

    async def _wait(self, news: asyncio.Event, seconds: float) -> None:
        """Until something is queued, a place becomes free, or ``seconds`` have passed."""
        # While the service stops, its notifier's events are all set: nothing is to be heard there.
        events = (self._freed,) if self._notifier.stopped else (news, self._freed)
        waiting = [asyncio.ensure_future(event.wait()) for event in events]
        _, pending = await asyncio.wait(
            waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        for one in pending:
            one.cancel()

    async def _renew(self) -> float:
        await self._stores.escalations.renew(list(self._running), self._lease_s)
        await self._stores.opinions.renew(list(self._asker.holding.values()), self._lease_s)
        return self._lease_s / 3

    def _begin(self, asked: PendingItem) -> None:
        """Begin to ask about an item, unless that runs already."""
        if asked.key in self._running:
            # Its lease ended while nobody could renew it; now it has a new one.
            return
        task = asyncio.create_task(self._guarded(asked), name="escalation")
        self._running[asked.key] = task
        task.add_done_callback(lambda _: self._ended(asked))

    def _ended(self, asked: PendingItem) -> None:
        """Forget an item that is done, and take new ones once half of the room is free."""
        self._running.pop(asked.key, None)
        self._asker.holding.pop(asked.key, None)
        if len(self._running) <= self._most // 2:
            self._freed.set()

    async def _guarded(self, asked: PendingItem) -> None:
        """Work at one; what fails is put off, for whoever looks then."""
        PASSED_ON.set(asked.traceparent)  # of this task alone: it is one item's
        try:
            try:
                await self._work(asked)
            except ProblemError as error:
                log.warning("An escalation has to wait.", what=asked.key, why=error.detail)
                await self._let_go(asked)
            except Exception:  # a fault of ours
                log.exception("An escalation failed unexpectedly.", what=asked.key)
                await self._let_go(asked)
        except UnavailableError as error:  # then its lease ends
            log.warning("An escalation can't be put off now.", what=asked.key, why=error.detail)

    async def _let_go(self, asked: PendingItem) -> None:
        """Free what is held for an item, and let it be asked again after a pause."""
        if (asking := self._asker.holding.pop(asked.key, None)) is not None:
            await self._stores.opinions.free(asking)
        await self._stores.escalations.later(asked, pause_s(asked.attempts))

    async def _work(self, asked: PendingItem) -> None:
        """Ask one stage after the other about an item until nobody is left to ask, or one has
        decided."""
        began = time.monotonic()
        rules = await self._stores.tasks.ruleset(asked.task_number)
        seen = await self._readings.read(asked, lambda: rules)
        if asked.step not in seen.rewards:
            return  # the episode was deleted meanwhile, and its rows with it
        ask = seen.ask(asked.step, asked.item)
        if asked.item == CAUSE and not await asyncio.to_thread(seen.leaves_cause_open):
            ask = None  # the events say it: nobody is asked
        given = (
            await self._stores.verdicts.of_step(asked.episode, asked.step) if asked.heard else []
        )
        words = words_of(given, audit=asked.audit)
        reward = seen.rewards[asked.step]
        while ask is not None and (tier := next_tier(rules, reward, ask, words)) is not None:
            waited_s = asked.waited_s + time.monotonic() - began
            said = await self._say(asked, ask, seen, tier, waited_s)
            if said is None:
                return
            data = {
                "kind": "verdict.given",
                "item": asked.item,
                "audit": asked.audit,
                **(said.data or {}),
            }
            words += words_of([data], audit=asked.audit)
            more = next_tier(rules, reward, ask, words) is not None
            final = await self._keep(said._replace(last=not more), seen, self._runner)
            self._asker.holding.pop(asked.key, None)
            if final or not more:
                return
        await self._keep(
            VerdictRow(asked.episode, asked.step, asked.item, None), seen, self._runner
        )

    async def _say(
        self, asked: PendingItem, ask: Ask, seen: EpisodeEvidence, tier: str, waited_s: float
    ) -> VerdictRow | None:
        """What the tier says; None where the item was put off."""
        escalations = self._stores.escalations
        if needs_goal(seen.rules, ask, tier):
            goal = await escalations.goal_of(asked.episode)
            if not goal.known:
                await escalations.wait_for_goal(asked)
                return None
            if goal.success is False:
                return make_spared_row(asked, tier, seen.rewards[asked.step].through)
        said = await self._asker.say(asked, ask, seen, tier, waited_s)
        if isinstance(said, Later):
            await escalations.later(asked, said.after_s)
            return None
        return said

    async def say(self, asked: PendingItem, verdict: Verdict) -> bool:
        """A person's final word on an item that waits, whoever has it; False where it waits no
        more."""
        rules = await self._stores.tasks.ruleset(asked.task_number)
        seen = await self._readings.read(asked, lambda: rules)
        if asked.step not in seen.rewards:
            return False
        data = event_of(Opinion(verdict), seen.rewards[asked.step].through)
        return await self._keep(VerdictRow(asked.episode, asked.step, asked.item, data), seen, None)

    async def _keep(self, said: VerdictRow, seen: EpisodeEvidence, runner: str | None) -> bool:
        """Keep a verdict; return whether it decided the step."""
        asks = seen.asks.get(said.step, [])
        reward = seen.rewards[said.step]
        final = await self._stores.verdicts.keep(
            said, runner, lambda words: decide(seen.rules, reward, asks, words)
        )
        if final is not None:
            self._tell(final)
        return final is not None

    def _tell(self, final: Reward) -> None:
        self._metrics.sealed.labels(final.status).inc()
        self._notifier.tell(log_of(final.episode))

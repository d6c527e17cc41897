"""Sends each episode's trace as its steps are sealed, out of the log.

What is to be sent is queued in the transaction that opens the episode, and how far it is sent is
noted after the collector took it: a crash at any moment loses nothing, and what it repeats are the
same spans with the same ids. Rewards know nothing of this: a collector that is down keeps rows in
this queue, and nothing else. Spans go in the order of their steps: a step whose reward waits for an
answer holds up those behind it, in its own episode alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import orjson
import structlog

from api.core.background import PeriodicTask
from api.core.errors import UnavailableError
from api.core.metrics import Metrics
from api.core.settings import TelemetrySettings
from api.log.frames import decode_frame
from api.log.segments import StoredSegments
from api.rewards.ledger import Ledger
from api.tasks.store import Tasks
from api.telemetry.attributes import TracedOutcome
from api.telemetry.collector import Collector, CollectorDownError, TraceRefusedError
from api.telemetry.outline import LogOutline
from api.telemetry.spans import EpisodeTrace, TracedEpisode, trace_episode, unix_ns
from api.telemetry.store import NextPart, PendingTrace, TraceExports
from common.backoff import retry_pause_s
from common.trace_context import TraceParent
from detectors.model.rewards import RewardJson

EVERY_S = 1.0
"""How often the queue is looked at."""
MAX_PAUSE_S = 60.0
"""The longest pause while the collector is down; it doubles from `EVERY_S` on."""
MAX_REFUSED_S = 3_600.0
"""The longest pause after a part of one trace was refused; it doubles from `EVERY_S` on."""
EPISODES, STEPS, SPANS = 64, 64, 512
"""The most episodes of one look, the most steps of one episode in it, and about how many spans are
sent in one request."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TraceSources:
    """What traces are made of."""

    segments: StoredSegments
    ledger: Ledger
    tasks: Tasks


@dataclass(frozen=True, slots=True)
class _Part:
    """What is sent of an episode at once, and where the next part begins."""

    row: PendingTrace
    trace: EpisodeTrace
    next: NextPart | None


class TraceExporter:
    """The one who sends, in the background of a service."""

    def __init__(
        self,
        exports: TraceExports,
        sources: TraceSources,
        metrics: Metrics,
        settings: TelemetrySettings,
    ) -> None:
        self._exports, self._sources, self._metrics = exports, sources, metrics
        self._content = settings.content
        self._collector = Collector(settings)
        self.periodic = PeriodicTask(
            "traces",
            self._run,
            retry_s=EVERY_S,
            max_retry_s=MAX_PAUSE_S,
            postponed="Traces have to wait.",
            failed="Traces can't be sent.",
            expected=(UnavailableError, CollectorDownError),
        )

    def start(self) -> None:
        """Send in the background until `stop`."""
        self.periodic.start()

    async def stop(self) -> None:
        """Cancel the turn that runs and return once it ended; what is queued stays queued."""
        await self.periodic.stop()
        await self._collector.close()

    async def _run(self) -> float:
        return 0.0 if await self.turn() else EVERY_S

    async def turn(self) -> bool:
        """Send what can be sent; whether there is more. Raises `UnavailableError`,
        `CollectorDownError`."""
        async with self._exports.alone() as mine:
            if not mine:
                return False
            rows = await self._exports.pending(EPISODES)
            batch: list[_Part] = []
            for row in rows:
                part = await self._read_next_or_postpone(row)
                if part is not None:
                    batch.append(part)
                if sum(len(waiting.trace.spans) for waiting in batch) >= SPANS:
                    await self._send(batch)
                    batch = []
            if batch:
                await self._send(batch)
            return bool(rows)

    async def _send(self, batch: Sequence[_Part]) -> None:
        """Send parts of several episodes in one request, and note it; where that is refused, each
        in a request of its own."""
        try:
            await self._collector.send([part.trace for part in batch])
        except CollectorDownError:
            self._metrics.traces.labels("postponed").inc(len(batch))
            raise
        except TraceRefusedError as error:
            if len(batch) > 1:
                for part in batch:
                    await self._send([part])
            else:
                self._metrics.traces.labels("refused").inc()
                pause_s = await self._postpone(batch[0].row)
                log.warning(
                    "A part of a trace was refused; it is tried again.",
                    episode=batch[0].row.id,
                    step=batch[0].row.next_step,
                    why=str(error),
                    again_in_s=pause_s,
                )
            return
        self._metrics.traces.labels("sent").inc(len(batch))
        await self._exports.note({part.row.id: part.next for part in batch})

    async def _read_next_or_postpone(self, row: PendingTrace) -> _Part | None:
        """Make the next part of an episode's trace; None where that fails, which is a fault of ours
        and must not keep other episodes back."""
        try:
            return await self._read_next(row)
        except UnavailableError:
            raise
        except Exception:
            pause_s = await self._postpone(row)
            log.exception("A trace can't be made.", episode=row.id, again_in_s=pause_s)
            return None

    async def _postpone(self, row: PendingTrace) -> float:
        """Put off the next part of an episode's trace; return for how many seconds."""
        pause_s = retry_pause_s(row.attempts, EVERY_S, MAX_REFUSED_S)
        await self._exports.postpone(row.id, pause_s)
        return pause_s

    async def _read_next(self, row: PendingTrace) -> _Part:
        """Make spans of the next steps out of the log."""
        rewards, is_rest = await self._exports.final_rewards(row.id, row.next_step, STEPS)
        is_end = is_rest and row.status == "closed"
        outline = LogOutline(through=row.seq, after_step=row.next_step - 1)
        until = None if is_end else max(reward["through"] for reward in rewards)
        await self._read_log(row.id, outline, until)
        seq = outline.drop_open_step()
        outcome = await self._outcome(row, outline) if is_end else None
        episode = await self._describe(row)
        trace = trace_episode(episode, outline, rewards, outcome, content=self._content)
        return _Part(row, trace, None if is_end else NextPart(rewards[-1]["step"] + 1, seq))

    async def _read_log(self, episode: str, outline: LogOutline, until: int | None) -> None:
        """Read an episode's log into its outline, up to an event."""
        async for frame in self._sources.segments.frames(episode, outline.through):
            await asyncio.to_thread(_take_frame, outline, frame, until)
            if until is not None and outline.through >= until:
                return

    async def _outcome(self, row: PendingTrace, outline: LogOutline) -> TracedOutcome:
        """Read what the closed episode was worth, and into ``outline`` the agent's answer."""
        bodies = await self._sources.ledger.all(row.id)
        rewards: list[RewardJson] = [orjson.loads(body) for body in bodies]
        if self._content and outline.answer is None:
            whole = LogOutline()
            await self._read_log(row.id, whole, None)
            outline.answer = whole.answer
        return TracedOutcome(row.total, row.success, rewards)

    async def _describe(self, row: PendingTrace) -> TracedEpisode:
        """Return an episode as its trace names it, with the instruction where content may be
        sent."""
        instruction = None
        if self._content:
            ruleset = await self._sources.tasks.ruleset(row.task_number)
            instruction = ruleset.task.instruction
        return TracedEpisode(
            row.id,
            row.task,
            row.version,
            row.digest,
            unix_ns(row.opened_at),
            None if row.traceparent is None else TraceParent.parse(row.traceparent),
            orjson.loads(row.labels),
            instruction,
        )


def _take_frame(outline: LogOutline, frame: bytes, until: int | None) -> None:
    outline.take(decode_frame(frame), until)

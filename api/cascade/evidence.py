"""What a question leans on: an episode's events, the rules' own rewards and what is asked about
them, made of its log.

Kept for the episodes that were asked about last: the steps of one episode are asked about one after
the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from api.blame.causes import blame
from api.blame.judged import CRITERIA
from api.ingest.engine_size import EngineSize
from api.log.frames import decode_frame
from api.stages.base import Criterion, Question
from api.verdicts.escalations import PendingItem
from detectors.engine.engine import Engine
from detectors.engine.resolution import CAUSE
from detectors.model.caches import SizedCache
from detectors.model.memory import size_of
from detectors.model.rewards import reward_to_json
from detectors.model.types import Ask, Event, Reward
from detectors.sdk.rubric import Line
from detectors.sdk.tier_rules import is_judged
from detectors.task.ruleset import Ruleset
from detectors.task.task_json import task_to_json

KEPT_BYTES = 128 * 1024 * 1024
"""Bytes of the episodes that are kept as they were read."""
MOVED = Criterion(
    "c1",
    "This step brought what the task asks for closer to being done, and the recorded facts"
    " show it.",
)
"""Asked of a step where the task has no rubric for steps."""


@dataclass(slots=True)
class EpisodeEvidence:
    """One episode, as far as its log was read."""

    rules: Ruleset
    engine: Engine
    task: dict[str, object]
    events: list[Event] = field(default_factory=list)
    rewards: dict[int, Reward] = field(default_factory=dict)
    asks: dict[int, list[Ask]] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    read_bytes: int = 0
    """Bytes of the events, rewards and asks."""
    size: EngineSize = field(default_factory=EngineSize)

    @property
    def kept_bytes(self) -> int:
        """The bytes of memory that the kept evidence takes."""
        return self.read_bytes + self.size.bytes

    def take(self, frame: bytes) -> None:
        """Read the segment of ``frame``, which is the next one of the episode."""
        self.feed(decode_frame(frame))

    def feed(self, events: Sequence[Event]) -> None:
        """Feed events to the engine, and keep what it asks about."""
        outcome = self.engine.feed(events)
        read = size_of([events, outcome.rewards, outcome.asks])
        self.read_bytes += read
        self.size.grow(self.engine, read)
        asks = dict(self.asks)
        for ask in outcome.asks:
            asks[ask.step] = [*asks.get(ask.step, ()), ask]
        # A thread reads on while the loop looks at what is read: so what it goes through is
        # replaced, never changed.
        self.events += events
        self.asks = asks
        self.rewards = self.rewards | {reward.step: reward for reward in outcome.rewards}

    def ask(self, step: int, item: str) -> Ask | None:
        """What is asked about an item, or None where these rules ask nothing."""
        return next((one for one in self.asks.get(step, ()) if one.item == item), None)

    def question(self, ask: Ask) -> Question:
        """The question, as stages are asked it."""
        rewards = self.rewards
        reward = rewards[ask.step]
        whole = ask.item in ("goal", CAUSE) or (ask.item != "step" and self._of_end(ask.item))
        return Question(
            episode=self.engine.state.episode,
            step=ask.step,
            about="goal" if whole else "step",
            terminal=reward.done,
            task=self.task,
            criteria=self._criteria(ask.item),
            events=self.events[: reward.through],
            rewards=[one for step, one in rewards.items() if step <= ask.step],
            graded="all" if ask.item == "goal" else "share",
        )

    def leaves_cause_open(self) -> bool:
        """Return whether the events read so far do not decide why the episode failed."""
        state = self.engine.state
        rewards = [reward_to_json(reward) for reward in self.rewards.values()]
        found = blame(self.task, self.events, rewards, closed=True, success=state.success)
        return found["cause"] == "unknown"

    def _of_end(self, milestone: str) -> bool:
        return bool(
            self.rules.nodes[self.rules.tops[self.rules.index[milestone]]].args.ask == "end"
        )

    def _criteria(self, item: str) -> tuple[Criterion, ...]:
        """Return what an item is judged by: the causes, the task's rubric, or the milestone's
        own."""
        if item == CAUSE:
            return tuple(Criterion(cause, text, False) for cause, text in CRITERIA.items())
        policy = self.rules.task.escalation
        lines: tuple[Line, ...] = ()
        if item in ("step", "goal"):
            lines = (
                ()
                if policy is None
                else policy.rubric.step
                if item == "step"
                else policy.rubric.goal
            )
        else:
            node = self.rules.nodes[self.rules.tops[self.rules.index[item]]]
            lines = node.args.rubric if is_judged(node.rule) else ()
        if not lines and item == "step":
            return (MOVED,)
        return tuple(Criterion(line.id, line.text, line.required) for line in lines)


class Frames(Protocol):
    """What is read of the log."""

    def frames(self, episode: str, after: int = 0) -> AsyncIterator[bytes]:
        """Stored frames beyond event ``after``, in order."""


class Readings:
    """The episodes that were asked about last."""

    def __init__(self, log: Frames, max_bytes: int = KEPT_BYTES) -> None:
        self._log = log
        self.kept: SizedCache[str, EpisodeEvidence] = SizedCache(max_bytes)

    def forget(self) -> None:
        """Forget what was read: an episode was deleted."""
        self.kept.clear()

    async def read(self, asked: PendingItem, rules: Callable[[], Ruleset]) -> EpisodeEvidence:
        """The episode, read at least through the seal of the step that is asked about."""
        seen = self._evidence(asked.episode, rules)
        async with seen.lock:
            if asked.step not in seen.rewards:
                await self._read_on(asked.episode, seen)
        return seen

    async def read_on(self, episode: str, rules: Callable[[], Ruleset]) -> EpisodeEvidence:
        """The episode, read as far as its log goes now."""
        seen = self._evidence(episode, rules)
        async with seen.lock:
            await self._read_on(episode, seen)
        return seen

    def _evidence(self, episode: str, rules: Callable[[], Ruleset]) -> EpisodeEvidence:
        """What is kept of the episode, or the beginning of it."""
        seen = self.kept.get(episode)
        if seen is None:
            found = rules()
            seen = EpisodeEvidence(found, Engine(found, episode), task_to_json(found.task))
            self.kept.put(episode, seen, seen.kept_bytes, found.shared)
        return seen

    async def _read_on(self, episode: str, seen: EpisodeEvidence) -> None:
        """Read the events that came since, and keep the reading unless the episode was deleted
        meanwhile."""
        async for frame in self._log.frames(episode, seen.engine.through):
            await asyncio.to_thread(seen.take, frame)
        if self.kept.get(episode) is seen:  # it may have been deleted meanwhile
            self.kept.put(episode, seen, seen.kept_bytes, seen.rules.shared)

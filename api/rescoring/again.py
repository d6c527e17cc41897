"""Everything that the rules ask, asked anew: `milestoned rescore --ask-again`, the one replay that
asks anybody.

What a person said is kept and stands above; what else was recorded is not used. The questions go
the way of the service's own (api/cascade/asking.py), on budgets that count within the run. What an
audit's lot draws is not asked: it would change nothing. A clock is read and peers are heard here,
so what comes of it enters the result as the words of a log of verdicts.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import structlog

from api.cascade.asking import Asker, Later, event_of, make_spared_row
from api.cascade.evidence import EpisodeEvidence
from api.cascade.stages import Stages
from api.core.errors import ProblemError
from api.core.metrics import Metrics
from api.core.settings import StageSettings
from api.replay.recordings import RecordingError, read_frames
from api.rescoring.offline_questions import Run, forget, opened
from api.rescoring.work import Material, said_of
from api.rewards.scored_episode import ruleset_of
from api.verdicts.escalations import GOAL, PendingItem
from api.verdicts.recorded import DECIDED, GIVEN, words_of
from api.verdicts.words import abstention
from detectors.engine.engine import Engine
from detectors.engine.resolution import decide, needs_goal, next_tier, waits, waits_for_goal
from detectors.model.optional_values import drop_keys
from detectors.model.types import Ask
from detectors.task.task_json import TaskError, task_to_json

EPISODES = 16
"""Episodes that are asked about at once: with all their events they are in memory together."""
AHEAD = 4
"""Questions in work for each call that may run."""
PATIENCE_S = 60.0
"""The longest that a stage out of reach is asked again: no trainer waits, and a run over a corpus
has to end."""
FOR_EVER_S = 1e9
"""The lease of a question: whoever asked it before is this run, or gone."""

Words = list[dict[str, Any]]
log = structlog.get_logger(__name__)


class Again:
    """Asks for a run. ``path``: where its answers are kept until the run is `done`, so that it can
    ``go_on``."""

    def __init__(
        self,
        stages: Stages,
        settings: StageSettings,
        path: Path | None = None,
        *,
        go_on: bool = False,
    ) -> None:
        self._stages, self._settings = stages, replace(settings, lease_s=FOR_EVER_S)
        self._path, self._go_on = path, go_on
        most = AHEAD * settings.at_once * max(1, sum(map(len, stages.by_tier.values())))
        self._places = asyncio.Semaphore(most)
        self._begun: deque[asyncio.Task[Material]] = deque()
        self._open = AsyncExitStack()
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        self._loop = self._closing.enter_context(asyncio.Runner())
        self._closing.callback(lambda: self._loop.run(self._stop()))
        self._loop.run(self._begin())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._closing.close()

    async def _begin(self) -> None:
        self._open.push_async_callback(self._stages.close)
        self._run: Run = await self._open.enter_async_context(opened(self._path, go_on=self._go_on))
        self._asker = Asker(
            self._run.opinions, Metrics(lambda: 0), self._stages, self._settings, PATIENCE_S
        )

    def finish(self) -> None:
        """The results are whole: the answers need not be kept beside them any more."""
        self._closing.close()
        if self._path is not None:
            forget(self._path)

    def spent(self) -> dict[str, float]:
        """The calls and the money of the whole run."""
        calls, cost = self._loop.run(self._run.spent())
        return {"calls": calls, "cost": round(cost, 9)}

    def ask_all(self, materials: Iterator[Material]) -> Iterator[Material]:
        """Each of ``materials``, in order, with what was said anew."""
        for one in materials:
            self._begun.append(self._loop.get_loop().create_task(self._ask_again(one)))
            if len(self._begun) >= EPISODES:
                yield self._loop.run(self._first())
        while self._begun:
            yield self._loop.run(self._first())

    async def _first(self) -> Material:
        told = await self._begun[0]
        self._begun.popleft()
        return told

    async def _stop(self) -> None:
        """Let go, of what is asked first."""
        for task in self._begun:
            task.cancel()
        await asyncio.gather(*self._begun, return_exceptions=True)
        await self._open.aclose()

    async def _ask_again(self, material: Material) -> Material:
        """Ask about an episode anew, and return it with the new words; one that can't be read comes
        back as it is."""
        if material.wrong is not None:
            return material
        try:
            seen, said = await asyncio.to_thread(_read, material)
        except (RecordingError, TaskError):
            return material  # whoever scores it says why it can't be
        asked = PendingItem("", 0, "", False, 0, 0.0, material.tenant, seen.rules.task.id, 0)
        asked = asked._replace(episode=seen.engine.state.episode)
        words = await self._steps(asked, seen, said)
        return material._replace(anew=[{**one, "seq": seq} for seq, one in enumerate(words, 1)])

    async def _steps(
        self, asked: PendingItem, seen: EpisodeEvidence, said: Sequence[Mapping[str, object]]
    ) -> Words:
        """The words on all steps, in their order; where the task says so, the goal's were said
        first."""
        steps = sorted(seen.asks)
        first: list[int] = []
        failed = False
        told: dict[int, Words] = {}
        if waits_for_goal(seen.rules):
            first = [step for step in steps if _asks_about_goal(seen.asks[step])]
        for step in first:
            told[step] = await self._step(asked._replace(step=step), seen, said)
        if waits_for_goal(seen.rules):
            failed = _failed(seen, told)
        others = [step for step in steps if step not in told]
        found = await asyncio.gather(
            *(self._step(asked._replace(step=step), seen, said, failed=failed) for step in others)
        )
        told |= dict(zip(others, found, strict=True))
        return [one for step in steps for one in told[step]]

    async def _step(
        self,
        asked: PendingItem,
        seen: EpisodeEvidence,
        said: Sequence[Mapping[str, object]],
        *,
        failed: bool = False,
    ) -> Words:
        """A step's words and that it is decided by them; nothing where only an audit asks.
        ``failed``: the episode did, so that its judge is spared."""
        asks = [ask for ask in seen.asks[asked.step] if not ask.audit]
        if not waits(asks):
            return []
        people = [
            _as_new_event(one) for one in said if one["step"] == asked.step and _by_person(one)
        ]
        told = await asyncio.gather(
            *(
                self._item(asked._replace(item=ask.item), ask, seen, people, failed=failed)
                for ask in asks
            )
        )
        named = {"episode": asked.episode, "step": asked.step}
        words = [*people, *(one for of_item in told for one in of_item)]
        return [one | named for one in [*words, {"kind": DECIDED}]]

    async def _item(
        self,
        asked: PendingItem,
        ask: Ask,
        seen: EpisodeEvidence,
        people: Words,
        *,
        failed: bool = False,
    ) -> Words:
        """What the tiers say on one item, one after the other, as far as they have to."""
        given: Words = []
        async with self._places:
            began, reward = time.monotonic(), seen.rewards[ask.step]
            while (
                tier := next_tier(seen.rules, reward, ask, words_of([*people, *given]))
            ) is not None:
                if failed and needs_goal(seen.rules, ask, tier):
                    spare = make_spared_row(asked, tier, reward.through).data or {}
                    given.append({"kind": GIVEN, "item": ask.item, "audit": False, **spare})
                    continue
                data = await self._say(asked, ask, seen, tier, time.monotonic() - began)
                if isinstance(data, Later):
                    await asyncio.sleep(data.after_s)
                    asked = asked._replace(attempts=asked.attempts + 1)
                    continue
                asked = asked._replace(attempts=0)
                given.append({"kind": GIVEN, "item": ask.item, "audit": False, **data})
        return given

    async def _say(
        self, asked: PendingItem, ask: Ask, seen: EpisodeEvidence, tier: str, waited_s: float
    ) -> Mapping[str, object] | Later:
        """Ask a tier, and keep what it costs; a fault of the tier is an abstention."""
        try:
            said = await self._asker.say(asked, ask, seen, tier, waited_s)
        except ProblemError:
            raise  # the run's own answers can't be kept: nothing may be asked then
        except Exception as error:  # a fault of the stage, before it was asked
            log.exception("A question can't be put.", stage=tier, what=asked.key)
            why = f"the {tier} failed: {type(error).__name__}"
            return event_of(abstention(tier, why), seen.rewards[ask.step].through)
        if isinstance(said, Later):
            return said
        if said.asking is not None:
            await self._run.opinions.keep(said.asking, said.kept, said.calls, said.cost)
        self._asker.holding.pop(asked.key, None)
        assert said.data is not None, "a tier that is asked says something"
        return said.data


def _asks_about_goal(asks: Sequence[Ask]) -> bool:
    """Whether the goal itself is asked about, and not only for an audit."""
    return any(ask.item == GOAL and not ask.audit for ask in asks)


def _failed(seen: EpisodeEvidence, told: Mapping[int, Words]) -> bool:
    """Whether an episode failed, by its rules and by the words on its last step."""
    last = max(seen.rewards, default=None)
    if last is None or not seen.rewards[last].done:
        return False
    words = words_of([one for one in told.get(last, ()) if one["kind"] == GIVEN])
    final = decide(seen.rules, seen.rewards[last], seen.asks.get(last, []), words)
    return final.success is False


def _read(material: Material) -> tuple[EpisodeEvidence, Words]:
    """The episode under the task, and its recorded words. Raises `RecordingError`, `TaskError`."""
    rules, seen = ruleset_of(material.task), None
    for segment in read_frames(material.content, material.name):
        seen = seen or EpisodeEvidence(
            rules, Engine(rules, segment.episode), task_to_json(rules.task)
        )
        seen.feed(segment.events)
        del segment  # before the next one is read: of a bomb no two are in memory
    assert seen is not None
    return seen, said_of(material)


def _by_person(event: Mapping[str, Any]) -> bool:
    return bool(event["kind"] == GIVEN and event["verdict"]["stage"] == "person")


def _as_new_event(event: Mapping[str, object]) -> dict[str, Any]:
    """A recorded word in the new log, whose numbers and chain are another's."""
    return drop_keys(event, ("seq", "prev")) | {"audit": False}

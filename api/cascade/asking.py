"""One question put to one tier: deduplicated, billed, asked, checked. What comes of it is kept by
whoever asked.

The worker of a service asks so for its queue, and a rescore that asks again for its corpus.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import structlog

from api.cascade.evidence import EpisodeEvidence
from api.cascade.reading_ahead import let_read
from api.cascade.spending import budgets_of
from api.cascade.stages import Stages
from api.cascade.store import VerdictRow
from api.core.metrics import Metrics
from api.core.settings import StageSettings
from api.db.database import now
from api.stages.base import Opinion, Question, Stage
from api.verdicts.escalations import Item, PendingItem
from api.verdicts.opinions import Asking, Key, Opinions
from api.verdicts.words import abstention, check_opinion, stored_form
from detectors.model.types import Ask
from detectors.task.language import Budget

BACK_OFF_S = 1.0
MAX_RETRY_S = 60.0
BUSY_S = 0.2
"""When to look again for an answer that somebody else waits for."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Tier:
    """A stage, and how many calls of it may run at once."""

    stage: Stage
    at_once: asyncio.Semaphore


class Later(NamedTuple):
    """There is no answer yet: ask again after so many seconds."""

    after_s: float


class Asker:
    """Asks the stages. ``holding``: the questions that are being asked, by whom they are asked for.

    ``patience_s``: the longest that a stage out of reach is asked again, where that is less than
    the task's.
    """

    def __init__(
        self,
        opinions: Opinions,
        metrics: Metrics,
        stages: Stages,
        settings: StageSettings,
        patience_s: float = float("inf"),
    ) -> None:
        self._opinions, self._metrics, self._off = opinions, metrics, stages.off
        self._budgets, self._lease_s, self._patience_s = (
            settings.budgets,
            settings.lease_s,
            patience_s,
        )
        self._tiers = {
            name: [Tier(stage, asyncio.Semaphore(settings.at_once)) for stage in listed]
            for name, listed in stages.by_tier.items()
        }
        self.holding: dict[Item, Asking] = {}

    async def say(
        self, asked: PendingItem, ask: Ask, seen: EpisodeEvidence, tier: str, waited_s: float
    ) -> VerdictRow | Later:
        """What the tier says, as it is to be kept."""
        said = VerdictRow(asked.episode, asked.step, asked.item, None)
        through = seen.rewards[asked.step].through
        listed = self._tiers.get(tier)
        if not listed:
            return said._replace(
                data=event_of(abstention(tier, self._off.get(tier, f"the {tier} is off")), through)
            )
        question = seen.question(ask)
        policy = seen.rules.task.escalation
        assert policy is not None, "only tasks with a policy ask"
        chosen = listed[(asked.step + asked.attempts) % len(listed)]
        budgets = budgets_of(asked, policy.budget, self._budgets, now()[:10])
        await let_read(chosen.stage, question.episode, question.task, question.events)
        asking = await _asking(chosen.stage, question, tier, budgets)
        begun = await self._opinions.begin(asking, self._lease_s)
        self._metrics.escalations.labels(tier, begun.state).inc()
        if begun.state == "known":
            assert begun.body is not None
            free = {**begun.body, "verdict": {**begun.body["verdict"], "cost": 0.0}}
            return said._replace(data={**free, "question": asking.digest, "cached": True})
        if begun.state == "busy":
            if waited_s >= policy.patience_s:
                why = (
                    f"no answer in {policy.patience_s:g} s: others who ask hold the question, or"
                    " what may be spent"
                )
                return said._replace(data=event_of(abstention(tier, why), through))
            return Later(BUSY_S * random.uniform(0.5, 1.5))
        if begun.state == "spent":
            return said._replace(data=event_of(abstention(tier, begun.why), through))
        self.holding[asked.key] = asking
        patience_s = min(self._patience_s, policy.patience_s)
        return await self._ask(chosen, question, said, asking, asked, waited_s, patience_s)

    async def _ask(
        self,
        tier: Tier,
        question: Question,
        said: VerdictRow,
        asking: Asking,
        asked: PendingItem,
        waited_s: float,
        patience_s: float,
    ) -> VerdictRow | Later:
        """Ask a stage one question, count what it took, and return its opinion as a row to keep, or
        when to ask again."""
        async with tier.at_once:
            began = time.monotonic()
            opinion = await _opinion(tier.stage, question, asking.stage)
        self._metrics.stage_seconds.labels(asking.stage).observe(time.monotonic() - began)
        through = question.rewards[-1].through
        cost = opinion.verdict.cost
        self._metrics.stage_cost.labels(asking.stage).inc(cost)
        used = opinion.record.get("calls")
        unsaid = 0 if opinion.again else asking.calls
        calls = used if asking.calls and type(used) is int and used >= 0 else unsaid
        if not opinion.again:
            body = stored_form(opinion, through)
            data = {
                **body,
                "question": asking.digest,
                "cached": False,
                "seconds": round(time.monotonic() - began, 3),
            }
            self._metrics.verdicts.labels(asking.stage, _outcome(opinion)).inc()
            return said._replace(data=data, asking=asking, kept=body, calls=calls, cost=cost)
        if waited_s < patience_s:
            await self._opinions.again(asking, calls, cost)
            self.holding.pop(asked.key, None)
            pause = max(BUSY_S / 2, min(pause_s(asked.attempts), patience_s - waited_s))
            log.info(
                "A stage can't be asked now.",
                stage=asking.stage,
                why=opinion.verdict.why,
                again_in_s=pause,
            )
            return Later(pause)
        why = f"no answer in {patience_s:g} s: {opinion.verdict.why}"
        data = event_of(abstention(asking.stage, why), through)
        return said._replace(
            data={**data, "question": asking.digest}, asking=asking, calls=calls, cost=cost
        )


def make_spared_row(asked: PendingItem, tier: str, through: int) -> VerdictRow:
    """What is kept of a step that nobody is asked about, since its episode failed."""
    why = "the episode failed, so nobody was asked about its steps (goal_first)"
    return VerdictRow(
        asked.episode, asked.step, asked.item, event_of(abstention(tier, why), through)
    )


async def _asking(
    stage: Stage, question: Question, tier: str, budgets: Mapping[Key, Budget]
) -> Asking:
    """Return what is about to be asked, with the calls that it may take at most and the budgets
    that these count against."""
    # Cleaning a long log takes its time; who keeps what it read does so for one thread alone.
    alone = getattr(stage, "one_thread", False)
    digest = stage.digest(question) if alone else await asyncio.to_thread(stage.digest, question)
    most = getattr(stage, "most_calls", None)
    calls = 0 if tier != "judge" else 1 if most is None else most(question)
    return Asking(tier, digest, question.episode, calls, budgets)


async def _opinion(stage: Stage, question: Question, tier: str) -> Opinion:
    """What the stage says. A fault of it is no answer: asked again later, and when patience ends an
    abstention."""
    try:
        return check_opinion(await stage.ask(question), tier)
    except Exception as error:
        log.exception("A stage failed unexpectedly.", stage=tier)
        return replace(abstention(tier, f"the {tier} failed: {type(error).__name__}"), again=True)


def pause_s(attempts: int) -> float:
    """Longer with each attempt, and spread, so that who failed together does not come back
    together."""
    doubled = BACK_OFF_S * float(2 ** min(attempts, 16))
    return min(MAX_RETRY_S, doubled) * random.uniform(0.5, 1.0)


def event_of(opinion: Opinion, through: int) -> dict[str, object]:
    """The event of an opinion that no question was put for."""
    return {**stored_form(opinion, through), "question": None, "cached": False}


def _outcome(opinion: Opinion) -> str:
    """Return how an answer counts: scored, disagreed or abstained."""
    if opinion.verdict.score is not None:
        return "scored"
    return "disagreed" if opinion.record.get("outcome") == "disagreed" else "abstained"

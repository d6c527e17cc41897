"""Finds out what samples were worth, each on its own, in order: one that can't be scored spoils no
other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypedDict

import orjson

from api.core.errors import NotFoundError, ProblemError
from api.core.notify import Deadline, Notifier, log_of
from api.episodes.rows import EpisodeRow
from api.episodes.store import Episodes
from api.rewards.ledger import ESCALATING, Ledger
from api.rewards.rewards import RewardReader
from api.scoring.cause_masks import CauseMasks
from api.scoring.fold import RewardFolding, fold, known_share
from api.scoring.penalties import seen_penalties
from api.scoring.reference import Reference
from api.scoring.score import SampleScore
from api.scoring.stateless import score_answer
from api.tasks.store import Tasks
from detectors.model.optional_values import without_none
from detectors.model.rewards import RewardJson, encode_reward, total
from detectors.model.types import Status

SETTLING = "milestoned:settling"
FAILURES = {
    "settling": SETTLING,
    "escalating": "milestoned:escalating",
    "unscored": "milestoned:unscored",
    "masked": "milestoned:masked",
}
"""By a reward's status, where it has no value; of all others nobody can know it."""
UNOBSERVED = "milestoned:unobserved"


@dataclass(frozen=True, slots=True)
class ScoredSample:
    """What is to be scored: a reference, and for one to a task the agent's final answer."""

    reference: Reference
    answer: str | None = None


def episodes_of(samples: Iterable[ScoredSample | ProblemError]) -> set[str]:
    """Return the episodes that the samples name."""
    named = {one.reference.episode for one in samples if isinstance(one, ScoredSample)}
    return {episode for episode in named if episode is not None}


class Scorer:
    """The scores of one service."""

    def __init__(
        self,
        rewards: RewardReader,
        ledger: Ledger,
        episodes: Episodes,
        tasks: Tasks,
        notifier: Notifier,
        masks: CauseMasks,
    ) -> None:
        self._rewards, self._ledger, self._episodes = rewards, ledger, episodes
        self._tasks, self._notifier, self._masks = tasks, notifier, masks

    async def score(
        self, tenant: str, sample: ScoredSample, folding: RewardFolding, deadline: Deadline
    ) -> SampleScore:
        """What the sample was worth, if ``tenant`` may know it. Raises `NotFoundError`."""
        where = sample.reference
        if where.episode is None:
            return await self._answer(tenant, sample)
        await self._episodes.owned(tenant, where.episode)
        if where.step is not None:
            return await self._step(tenant, where.episode, where.step, folding, deadline)
        return await self._episode(where.episode, folding, deadline)

    async def score_all(
        self,
        tenant: str,
        samples: Sequence[ScoredSample | ProblemError],
        folding: RewardFolding,
        deadline: Deadline,
    ) -> list[SampleScore | ProblemError]:
        """Every sample's score or problem, in order; problems that came along stay where they
        are."""

        async def score_sample(sample: ScoredSample | ProblemError) -> SampleScore | ProblemError:
            """Return a sample's score, or the problem that it has."""
            if isinstance(sample, ProblemError):
                return sample
            try:
                return await self.score(tenant, sample, folding, deadline)
            except ProblemError as problem:
                return problem

        return list(await asyncio.gather(*map(score_sample, samples)))

    async def _answer(self, tenant: str, sample: ScoredSample) -> SampleScore:
        """Score an answer alone, without an episode."""
        row = await self._tasks.find(tenant, sample.reference.task or "", sample.reference.version)
        reward = score_answer(await self._tasks.ruleset(row.number), sample.answer or "")
        document = orjson.loads(encode_reward(reward))
        return _build_score(
            [document], document["reward"], document, None, None, row.id, RewardFolding()
        )

    async def _step(
        self, tenant: str, episode: str, step: int, folding: RewardFolding, deadline: Deadline
    ) -> SampleScore:
        """Return a step's reward as a score, masked by its cause where that is asked for."""
        document = orjson.loads(await self._rewards.read(tenant, episode, step, deadline))
        row = await self._episodes.get(episode)
        if folding.mask_causes and document["reward"] is not None:
            sealed = [orjson.loads(body) for body in await self._ledger.all(episode)]
            viewed, _ = await self._masks.of_steps(row, sealed, folding.mask_causes)
            document = next((one for one in viewed if one["step"] == step), document)
        return _build_score(
            [document], document["reward"], document, episode, step, row.task, RewardFolding()
        )

    async def last_turn(
        self, tenant: str, episode: str, step: int, deadline: Deadline
    ) -> SampleScore:
        """What ``step`` and the episode's close after it were worth together, once closed."""
        await self._episodes.owned(tenant, episode)
        return await self._episode(episode, RewardFolding(), deadline, step)

    async def _episode(
        self, episode: str, folding: RewardFolding, deadline: Deadline, since: int = 0
    ) -> SampleScore:
        """Return an episode's score once it is closed and decided, as far as the deadline
        allows."""
        row = await self._closed(episode, deadline)
        await self._answered(row, deadline)
        row = await self._episodes.get(episode)
        steps = [
            one
            for one in map(orjson.loads, await self._ledger.all(episode))
            if one["step"] >= since
        ]
        if row.status != "closed":
            why = f"the episode is {row.status}, not closed; the log is at event {row.through}"
            last: LastStep = {
                "status": "settling",
                "reason": why,
                "digest": row.digest,
                "done": False,
                "success": None,
            }
            return _build_score(steps, None, last, episode, None, row.task, folding)
        if not steps:
            raise NotFoundError(
                f"episode: {episode} was closed without a step, so nothing was scored"
            )
        masked = next((step for step in steps if step["reward"] is None), steps[-1])
        last = {
            "status": masked["status"],
            "reason": masked["reason"],
            "digest": masked["digest"],
            "done": True,
            "success": row.success,
        }
        if await self._mask(row, steps, folding, last):
            return _build_score(steps, None, last, episode, None, row.task, folding)
        if folding.how != "known":
            value = fold([step["reward"] for step in steps], folding)
            return _build_score(steps, value, last, episode, None, row.task, folding)
        asked = next((step for step in steps if step["status"] == ESCALATING), None)
        if asked is not None:  # it will be known, and what is answered now is the answer for ever
            last |= {"status": asked["status"], "reason": asked["reason"]}
            return _build_score(steps, None, last, episode, None, row.task, folding)
        penalties = await self._penalties(row.task_number, steps)
        value = fold([step["reward"] for step in steps], folding, list(penalties.values()))
        last["reason"] = _too_little(steps, folding.min_known, masked)
        return _build_score(steps, value, last, episode, None, row.task, folding, penalties)

    async def _mask(
        self, row: EpisodeRow, steps: Sequence[RewardJson], folding: RewardFolding, last: LastStep
    ) -> bool:
        """Whether a closed episode is masked by its cause; then ``last`` says why."""
        if not folding.mask_causes:
            return False
        reason = await self._masks.of_episode(row, steps, folding.mask_causes)
        if reason is None:
            return False
        last["status"], last["reason"] = "masked", reason
        return True

    async def _penalties(self, task: int, steps: Sequence[RewardJson]) -> dict[str, float]:
        """What was seen to be penalised in steps that are not known, by component.

        Raises `RulesetChangedError` where the rules are another build's.
        """
        if not any(
            m["worth"] < 0 for step in steps if step["reward"] is None for m in step["milestones"]
        ):
            return {}
        return seen_penalties(await self._tasks.ruleset(task), steps)

    async def _answered(self, row: EpisodeRow, deadline: Deadline) -> None:
        """Wait for what is asked beyond the rules about a closed episode."""
        if row.status == "closed" and row.total is None:
            for document in map(orjson.loads, await self._ledger.all(row.id)):
                if document["status"] == ESCALATING:
                    await self._rewards.read(row.tenant, row.id, document["step"], deadline)

    async def _closed(self, episode: str, deadline: Deadline) -> EpisodeRow:
        """Wait until the episode is closed, or the deadline; return its row."""
        while True:
            changed = self._notifier.watch(log_of(episode))
            row = await self._episodes.get(episode)
            if row.status == "closed" or not await self._notifier.wait(
                changed, deadline.remaining_s()
            ):
                return row


class LastStep(TypedDict):
    """What a score has of the step that decides it: the last one, or the first that is masked."""

    status: Status
    reason: str | None
    digest: str
    done: bool
    success: bool | None


def _build_score(
    steps: Sequence[RewardJson],
    value: float | None,
    last: LastStep,
    episode: str | None,
    step: int | None,
    task: str | None,
    folding: RewardFolding,
    penalties: Mapping[str, float] = MappingProxyType({}),
) -> SampleScore:
    """Return a score with its components, step rewards and what is known of them."""
    rewards = [document["reward"] for document in steps]
    return SampleScore(
        reward=value,
        reward_components=_components(steps, folding, penalties, known=value is not None),
        step_rewards=rewards,
        known_share=known_share(rewards) if last["status"] != "settling" else None,
        milestones=sum(len(document["milestones"]) for document in steps),
        success=last["success"],
        done=last["done"],
        episode=episode,
        step=step,
        task=task,
        digest=last["digest"],
        failure_kind=None if value is not None else FAILURES.get(last["status"], UNOBSERVED),
        failure_reason=None if value is not None else last["reason"],
    )


def _components(
    steps: Sequence[RewardJson],
    folding: RewardFolding,
    penalties: Mapping[str, float],
    *,
    known: bool,
) -> dict[str, float | None]:
    """The parts of the reward, folded as it is; null where it is null."""
    names = list(dict.fromkeys(name for document in steps for name in document["components"]))
    if not known:
        return dict.fromkeys(names)
    parts = {name: [document["components"].get(name, 0.0) for document in steps] for name in names}
    if folding.how != "known":
        return {name: fold(part, folding) for name, part in parts.items()}
    return {
        name: total((*without_none(part), penalties.get(name, 0.0))) for name, part in parts.items()
    }


def _too_little(steps: Sequence[RewardJson], wanted: float, masked: RewardJson) -> str:
    known = sum(step["reward"] is not None for step in steps)
    share = f"{known} of {len(steps)} steps are known, wanted a share of {wanted:g}"
    return f"{share}; step {masked['step']}: {masked['reason']}"

"""The episodes of one group, ordered: by what the rules paid, ties by the tiers of the task."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from api.core.described import Described
from api.core.errors import InvalidError
from api.core.notify import Deadline
from api.episodes.rows import EpisodeRow
from api.episodes.store import Episodes
from api.rewards.ledger import Ledger
from api.scoring.fold import RewardFolding
from api.scoring.ranking import (
    DIGITS,
    Basis,
    Key,
    RankedPlace,
    Scale,
    find_ties,
    normalise_advantages,
    rank_keys,
)
from api.scoring.reference import Reference
from api.scoring.score import SampleScore
from api.scoring.scorer import FAILURES, ScoredSample, Scorer
from api.scoring.ties import Answer, ClosedEpisode, TieBreaker
from api.tasks.store import Tasks
from detectors.task.language import Escalation

UNSETTLED = (FAILURES["settling"], FAILURES["escalating"])
"""Failures of a score that is not final yet."""
NO_TIERS = "no tier was asked: the task has no escalation"
NOT_ASKED = "no tier was asked: the request says so"


class GroupPart(Described):
    """A part of a scored group; a text below a field is its description in the OpenAPI document."""


class TierResult(GroupPart):
    """What a tier says of an episode in a tie."""

    episode: str
    tier: str
    score: float | None
    """Null where it abstains, and `why` says why."""
    confidence: float
    """From 0 to 1."""
    why: str
    by: str
    """Who answered: the digest of the model or judge, or a person."""
    evidence: list[int]
    """The numbers of the events on which it depends."""
    used: bool
    """Whether the tie was ordered by it."""


class TieResult(GroupPart):
    """Episodes to which the rules paid the same."""

    episodes: list[str]
    reward: float
    by: list[str]
    """The tiers that order some of them, in turn."""
    verdicts: list[TierResult]
    reason: str | None
    """Why those that are still equal are."""


class MemberResult(GroupPart):
    """One episode of a group. `rank`, `score` and `advantage` are null while the group is not
    complete, and for ever where `mask_sample` is true."""

    episode: str
    reward: float | None
    known_share: float | None
    success: bool | None
    milestones: list[str]
    """The ids of those that were reached."""
    rank: int | None
    """1 is the best."""
    score: float | None
    """The share of the other known episodes that it is better than, an equal one counting half;
    from 0 to 1."""
    advantage: float | None
    mask_sample: bool
    failure_kind: str | None
    failure_reason: str | None


class GroupResult(GroupPart):
    """A scored group of episodes of one task."""

    task: str
    version: str
    digest: str
    complete: bool
    """False while an episode is open or something was not answered in time: ask again."""
    known: int
    """How many rewards are known."""
    results: list[MemberResult]
    """In the order in which the episodes were named."""
    ties: list[TieResult]


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """How a group is scored. ``basis``: what advantages are computed from."""

    folding: RewardFolding
    basis: Basis
    scale: Scale
    ask_tiers: bool


class GroupScorer:
    """Scores groups of one service."""

    def __init__(
        self,
        scorer: Scorer,
        ledger: Ledger,
        episodes: Episodes,
        tasks: Tasks,
        tie_breaker: TieBreaker,
    ) -> None:
        self._scorer, self._ledger, self._episodes = scorer, ledger, episodes
        self._tasks, self._tie_breaker = tasks, tie_breaker

    async def score(
        self, tenant: str, named: Sequence[str], options: GroupOptions, deadline: Deadline
    ) -> GroupResult:
        """Score the episodes ``named``. Raises `NotFoundError` and, where they are not one group,
        `InvalidError`."""
        rows = [await self._row(tenant, episode) for episode in named]
        _check_one_group(rows)
        scores = await asyncio.gather(
            *(self._score(tenant, row.id, options.folding, deadline) for row in rows)
        )
        complete = all(score.failure_kind not in UNSETTLED for score in scores)
        ordering = _Ordering(rows, scores)
        rules = await self._tasks.ruleset(rows[0].task_number)
        policy = rules.task.escalation
        for tie in ordering.ties:
            if policy is None:
                tie.reason = NO_TIERS
            elif not options.ask_tiers:
                tie.reason = NOT_ASKED
            elif complete:
                complete = await self._break_tie(ordering, tie, policy, deadline)
        return await self._group(ordering, options, complete=complete)

    async def _row(self, tenant: str, episode: str) -> EpisodeRow:
        await self._episodes.owned(tenant, episode)
        return await self._episodes.get(episode)

    async def _score(
        self, tenant: str, episode: str, folding: RewardFolding, deadline: Deadline
    ) -> SampleScore:
        sample = ScoredSample(Reference(episode))
        return await self._scorer.score(tenant, sample, folding, deadline)

    async def _break_tie(
        self, ordering: _Ordering, tie: TieResult, policy: Escalation, deadline: Deadline
    ) -> bool:
        """Ask the task's tiers in their order until no two are equal; False if time is up."""
        for tier in policy.tiers:
            for positions in ordering.find_equal(tie.episodes):
                rows = [ordering.rows[position] for position in positions]
                answers = await self._ask_each(rows, tier, deadline)
                if any(answer is None for answer in answers):
                    tie.reason = f"the {tier} has not answered in time"
                    return False
                verdicts = [
                    _tier_score(row.id, tier, answer, policy.confident)
                    for row, answer in zip(rows, answers, strict=True)
                    if answer is not None
                ]
                ordering.apply(tie, tier, positions, verdicts)
        if ordering.find_equal(tie.episodes):
            tie.reason = "no tier that was asked tells these apart"
        return True

    async def _ask_each(
        self, rows: Sequence[EpisodeRow], tier: str, deadline: Deadline
    ) -> list[Answer | None]:
        return list(await asyncio.gather(*(self._ask(row, tier, deadline) for row in rows)))

    async def _ask(self, row: EpisodeRow, tier: str, deadline: Deadline) -> Answer | None:
        last_step = await self._ledger.last_step(row.id)
        assert last_step is not None, "an episode without a step has no score"
        return await self._tie_breaker.ask(ClosedEpisode(row, last_step), tier, deadline)

    async def _group(
        self, ordering: _Ordering, options: GroupOptions, *, complete: bool
    ) -> GroupResult:
        """Return the group as it is answered; ranks and advantages once it is ``complete``."""
        places: list[RankedPlace | None] = [None] * len(ordering.keys)
        if complete:
            places = list(rank_keys(ordering.keys))
        basis: list[float | None] = []
        for place, score in zip(places, ordering.scores, strict=True):
            if place is None:
                basis.append(None)
            elif options.basis == "rank":
                basis.append(place.score)
            else:
                basis.append(score.reward)
        advantages = normalise_advantages(basis, options.scale)
        results: list[MemberResult] = []
        for row, score, place, advantage in zip(
            ordering.rows, ordering.scores, places, advantages, strict=True
        ):
            results.append(
                MemberResult(
                    episode=row.id,
                    reward=score.reward,
                    known_share=score.known_share,
                    success=score.success,
                    milestones=await self._milestones(row.id),
                    rank=place.rank if place is not None else None,
                    score=place.score if place is not None else None,
                    advantage=advantage,
                    mask_sample=score.mask_sample or not complete,
                    failure_kind=score.failure_kind,
                    failure_reason=score.failure_reason,
                )
            )
        first = ordering.rows[0]
        return GroupResult(
            task=first.task,
            version=first.version,
            digest=first.digest,
            complete=complete,
            known=sum(key is not None for key in ordering.keys),
            results=results,
            ties=ordering.ties,
        )

    async def _milestones(self, episode: str) -> list[str]:
        """Return the ids of the milestones that were credited, in their order."""
        rewards = map(orjson.loads, await self._ledger.all(episode))
        earned = (milestone["id"] for reward in rewards for milestone in reward["milestones"])
        return list(dict.fromkeys(earned))


class _Ordering:
    """The episodes of a group with what orders them: a key each, or None for what is not known."""

    def __init__(self, rows: Sequence[EpisodeRow], scores: Sequence[SampleScore]) -> None:
        self.rows, self.scores = rows, scores
        self.keys: list[Key | None] = [
            None if score.reward is None else (round(score.reward, DIGITS),) for score in scores
        ]
        self._positions = {row.id: position for position, row in enumerate(rows)}
        self.ties = [self._tie(positions) for positions in find_ties(self.keys)]

    def _tie(self, positions: Sequence[int]) -> TieResult:
        key = self.keys[positions[0]]
        assert key is not None
        episodes = [self.rows[position].id for position in positions]
        return TieResult(episodes=episodes, reward=key[0], by=[], verdicts=[], reason=None)

    def find_equal(self, episodes: Sequence[str]) -> list[list[int]]:
        """Return the positions of those of ``episodes`` that are still equal, group by group."""
        positions = [self._positions[episode] for episode in episodes]
        ties = find_ties([self.keys[position] for position in positions])
        return [[positions[index] for index in tie] for tie in ties]

    def apply(
        self, tie: TieResult, tier: str, positions: Sequence[int], verdicts: Sequence[TierResult]
    ) -> None:
        """Order the equal episodes at ``positions`` by a tier's scores, where it scored all of
        them and not all the same."""
        scores = [verdict.score for verdict in verdicts if verdict.used]
        usable = len(scores) == len(verdicts) and len(set(scores)) > 1
        for position, verdict in zip(positions, verdicts, strict=True):
            key = self.keys[position]
            assert key is not None
            score = verdict.score if usable and verdict.score is not None else 0.0
            self.keys[position] = (*key, score)
            tie.verdicts.append(verdict.model_copy(update={"used": usable}))
        if usable and tier not in tie.by:
            tie.by.append(tier)


def _check_one_group(rows: Sequence[EpisodeRow]) -> None:
    """Raises `InvalidError` where an episode is there twice or has other rules than the first."""
    first = rows[0]
    for index, row in enumerate(rows):
        if any(row.id == other.id for other in rows[:index]):
            raise InvalidError(f"episodes.{index}: {row.id} is named twice; expected each once")
        if row.digest != first.digest:
            raise InvalidError(
                f"episodes.{index}: {row.id} is of task {row.task} {row.version} (ruleset"
                f" {row.digest[:12]}); expected that of episodes.0, {first.task} {first.version}"
                f" (ruleset {first.digest[:12]})"
            )


def _tier_score(episode: str, tier: str, answer: Answer, confident: float) -> TierResult:
    """Return a verdict as the group shows it; ``used`` says whether it may order a tie at all."""
    verdict = answer["verdict"]
    is_sure = verdict["score"] is not None and verdict["confidence"] >= confident
    return TierResult(
        episode=episode,
        tier=tier,
        score=verdict["score"],
        confidence=verdict["confidence"],
        why=verdict["why"],
        by=verdict["by"],
        evidence=answer["evidence"],
        used=is_sure,
    )

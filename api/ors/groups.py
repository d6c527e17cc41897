"""Group scoring of the standard: the candidates of one task, compared.

A candidate is an episode where its metadata names one, else the final answer in its messages. They
are ranked as `/v1/groups:score` ranks: by what the rules paid, ties by the task's tiers.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import orjson

from api.core.errors import InvalidError, UnavailableError
from api.core.notify import Deadline, Notifier
from api.ors.calls import STOPPING
from api.ors.sessions import StoredCall, ToolSession
from api.scoring.fold import RewardFolding
from api.scoring.groups import UNSETTLED, GroupOptions, GroupResult, GroupScorer, MemberResult
from api.scoring.ranking import DIGITS, RankedPlace, normalise_advantages, rank_keys
from api.scoring.reference import Reference
from api.scoring.score import SampleScore
from api.scoring.scorer import ScoredSample, Scorer

NOT_FINAL = "the group is not complete: {} is not final yet; ask again"
NO_EPISODE = (
    "metadata.episode: expected the candidate's episode, as the others have it, got none: what was"
    " done is not known from messages"
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate. ``metadata`` is the trainer's own and is returned with the score."""

    episode: str | None
    answer: str
    metadata: Mapping[str, Any] | None


class GroupScoring:
    """Scores groups for one service's sessions."""

    def __init__(self, groups: GroupScorer, scorer: Scorer, notifier: Notifier) -> None:
        self._groups, self._scorer, self._notifier = groups, scorer, notifier

    async def score(
        self, session: ToolSession, id: str, candidates: Sequence[Candidate]
    ) -> StoredCall:
        """Return the scores as a call's result, one for each candidate in their order.

        Raises `NotFoundError` for an episode that there is not, `InvalidError` for one of another
        task, and `UnavailableError` when the service stops.
        """
        deadline = Deadline(session.wait_ms)
        if any(candidate.episode is not None for candidate in candidates):
            scores = await self._score_episodes(session, candidates, deadline)
        else:
            scores = await self._score_answers(session, candidates, deadline)
        if self._notifier.stopped:  # waits were cut short: a score may be missing for this alone
            raise UnavailableError(STOPPING)
        return StoredCall(id, "score_group", b"", orjson.dumps({"scores": scores}), failed=False)

    async def _score_episodes(
        self, session: ToolSession, candidates: Sequence[Candidate], deadline: Deadline
    ) -> list[dict[str, Any]]:
        """Score the candidates' episodes as a group. Raises `InvalidError` for episodes of another
        task."""
        named = [candidate.episode for candidate in candidates if candidate.episode is not None]
        group = await self._groups.score(session.tenant, named, _options(session), deadline)
        if (group.task, group.version) != (session.task, session.version):
            raise InvalidError(
                f"candidates: expected episodes of the session's task, {session.task}"
                f" {session.version}, got those of {group.task} {group.version}"
            )
        members = {member.episode: member for member in group.results}
        return [
            _group_score(candidate, None, None, "unobserved", NO_EPISODE)
            if candidate.episode is None
            else _member_score(candidate, members[candidate.episode], group)
            for candidate in candidates
        ]

    async def _score_answers(
        self, session: ToolSession, candidates: Sequence[Candidate], deadline: Deadline
    ) -> list[dict[str, Any]]:
        """Compare final answers, each scored by the task alone: nothing was observed."""
        options = _options(session)
        reference = Reference(task=session.task, version=session.version)
        samples = [ScoredSample(reference, candidate.answer) for candidate in candidates]
        scores = await asyncio.gather(
            *(
                self._scorer.score(session.tenant, sample, options.folding, deadline)
                for sample in samples
            )
        )
        places = rank_keys(
            [None if one.reward is None else (round(one.reward, DIGITS),) for one in scores]
        )
        shares = [None if place is None else place.score for place in places]
        advantages = normalise_advantages(shares, options.scale)
        return [
            _answer_score(candidate, score, place, advantage)
            for candidate, score, place, advantage in zip(
                candidates, scores, places, advantages, strict=True
            )
        ]


def identify_group(session: ToolSession, candidates: Sequence[Candidate]) -> str:
    """Return the id of a group's stream: the same for the same candidates of the session, so that
    its client can come back to any replica, and nothing is kept."""
    parts = [[one.episode, one.answer, one.metadata] for one in candidates]
    named = orjson.dumps([session.tenant, session.sid, parts], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(named).hexdigest()[:32]


def _options(session: ToolSession) -> GroupOptions:
    return GroupOptions(RewardFolding(mask_causes=session.masked), "rank", "std", ask_tiers=True)


def _member_score(candidate: Candidate, member: MemberResult, group: GroupResult) -> dict[str, Any]:
    """Return a member's score with its rank and ties, or why it has none."""
    ties = [tie.model_dump() for tie in group.ties if member.episode in tie.episodes]
    more = {
        "rank": member.rank,
        "advantage": member.advantage,
        "milestones": member.milestones,
        "ties": ties,
    }
    if member.score is not None:
        return _group_score(candidate, member.score, member.reward, "sealed", None, **more)
    if member.reward is None:
        status, reason = _status(member.failure_kind), member.failure_reason
    else:
        status, reason = "settling", NOT_FINAL.format(_describe_unsettled(group))
    return _group_score(candidate, None, member.reward, status, reason, **more)


def _answer_score(
    candidate: Candidate, score: SampleScore, place: RankedPlace | None, advantage: float | None
) -> dict[str, Any]:
    if place is None:
        status = _status(score.failure_kind)
        return _group_score(candidate, None, None, status, score.failure_reason)
    more = {"rank": place.rank, "advantage": advantage}
    return _group_score(candidate, place.score, score.reward, "sealed", None, **more)


def _describe_unsettled(group: GroupResult) -> str:
    """Say which member, or which tier, a group still waits for."""
    unsettled = (
        f"{member.episode} ({member.failure_reason})"
        for member in group.results
        if member.failure_kind in UNSETTLED
    )
    open_tiers = (tie.reason for tie in group.ties if tie.reason)
    return next(chain(unsettled, open_tiers), "a tier of the task")


def _group_score(
    candidate: Candidate,
    score: float | None,
    total: float | None,
    status: str,
    reason: str | None,
    **more: object,
) -> dict[str, Any]:
    """Return one score of the standard. ``total``: what the rules paid; ``score`` None: masked."""
    metadata = {
        "episode": candidate.episode,
        "status": status,
        "reason": reason,
        "mask": score is None,
        "total": total,
        "rank": None,
        "advantage": None,
        **more,
        "candidate": candidate.metadata,
    }
    return {"reward": score, "metadata": metadata}


def _status(failure_kind: str | None) -> str:
    """Return the last word of a failure's kind, "unobserved" for none."""
    return (failure_kind or "").rpartition(":")[2] or "unobserved"

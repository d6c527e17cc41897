"""Groups of episodes of one task, ranked: the types of `POST /v1/groups:score`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from milestoned_client.calls import Call, milliseconds, post
from milestoned_client.errors import UnexpectedAnswerError
from milestoned_client.results import build
from milestoned_client.scores import Fold

Basis = Literal["rank", "reward"]
"""What advantages are computed from: the score of the rank, or the reward alone."""
Scale = Literal["std", "none"]
"""``std`` divides advantages by the group's standard deviation, ``none`` does not."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One episode of a group.

    ``rank`` (1 is the best), ``score`` (0 to 1, the share of the others that it is better than) and
    ``advantage`` are None while the group is not complete, and where ``mask_sample`` is true.
    """

    episode: str
    reward: float | None
    known_share: float | None
    success: bool | None
    milestones: tuple[str, ...]
    rank: int | None
    score: float | None
    advantage: float | None
    mask_sample: bool
    failure_kind: str | None
    failure_reason: str | None


@dataclass(frozen=True, slots=True)
class TierScore:
    """What a tier says of an episode in a tie; ``score`` is None where it abstains. ``used``: the
    tie was ordered by it."""

    episode: str
    tier: str
    score: float | None
    confidence: float
    why: str
    by: str
    evidence: tuple[int, ...]
    used: bool


@dataclass(frozen=True, slots=True)
class Tie:
    """Episodes to which the rules paid the same. ``by``: the tiers that order some of them;
    ``reason``: why those that are still equal are."""

    episodes: tuple[str, ...]
    reward: float
    by: tuple[str, ...]
    verdicts: tuple[TierScore, ...]
    reason: str | None


@dataclass(frozen=True, slots=True)
class Group:
    """A scored group, in the order in which its episodes were named. ``complete`` is false while an
    episode is open or a tier has not answered: ask again."""

    task: str
    version: str
    digest: str
    complete: bool
    known: int
    results: tuple[GroupMember, ...]
    ties: tuple[Tie, ...]


def score_group(
    episodes: Iterable[str],
    wait_s: float,
    *,
    fold: Fold,
    gamma: float,
    min_known: float,
    advantages: Basis,
    scale: Scale,
    ask_tiers: bool,
) -> Call[Group]:
    """Make the call that ranks episodes of one task; `AsyncRewardClient.score_group` has the
    options."""
    return post(
        "/v1/groups:score",
        _parse,
        wait_s,
        episodes=list(episodes),
        wait_ms=milliseconds(wait_s),
        fold=fold,
        gamma=gamma,
        min_known=min_known,
        advantages=advantages,
        scale=scale,
        ask_tiers=ask_tiers,
    )


def _parse(document: Any, _body: bytes) -> Group:
    if not isinstance(document, Mapping):
        raise UnexpectedAnswerError(f"expected a group, got {str(document)[:120]!r}")
    return build(
        Group,
        document,
        results=tuple(_member(member) for member in document.get("results") or ()),
        ties=tuple(_tie(tie) for tie in document.get("ties") or ()),
    )


def _member(document: Mapping[str, Any]) -> GroupMember:
    return build(GroupMember, document, milestones=tuple(document["milestones"]))


def _tie(document: Mapping[str, Any]) -> Tie:
    verdicts = (
        build(TierScore, verdict, evidence=tuple(verdict["evidence"]))
        for verdict in document["verdicts"]
    )
    return build(
        Tie,
        document,
        episodes=tuple(document["episodes"]),
        by=tuple(document["by"]),
        verdicts=tuple(verdicts),
    )

"""Lists and samples of episodes: the types of `GET /v1/episodes` and `POST /v1/episodes:sample`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from milestoned_client.calls import Call, get, post
from milestoned_client.errors import UnexpectedAnswerError
from milestoned_client.results import build

Pick = Literal["any", "success", "failure", "near_miss", "novel"]
"""Which closed episodes are drawn; ``near_miss``: failures that earned much; ``novel``: rare sets
of milestones first."""


class EpisodeFilters(TypedDict, total=False):
    """Filters of the list; what is left out asks nothing.

    ``label``: ``KEY=VALUE``; ``finding``: ``masked``, ``gap`` or ``tamper``; ``least``, ``most``:
    of the total; ``since``, ``until``: UTC days such as 2026-01-31.
    """

    task: str
    status: Literal["open", "closing", "closed"]
    outcome: Literal["success", "failure", "unknown"]
    label: str
    finding: Literal["masked", "gap", "tamper"]
    opener: str
    least: float
    most: float
    since: str
    until: str
    sort: Literal["newest", "oldest", "best", "worst"]


@dataclass(frozen=True, slots=True)
class ListedEpisode:
    """An episode as lists have it; ``total`` and ``success`` are None where they are not known."""

    episode: str
    task: str
    version: str
    digest: str
    labels: Mapping[str, Any]
    seed: int | None
    status: Literal["open", "closing", "closed"]
    through: int
    head: str
    step: int | None
    success: bool | None
    total: float | None
    opened_at: str
    closed_at: str | None


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """A page of the list; ``next`` is the cursor of the next page, None at the end."""

    episodes: tuple[ListedEpisode, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class DrawnEpisodes:
    """A sample in the order in which it was drawn, from ``pool`` episodes; ``reason``: why there
    are fewer than were asked for."""

    pool: int
    episodes: tuple[ListedEpisode, ...]
    reason: str | None


def list_episodes(filters: EpisodeFilters, limit: int, cursor: str | None) -> Call[EpisodePage]:
    """Make the call that reads a page; `AsyncRewardClient.list_episodes` has the options."""
    query = {name: str(value) for name, value in filters.items()}

    def parse(document: Any, _body: bytes) -> EpisodePage:
        return build(EpisodePage, document, episodes=_episodes(document))

    return get("/v1/episodes", parse, 0.0, limit=limit, cursor=cursor, **query)


def sample_episodes(
    task: str, n: int, *, pick: Pick, seed: int, near: float, label: str | None
) -> Call[DrawnEpisodes]:
    """Make the call that draws; `AsyncRewardClient.sample_episodes` has the options."""

    def parse(document: Any, _body: bytes) -> DrawnEpisodes:
        return build(DrawnEpisodes, document, episodes=_episodes(document))

    return post(
        "/v1/episodes:sample", parse, task=task, n=n, pick=pick, seed=seed, near=near, label=label
    )


def _episodes(document: Any) -> tuple[ListedEpisode, ...]:
    listed = document.get("episodes") if isinstance(document, Mapping) else None
    if not isinstance(listed, list):
        raise UnexpectedAnswerError(f"expected a list of episodes, got {str(document)[:120]!r}")
    return tuple(build(ListedEpisode, one) for one in listed)

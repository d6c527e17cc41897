"""Lists and samples of episodes: the calls of `GET /v1/episodes` and `POST /v1/episodes:sample`."""

from __future__ import annotations

from typing import Literal, TypedDict

from milestoned_client.calls import Call, decode_as, get, post
from milestoned_client.models import DrawnEpisodes, EpisodePage, Pick


class EpisodeFilters(TypedDict, total=False):
    """Filters of the list; what is left out asks nothing.

    ``guided``: whether hints were given; ``label``: ``KEY=VALUE``; ``finding``: ``masked``, ``gap``
    or ``tamper``; ``least``, ``most``: of the total; ``since``, ``until``: UTC days such as
    2026-01-31.
    """

    task: str
    status: Literal["open", "closing", "closed"]
    outcome: Literal["success", "failure", "unknown"]
    label: str
    finding: Literal["masked", "gap", "tamper"]
    guided: bool
    opener: str
    least: float
    most: float
    since: str
    until: str
    sort: Literal["newest", "oldest", "best", "worst"]


def list_episodes(filters: EpisodeFilters, limit: int, cursor: str | None) -> Call[EpisodePage]:
    """Make the call that reads a page; `AsyncRewardClient.list_episodes` has the options."""
    query = {name: str(value) for name, value in filters.items()}
    parse = decode_as(EpisodePage)
    return get("/v1/episodes", parse, 0.0, limit=limit, cursor=cursor, **query)


def sample_episodes(
    task: str, n: int, *, pick: Pick, seed: int, near: float, label: str | None
) -> Call[DrawnEpisodes]:
    """Make the call that draws; `AsyncRewardClient.sample_episodes` has the options."""
    return post(
        "/v1/episodes:sample",
        decode_as(DrawnEpisodes),
        task=task,
        n=n,
        pick=pick,
        seed=seed,
        near=near,
        label=label,
    )

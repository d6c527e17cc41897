"""Lists and samples of episodes, for trainers that choose what they train on."""

from __future__ import annotations

import base64
import binascii
from datetime import date
from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from api.auth.store import Principal
from api.core.errors import InvalidError
from api.episodes.label_index import Finding
from api.episodes.search import Cursor, EpisodeQuery, Outcome, Sort, Status
from api.episodes.store import describe
from api.http.answer_shapes import ListedEpisodeShape
from api.http.authorization import requires
from api.http.dependencies import SearchPart
from api.http.describe import problems
from api.http.json_route import JsonRoute
from api.http.parameters import DIGITS
from api.http.support import KEY_AND_VALUE, READ, AnswerShape, Body, answer, parts_of
from api.rewards.sampling import EpisodeSampler, Pick, SampleQuery

router = APIRouter(tags=["episodes"], route_class=JsonRoute)
MAX_PAGE, MAX_SAMPLE = 500, 1_000
Total = Annotated[float, Field(ge=-1e9, le=1e9)]
LabelFilter = Annotated[str, Field(max_length=1_200, pattern=KEY_AND_VALUE)]


class EpisodesShape(AnswerShape):
    """A page of the list of episodes."""

    episodes: list[ListedEpisodeShape]
    next: str | None
    """The `cursor` of the next page; null at the end."""


class SampleBody(Body):
    """What is drawn from the closed episodes of a task.

    The same `seed` over the same episodes draws the same sample. `label`: `KEY=VALUE`.
    """

    task: Annotated[str, Field(min_length=1, max_length=512)]
    pick: Pick = "any"
    """Which closed episodes are drawn. `near_miss`: failures that earned at least the share `near`
    of what the task can pay; `novel`: any, rare sets of milestones are likelier."""
    n: Annotated[int, Field(ge=1, le=MAX_SAMPLE)]
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    near: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    label: LabelFilter | None = None
    since: date | None = None
    until: date | None = None
    guided: bool | None = None
    """Only episodes in which hints were given, or in which none were; null: any."""


class EpisodeSampleShape(AnswerShape):
    """A sample of episodes."""

    pool: int
    """How many episodes there were to draw from."""
    episodes: list[ListedEpisodeShape]
    """In the order in which they were drawn."""
    reason: str | None
    """Why there are fewer than were asked for; null where there are not."""


@router.get(
    "/v1/episodes",
    summary="Episodes, filtered",
    response_model=EpisodesShape,
    responses=problems(401, 403, 422),
)
async def list_episodes(
    who: Annotated[Principal, requires(READ)],
    search: SearchPart,
    task: Annotated[str | None, Query(max_length=512)] = None,
    status: Status | None = None,
    outcome: Outcome | None = None,
    label: Annotated[str | None, Query(pattern=KEY_AND_VALUE, description="KEY=VALUE")] = None,
    finding: Finding | None = None,
    opener: Annotated[str | None, Query(description="The id of the token that opened it.")] = None,
    least: Annotated[Total | None, Query(description="The total is at least this.")] = None,
    most: Annotated[Total | None, Query(description="The total is at most this.")] = None,
    since: Annotated[date | None, Query(description="Opened on this UTC day or later.")] = None,
    until: Annotated[date | None, Query(description="Opened on this UTC day or before.")] = None,
    guided: Annotated[bool | None, Query(description="Whether hints were given in it.")] = None,
    sort: Annotated[
        Sort, Query(description="By total, `best` and `worst` leave out those without one.")
    ] = "newest",
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE), DIGITS] = 50,
    cursor: Annotated[str | None, Query(description="`next` of the page before.")] = None,
) -> Response:
    """A page of the tenant's episodes. Every filter may be left out; `total` of an episode with an
    unknown step is null, so `least` and `most` leave it out."""
    wanted = EpisodeQuery(
        tenant=who.tenant,
        task=task,
        status=status,
        outcome=outcome,
        label=_label(label),
        finding=finding,
        opened_by=opener,
        least=least,
        most=most,
        since=_day(since),
        until=_day(until),
        guided=guided,
        sort=sort,
        after=None if cursor is None else _read_cursor(cursor, sort),
    )
    rows, following = await search.page(wanted, limit)
    return answer(
        {
            "episodes": [describe(row) for row in rows],
            "next": None if following is None else _write_cursor(following, sort),
        }
    )


async def _sampler(request: Request) -> EpisodeSampler:
    return parts_of(request).sampler


@router.post(
    "/v1/episodes:sample",
    summary="Draw episodes",
    response_model=EpisodeSampleShape,
    responses=problems(401, 403, 413, 422),
)
async def sample_episodes(
    who: Annotated[Principal, requires(READ)],
    sampler: Annotated[EpisodeSampler, Depends(_sampler)],
    body: SampleBody,
) -> Response:
    """Draw closed episodes of a task. A read, so it may be repeated."""
    pool = EpisodeQuery(
        tenant=who.tenant,
        task=body.task,
        label=_label(body.label),
        since=_day(body.since),
        until=_day(body.until),
        guided=body.guided,
    )
    sample = await sampler.draw(SampleQuery(pool, body.pick, body.n, body.seed, body.near))
    reason = None
    if len(sample.episodes) < body.n:
        reason = f"n: got {body.n}, {sample.pool} closed episodes of task {body.task} fit"
    return answer(
        {
            "pool": sample.pool,
            "episodes": [describe(row) for row in sample.episodes],
            "reason": reason,
        }
    )


def _label(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    name, _, value = text.partition("=")
    return name, value


def _day(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _write_cursor(cursor: Cursor, sort: Sort) -> str:
    content = orjson.dumps([sort, cursor.value, cursor.id])
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _read_cursor(text: str, sort: Sort) -> Cursor:
    """Raises `InvalidError` where it is none of ours, or of another order."""
    try:
        padded = text + "=" * (-len(text) % 4)
        fields: object = orjson.loads(base64.urlsafe_b64decode(padded.encode()))
    except (ValueError, binascii.Error):
        fields = None
    by_total = sort in ("best", "worst")
    match fields:
        case [str(of), str() | float() | int() as value, str(id)] if of == sort and (
            isinstance(value, str) != by_total
        ):
            return Cursor(float(value) if by_total else str(value), id)
    raise InvalidError(
        f"cursor: got {text[:40]!r}, expected `next` of a page with sort={sort}, or none"
    )

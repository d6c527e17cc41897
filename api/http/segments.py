"""Routes for the daemon: it appends segments and waits for commands of the harness."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from api.auth.store import Principal
from api.commands.command_queue import CommandNews
from api.core.errors import ConflictError, CostlySegmentError, SandboxLostError, TooManyError
from api.core.frames import MAX_NUMBER
from api.fleet.ending import end
from api.http.answer_shapes import AppendedShape, CommandsShape, PlanShape
from api.http.authorization import requires
from api.http.dependencies import ChannelPart, EpisodesPart, FollowersPart, TasksPart
from api.http.describe import EPISODE, body, describe_scopes, problems
from api.http.parameters import DIGITS, EpisodeId, Wait
from api.http.streams import LINES, AuthorizedStreamPart
from api.http.support import (
    NOBODY,
    READ,
    answer,
    caller,
    parts_of,
    read_body,
    stated_size,
    token_of,
    whole_header,
)
from api.ingest.admission import FAR_BEHIND

router = APIRouter(tags=["daemon"])
_FRAME = {
    "type": "string",
    "format": "binary",
    "description": "One zstd frame that states its size.",
}
BEHIND = "milestoned-behind"
_BEHIND = {
    "name": BEHIND,
    "in": "header",
    "required": False,
    "description": (
        "Events that the daemon has after this segment; one that is far behind leaves way to live"
        " ones."
    ),
    "schema": {"type": "integer", "minimum": 0},
}


AfterCommand = Annotated[
    int, Query(ge=0, le=MAX_NUMBER, description="The last command that was journalled."), DIGITS
]


@router.post(
    "/v1/episodes/{episode}/events",
    summary="Append a segment",
    responses={200: {"model": AppendedShape}, **problems(401, 403, 404, 409, 413, 422)},
    openapi_extra={
        **body({"application/zstd": _FRAME}),
        **describe_scopes(NOBODY),
        "parameters": [EPISODE, _BEHIND],
    },
)
async def append(request: Request) -> Response:  # hot, and its body is a frame that is streamed
    """Append one segment. Idempotent by itself: the same segment again is acknowledged again.

    A gap, a fork, another episode's segment or one after the close is refused with 409, which names
    `wanted`, `through` and `head`. More than the service can take now is refused with 429:
    `through` says what it has, Retry-After when to send the rest. Nothing is written when refused.
    """
    episode = request.path_params["episode"]
    parts = parts_of(request)
    who = await _appender(request, episode)
    max_size = parts.settings.limits.frame_bytes
    stated = stated_size(request)
    size = max_size if stated is None else min(stated, max_size)
    backlog = whole_header(request, BEHIND) >= FAR_BEHIND
    try:
        parts.rates.may_append(who)
        room = parts.gate.room(who.id, size, backlog)
    except TooManyError as refused:
        refused.more["through"] = await parts.log.through(episode)
        raise
    try:
        with room:
            frame = await read_body(request, max_size)
            parts.rates.appended(who, len(frame))
            async with parts.gate.turn(backlog):
                through, head = await parts.log.append(episode, frame)
                followed = parts.followers.is_followed(episode, who.tenant)
                return answer({"through": through, "head": head, "followed": followed})
    except CostlySegmentError as refused:
        # Its daemon can't go on after it, so the log ends here: whoever waits for its rewards is
        # answered.
        await end(
            parts.log,
            parts.segments,
            parts.episodes,
            parts.commands,
            episode,
            f"a segment is too costly: {refused.detail}",
        )
        raise
    except ConflictError as refused:
        ended = await parts.leases.given_up(who.tenant, episode)
        if ended is None:
            raise
        raise SandboxLostError(
            f"episode: {episode} was ended without its sandbox: {ended['why']}", **refused.more
        ) from refused


async def _appender(request: Request, episode: str) -> Principal:
    """The episode's daemon. One that calls too often is told how far the log is, as wherever it is
    told to wait."""
    try:
        return await caller(request, NOBODY, own=episode)
    except TooManyError as refused:
        # The rate is counted before the scope is looked at: only the episode's own token hears of
        # its log.
        who = await parts_of(request).tokens.principal(
            token_of(request.headers.get("authorization", ""))
        )
        if who.scope == "append" and who.episode == episode:
            refused.more["through"] = await parts_of(request).log.through(episode)
        raise


@router.get(
    "/v1/episodes/{episode}/commands",
    summary="What the harness said",
    response_model=CommandsShape,
    responses=problems(401, 403, 404, 422),
)
async def commands(
    who: Annotated[Principal, requires(NOBODY, or_own=True)],
    episode: EpisodeId,
    deadline: Wait,
    channel: ChannelPart,
    followers: FollowersPart,
    after: AfterCommand = 0,
    followed: Annotated[
        bool,
        Query(
            description="Whether the daemon knows that somebody looks at the episode live. With"
            " `false` it is told as soon as somebody does."
        ),
    ] = True,
) -> Response:
    """Commands beyond number `after`, as soon as there is one."""

    is_known = followed and followers.is_followed(episode, who.tenant)

    def has_news() -> bool:
        return not is_known and followers.is_followed(episode, who.tenant)

    found = await channel.next_commands(episode, after, deadline, has_news)
    return answer({"commands": found, "followed": followers.is_followed(episode, who.tenant)})


@router.get(
    "/v1/episodes/{episode}/commands/stream",
    summary="What the harness says, as it says it",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {LINES: {"schema": {"type": "string"}}},
            "description": "Lines of JSON, each as the answer of `/commands`.",
        },
        **problems(401, 403, 404, 422),
    },
)
async def stream_commands(
    who: Annotated[Principal, requires(NOBODY, or_own=True)],
    episode: EpisodeId,
    channel: ChannelPart,
    followers: FollowersPart,
    authorized: AuthorizedStreamPart,
    after: AfterCommand = 0,
) -> Response:
    """A line at once, and then one for what is queued beyond number `after`, as soon as it is: the
    daemon's open channel. It ends after as long as a daemon may be silent, which then asks again.
    """

    def is_followed() -> bool:
        return followers.is_followed(episode, who.tenant)

    news = channel.follow_commands(episode, after, is_followed)
    return authorized.lines(_encode(news))


async def _encode(news: AsyncIterator[CommandNews]) -> AsyncIterator[bytes]:
    async for one in news:
        told = {"commands": one.commands, "followed": one.is_followed}
        yield orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE)


@router.get(
    "/v1/episodes/{episode}/plan",
    summary="What to listen for",
    response_model=PlanShape,
    responses=problems(401, 403, 404),
    dependencies=[requires(READ, or_own=True)],
)
async def plan(episode: EpisodeId, episodes: EpisodesPart, tasks: TasksPart) -> Response:
    """What the daemon may know of the task: nothing of what would be right."""
    row = await episodes.get(episode)
    return answer((await tasks.ruleset(row.task_number)).plan(episode))

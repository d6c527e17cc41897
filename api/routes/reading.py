"""Evidence: events, the live stream, the trajectory, the recording."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from api.errors import InvalidError
from api.routes.describe import problems, query
from api.routes.shapes import EventsShape, TrajectoryShape
from api.routes.support import READ, answer, caller, parts_of, whole_query
from api.trajectory import transitions

router = APIRouter(tags=["evidence"])
_SEQ_MOST = 2**63 - 1
_KIND = {
    "name": "kind",
    "in": "query",
    "required": False,
    "description": "Only events of this kind; may be given several times.",
    "schema": {"type": "array", "items": {"type": "string"}},
    "explode": True,
}
_LAST_ID = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "Go on after this event; its milestones and rewards are sent again.",
    "schema": {"type": "integer", "minimum": 0},
}


@router.get(
    "/v1/episodes/{episode}/events",
    summary="The log",
    responses={200: {"model": EventsShape}, **problems(401, 403, 404, 422)},
    openapi_extra={
        "parameters": [
            query("after", "Events with a higher number.", _SEQ_MOST),
            query("limit", "The most events to give.", 5_000, 500),
            _KIND,
        ]
    },
)
async def events(request: Request) -> Response:
    """A page of the log. With `kind`, a page may be short though more follows: `next` says where to go on."""
    await caller(request, READ)
    parts = parts_of(request)
    episode = request.path_params["episode"]
    after = whole_query(request, "after", 0, _SEQ_MOST)
    limit = max(1, whole_query(request, "limit", 500, parts.settings.limits.page))
    row = await parts.episodes.get(episode)
    kinds = frozenset(request.query_params.getlist("kind"))
    found, following = await parts.follower.page(episode, after, limit, kinds)
    return answer({"events": found, "through": row.through, "next": following})


@router.get(
    "/v1/episodes/{episode}/stream",
    summary="The log, live",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {}}, "description": "Events named event, milestone and reward."},
        204: {"description": "The episode is closed and everything was sent."},
        **problems(401, 403, 404, 422),
    },
    openapi_extra={"parameters": [_LAST_ID]},
)
async def stream(request: Request) -> Response:
    """Server-sent events with the log's numbers as ids; ends after the episode's end."""
    await caller(request, READ)
    parts = parts_of(request)
    row = await parts.episodes.get(request.path_params["episode"])
    said = request.headers.get("last-event-id", "0")
    if not (said.isascii() and said.isdigit() and len(said) < 19):
        raise InvalidError(f"Last-Event-ID: got {said[:40]!r}, wanted the number of an event")
    after = int(said)
    if row.status == "closed" and after >= row.through:
        return Response(status_code=204)
    body = parts.follower.stream(row.id, after, parts.settings.limits.heartbeat_s)
    return StreamingResponse(body, media_type="text/event-stream", headers={"cache-control": "no-cache"})


@router.get(
    "/v1/episodes/{episode}/trajectory",
    summary="The episode as transitions",
    responses={200: {"model": TrajectoryShape}, **problems(401, 403, 404)},
)
async def trajectory(request: Request) -> Response:
    """(o, a, r, o') tuples: a pure function of the log and its sealed rewards."""
    await caller(request, READ)
    parts = parts_of(request)
    row = await parts.episodes.get(request.path_params["episode"])
    rewards = [orjson.loads(body) for body in await parts.ledger.all(row.id)]
    seen = [event async for event in parts.follower.events(row.id)]
    steps = await asyncio.to_thread(transitions, seen, {one["step"]: one for one in rewards})
    return answer({"episode": row.id, "steps": steps})


@router.get(
    "/v1/episodes/{episode}/recording",
    summary="The recording",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"application/zstd": {}}, "description": "The stored segments, a recording file."},
        **problems(401, 403, 404),
    },
)
async def recording(request: Request) -> Response:
    """The stored zstd frames one after the other: a file that replays anywhere."""
    await caller(request, READ)
    parts = parts_of(request)
    row = await parts.episodes.get(request.path_params["episode"])
    name = {"content-disposition": f'attachment; filename="{row.id}.mrec"'}
    frames: AsyncIterator[bytes] = parts.log.frames(row.id)
    return StreamingResponse(frames, media_type="application/zstd", headers=name)

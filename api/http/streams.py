"""Live streams: server-sent events that go on where the watcher left off, of one episode and of
all."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from api.core.errors import InvalidError
from api.http.dependencies import EpisodesPart, StreamsPart
from api.http.describe import problems
from api.http.support import READ, caller, parts_of, token_of, while_known
from api.live.streams import KINDS, WatchQuery, place_of
from api.log.arrivals import START, Place

router = APIRouter(tags=["evidence"])
_EVENT_STREAM: dict[str, Any] = {"text/event-stream": {}}
_PLACE = re.compile(r"-?[0-9]{1,18}\.-?[0-9]{1,18}\.[0-9]{1,19}", re.ASCII)


def _last_id(schema: dict[str, Any], says: str) -> dict[str, Any]:
    return {
        "name": "Last-Event-ID",
        "in": "header",
        "required": False,
        "description": says,
        "schema": schema,
    }


_KINDS = {
    "name": "kinds",
    "in": "query",
    "required": False,
    "description": f"Which of {', '.join(KINDS)} to send, with commas between; all by default.",
    "schema": {"type": "string"},
}
_LABEL = {
    "name": "label",
    "in": "query",
    "required": False,
    "description": (
        "Only episodes with this label, as KEY=VALUE; may be given several times, then all must"
        " fit."
    ),
    "schema": {"type": "array", "items": {"type": "string"}},
    "explode": True,
}


@router.get(
    "/v1/episodes/{episode}/stream",
    summary="The log, live",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": _EVENT_STREAM,
            "description": "Events named event, milestone, reward, lagging, ended.",
        },
        204: {
            "description": (
                "The episode is closed and everything was sent: its `ended` is the last id."
            )
        },
        **problems(401, 403, 404, 422),
    },
    openapi_extra={
        "parameters": [
            _last_id(
                {"type": "integer", "minimum": 0},
                "Go on after this event; its milestones and rewards are sent again.",
            ),
            _KINDS,
        ]
    },
)
async def stream(request: Request, streams: StreamsPart, episodes: EpisodesPart) -> Response:
    """Server-sent events with the log's numbers as ids. The last one is `ended`: the episode is
    closed, and what was asked of a model or a judge is answered. A stream that ends without it was
    cut, or its episode was deleted.

    A watcher that takes long to take gets a `lagging` event now and then: `after` is where it is,
    `through` where the log is. Nothing is left out for it.
    """
    await caller(request, READ)
    kinds = _kinds(request)
    row = await episodes.get(request.path_params["episode"])
    last_id = request.headers.get("last-event-id", "0")
    if not (last_id.isascii() and last_id.isdigit() and len(last_id) < 19):
        raise InvalidError(f"Last-Event-ID: got {last_id[:40]!r}, wanted the number of an event")
    after = int(last_id)
    if row.status == "closed" and after > row.through:
        return Response(status_code=204)
    return _streamed(request, streams.of_one(row.id, after, kinds))


@router.get(
    "/v1/stream",
    summary="All logs, live",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": _EVENT_STREAM,
            "description": "Events named event, milestone and reward, of all episodes.",
        },
        **problems(401, 403, 422),
    },
    openapi_extra={
        "parameters": [
            _last_id(
                {"type": "string"},
                "Go on after this id; 0: from the oldest that is kept. None: from now on.",
            ),
            _KINDS,
            _LABEL,
        ]
    },
)
async def stream_all(request: Request, streams: StreamsPart) -> Response:
    """What all episodes of the caller's tenant tell and earn, in the order in which it was stored;
    never ends.

    `data` names `episode`, `task` and `labels` beside the `event`, `milestone` or `reward`. `place`
    events tell nothing but how far the stream is; a `lost` event that what came between its id and
    `until` is in the episodes alone.
    """
    who = await caller(request, READ)
    place, after = _place(request.headers.get("last-event-id"))
    labels = dict(map(_label, request.query_params.getlist("label")))
    watch = WatchQuery(who.tenant, _kinds(request), labels)
    return _streamed(request, streams.of_all(watch, place, after))


def _streamed(request: Request, body: AsyncIterator[bytes]) -> Response:
    token = token_of(request.headers.get("authorization", ""))
    authorized = while_known(parts_of(request), token, body)
    headers = {"cache-control": "no-cache"}
    return StreamingResponse(authorized, media_type="text/event-stream", headers=headers)


def _kinds(request: Request) -> frozenset[str]:
    value = request.query_params.get("kinds")
    kinds = frozenset(KINDS if value is None else value.split(","))
    if not kinds <= set(KINDS):
        known = ", ".join(KINDS)
        raise InvalidError(
            f"kinds: got {value or ''!r:.80}, wanted some of {known}, with commas between"
        )
    return kinds


def _label(said: str) -> tuple[str, str]:
    key, mark, value = said.partition("=")
    if not (key and mark):
        raise InvalidError(f"label: got {said[:80]!r}, wanted KEY=VALUE")
    return key, value


def _place(said: str | None) -> tuple[Place | None, int]:
    if said is None:
        return None, 0
    if said == "0":
        return START, 0
    if not _PLACE.fullmatch(said):
        raise InvalidError(
            f"Last-Event-ID: got {said[:80]!r}, wanted an id that this stream gave, or 0"
        )
    return place_of(said)

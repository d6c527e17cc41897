"""Live streams: server-sent events that go on where the watcher left off, of one episode and of
all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Response
from fastapi.responses import StreamingResponse

from api.auth.store import Principal
from api.core.errors import InvalidError
from api.fleet.owners import Owners
from api.http.authorization import requires
from api.http.dependencies import (
    Authenticator,
    AuthenticatorPart,
    EpisodesPart,
    OwnersPart,
    StreamsPart,
)
from api.http.describe import problems
from api.http.parameters import DIGITS, EpisodeId
from api.http.support import READ, token_of, while_known, while_permitted
from api.live.stream_ids import StreamIds
from api.live.streams import KINDS, WatchQuery
from api.log.arrivals import START, LogPlace

router = APIRouter(tags=["evidence"])
LINES = "application/x-ndjson"
"""The media type of lines of JSON."""
_EVENT_STREAM: dict[str, object] = {"text/event-stream": {}}


async def _kinds(
    kinds: Annotated[
        str | None,
        Query(
            description=(
                f"Which of {', '.join(KINDS)} to send, with commas between; all by default."
            )
        ),
    ] = None,
) -> frozenset[str]:
    """Return the kinds of messages that are asked for, all by default. Raises `InvalidError`."""
    chosen = frozenset(KINDS if kinds is None else kinds.split(","))
    if not chosen <= set(KINDS):
        known = ", ".join(KINDS)
        raise InvalidError(
            f"kinds: got {kinds or ''!r:.80}, wanted some of {known}, with commas between"
        )
    return chosen


KindsPart = Annotated[frozenset[str], Depends(_kinds)]


STREAM_HEADERS = MappingProxyType({"cache-control": "no-cache", "x-accel-buffering": "no"})
"""Headers of what is to be passed on at once, by nginx as well."""


class AuthorizedStream:
    """Streams for as long as the caller's token is in force."""

    def __init__(self, authenticator: Authenticator, token: str) -> None:
        self._authenticator, self._token = authenticator, token

    def response(
        self, body: AsyncIterator[bytes], headers: Mapping[str, str] = STREAM_HEADERS
    ) -> Response:
        """Answer with the server-sent events of ``body``."""
        authorized = while_known(self._authenticator, self._token, body)
        return StreamingResponse(authorized, media_type="text/event-stream", headers=headers)

    def lines(self, body: AsyncIterator[bytes]) -> Response:
        """Answer with the lines of JSON of ``body``."""
        authorized = while_known(self._authenticator, self._token, body)
        return StreamingResponse(authorized, media_type=LINES, headers=STREAM_HEADERS)

    def file(
        self, body: AsyncIterator[bytes], headers: Mapping[str, str], media_type: str
    ) -> Response:
        """Answer with the file that ``body`` gives in pieces; with the token it is cut off."""
        permitted = while_permitted(self._authenticator, self._token, body)
        return StreamingResponse(permitted, media_type=media_type, headers=headers)


async def _authorized_stream(
    authenticator: AuthenticatorPart,
    authorization: Annotated[str, Header(include_in_schema=False)] = "",
) -> AuthorizedStream:
    return AuthorizedStream(authenticator, token_of(authorization))


AuthorizedStreamPart = Annotated[AuthorizedStream, Depends(_authorized_stream)]


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
)
async def stream(
    who: Annotated[Principal, requires(READ)],
    episode: EpisodeId,
    kinds: KindsPart,
    streams: StreamsPart,
    episodes: EpisodesPart,
    owners: OwnersPart,
    authorized: AuthorizedStreamPart,
    after: Annotated[
        int,
        Header(
            alias="Last-Event-ID",
            ge=0,
            lt=10**18,
            description="Go on after this event; its milestones and rewards are sent again.",
        ),
        DIGITS,
    ] = 0,
) -> Response:
    """Server-sent events with the log's numbers as ids. The last one is `ended`: the episode is
    closed, and what was asked of a model or a judge is answered. A stream that ends without it was
    cut, or its episode was deleted.

    A watcher that takes long to take gets a `lagging` event now and then: `after` is where it is,
    `through` where the log is. Nothing is left out for it.
    """
    row = await episodes.get(episode)
    if row.status == "closed" and after > row.through:
        return Response(status_code=204)
    return authorized.response(_hold(owners, who, row.id, streams.of_one(row.id, after, kinds)))


async def _hold(
    owners: Owners, who: Principal, episode: str, body: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """Count the stream's owner as heard for as long as it is sent."""
    with owners.holding(who, episode):
        async for sent in body:
            yield sent


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
)
async def stream_all(
    who: Annotated[Principal, requires(READ)],
    kinds: KindsPart,
    streams: StreamsPart,
    authorized: AuthorizedStreamPart,
    last_id: Annotated[
        str | None,
        Header(
            alias="Last-Event-ID",
            description="Go on after this id; 0: from the oldest that is kept. None: from now on.",
        ),
    ] = None,
    label: Annotated[
        Sequence[str],
        Query(
            description=(
                "Only episodes with this label, as KEY=VALUE; may be given several times, then all"
                " must fit."
            )
        ),
    ] = (),
) -> Response:
    """What all episodes of the caller's tenant tell and earn, in the order in which it was stored;
    never ends.

    `data` names `episode`, `task` and `labels` beside the `event`, `milestone` or `reward`. `place`
    events tell nothing but how far the stream is; a `lost` event that what came between its id and
    `until` is in the episodes alone.
    """
    place, after = _place(streams.ids, who.tenant, last_id)
    watch = WatchQuery(who.tenant, kinds, dict(map(_label, label)))
    return authorized.response(streams.of_all(watch, place, after))


def _label(text: str) -> tuple[str, str]:
    """Read KEY=VALUE; both sides must say something. Raises `InvalidError`."""
    key, mark, value = text.partition("=")
    if not (key and mark):
        raise InvalidError(f"label: got {text[:80]!r}, wanted KEY=VALUE")
    return key, value


def _place(ids: StreamIds, tenant: str, last_id: str | None) -> tuple[LogPlace | None, int]:
    """Return where a stream goes on, by the last id that the caller got. Raises `InvalidError` for
    an id of another stream."""
    if last_id is None:
        return None, 0
    if last_id == "0":
        return START, 0
    try:
        return ids.read(tenant, last_id)
    except ValueError:
        raise InvalidError(
            f"Last-Event-ID: got {last_id[:80]!r}, wanted an id that this stream gave, or 0"
        ) from None

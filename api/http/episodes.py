"""Episodes: opened, looked at, closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Request, Response

from api.auth.store import Principal
from api.core.errors import GoneError, InvalidError, NotFoundError
from api.core.keys import Keys
from api.core.notify import Deadline, Notifier
from api.core.settings import Limits
from api.episodes.store import Episodes, describe
from api.fleet import leases
from api.fleet.leases import Leases
from api.fleet.readiness import Readiness
from api.fleet.rows import LeaseRow
from api.http.dependencies import (
    ChannelPart,
    CommandsPart,
    EpisodesPart,
    FollowerPart,
    LedgerPart,
    LimitsPart,
)
from api.http.describe import WAIT, problems, takes
from api.http.once import once
from api.http.shapes import (
    Close,
    ClosedShape,
    EpisodeShape,
    OpenedShape,
    OpenEpisode,
    ReadyShape,
    TombstoneShape,
)
from api.http.support import (
    ADMIN,
    JSON,
    READ,
    TRAINER,
    answer,
    caller,
    deadline_of,
    parsed,
    parts_of,
    read_body,
)
from api.service.removal import Removal
from api.tasks.store import Tasks

router = APIRouter(tags=["episodes"])
_MAX_REASON_LENGTH = 500
_REASON = {
    "name": "reason",
    "in": "query",
    "required": True,
    "description": "Why; the tombstone says it for ever.",
    "schema": {"type": "string", "minLength": 1, "maxLength": _MAX_REASON_LENGTH},
}


@dataclass(frozen=True, slots=True)
class OpeningParts:
    """What opening an episode uses of the service."""

    tasks: Tasks
    episodes: Episodes
    leases: Leases
    notifier: Notifier
    keys: Keys
    limits: Limits


async def opening_parts(request: Request) -> OpeningParts:
    """Pick them from the service behind the request."""
    parts = parts_of(request)
    return OpeningParts(
        tasks=parts.tasks,
        episodes=parts.episodes,
        leases=parts.leases,
        notifier=parts.notifier,
        keys=parts.keys,
        limits=parts.settings.limits,
    )


async def _readiness(request: Request) -> Readiness:
    return parts_of(request).readiness


async def _removal(request: Request) -> Removal:
    return parts_of(request).removal


@router.post(
    "/v1/episodes",
    status_code=201,
    summary="Open an episode",
    responses={201: {"model": OpenedShape}, **problems(401, 403, 404, 413, 422)},
    openapi_extra=takes(OpenEpisode),
)
async def open_episode(
    request: Request, parts: Annotated[OpeningParts, Depends(opening_parts)]
) -> Response:
    """Open an episode; the answer holds the token that only appends to it, told here and never
    again."""
    who = await caller(request, TRAINER)
    content = await read_body(request, parts.limits.body_bytes)
    opening = parsed(OpenEpisode, content)

    async def work(intent: str | None) -> Response:
        return answer(await opened(parts, who, opening, intent), 201)

    def conceal(body: bytes) -> bytes:
        document = orjson.loads(body)
        if "token" not in document:
            return body
        return orjson.dumps({**document, "token": None})

    def reveal(body: bytes) -> bytes:
        document = orjson.loads(body)
        if "token" not in document:
            return body
        return orjson.dumps({**document, "token": parts.keys.append_token(document["episode"])})

    return await once(request, who, content, work, conceal, reveal)


async def opened(
    parts: OpeningParts, who: Principal, opening: OpenEpisode, intent: str | None
) -> dict[str, Any]:
    """Open an episode for ``who`` and answer with it. Raises `NotFoundError` where there is no such
    task."""
    task = await parts.tasks.current(who.tenant, opening.task, opening.version)
    episode = await parts.episodes.open(who, task, opening.labels, opening.seed, intent, parts.keys)
    document: dict[str, Any] = {
        "episode": episode,
        "task": task.id,
        "version": task.version,
        "digest": task.digest,
        "token": parts.keys.append_token(episode),
        "plan": (await parts.tasks.ruleset(task.number)).plan(episode),
    }
    if opening.sandbox is None:
        return document
    labels = {} if opening.sandbox == "any" else opening.sandbox
    await parts.leases.ask(who.tenant, episode, labels)
    return {**document, "sandbox": leases.describe(await _assigned_lease(parts, episode))}


async def _assigned_lease(parts: OpeningParts, episode: str) -> LeaseRow:
    """Return the episode's lease: where an idle sandbox was found, once its daemon knows, which
    takes a moment. Raises `GoneError` where the episode is deleted meanwhile."""
    deadline = Deadline(parts.limits.lease_ms)
    while True:
        changed = parts.notifier.watch(leases.settled(episode))
        lease = await parts.leases.find(episode)
        if lease is None:
            await parts.episodes.get(episode)
            raise NotFoundError(leases.NOT_ASKED.format(episode))
        if not leases.untold(lease):
            return lease
        if not await parts.notifier.wait(changed, deadline.remaining_s()):
            return lease


@router.post(
    "/v1/episodes/{episode}:close",
    summary="Close an episode",
    responses={
        200: {"model": ClosedShape},
        202: {"model": ClosedShape},
        **problems(401, 403, 404, 413, 422),
    },
    openapi_extra=takes(Close, required=False),
)
async def close(
    request: Request,
    limits: LimitsPart,
    commands: CommandsPart,
    channel: ChannelPart,
    ledger: LedgerPart,
) -> Response:
    """Ask the daemon to close; answered with all rewards once the end is in the log, else 202
    `closing`."""
    who = await caller(request, TRAINER)
    episode = request.path_params["episode"]
    content = await read_body(request, limits.body_bytes)
    closing = parsed(Close, content)

    async def work(_intent: str | None) -> Response:
        await commands.close(episode, closing.reason, truncated=closing.truncated)
        row = await channel.closed(episode, Deadline(closing.wait_ms))
        if row.status != "closed":
            return answer({"episode": episode, "status": "closing"}, 202)
        head = {
            "episode": episode,
            "status": "closed",
            "success": row.success,
            "total": row.total,
            "last_step": row.step,
        }
        bodies = b",".join(await ledger.all(episode))
        return Response(orjson.dumps(head)[:-1] + b',"rewards":[' + bodies + b"]}", media_type=JSON)

    return await once(request, who, content, work)


@router.get(
    "/v1/episodes/{episode}",
    summary="Where an episode stands",
    responses={200: {"model": EpisodeShape}, **problems(401, 403, 404)},
)
async def status(request: Request, episodes: EpisodesPart, follower: FollowerPart) -> Response:
    """Where an episode stands: how far its log goes and up to which time, its step, its total so
    far."""
    episode = request.path_params["episode"]
    await caller(request, READ, own=episode)
    row = await episodes.get(episode)
    return answer({**describe(row), "at": await follower.last_at(episode, row.through)})


@router.get(
    "/v1/episodes/{episode}/ready",
    summary="Whether an episode's daemon sees",
    responses={200: {"model": ReadyShape}, **problems(401, 403, 404, 422)},
    openapi_extra={"parameters": [WAIT]},
)
async def ready(request: Request, readiness: Annotated[Readiness, Depends(_readiness)]) -> Response:
    """Whether a step can begin: what the daemon's log tells of its sources. Waits for that at most
    `wait_ms`.

    A source that is lost makes it false again, until the source is back.
    """
    episode = request.path_params["episode"]
    await caller(request, READ, own=episode)
    return answer(await readiness.wait_until_ready(episode, deadline_of(request)))


@router.delete(
    "/v1/episodes/{episode}",
    summary="Delete an episode",
    responses={200: {"model": TombstoneShape}, **problems(401, 403, 404, 409, 422)},
    openapi_extra={"parameters": [_REASON]},
)
async def delete(request: Request, removal: Annotated[Removal, Depends(_removal)]) -> Response:
    """Delete an episode with all that it told and earned. A signed tombstone stays, which is the
    answer, now and again.

    Whoever asks for it from then on is answered 410 with the tombstone; its id is not given out
    again.
    """
    episode = request.path_params["episode"]
    reason = request.query_params.get("reason", "")
    try:
        who = await caller(request, ADMIN)
        if not 0 < len(reason) <= _MAX_REASON_LENGTH:
            raise InvalidError(
                f"reason: {len(reason)} characters, wanted 1 to {_MAX_REASON_LENGTH}"
            )
        return answer(await removal.delete(episode, reason, who.id))
    except GoneError as gone:
        return answer(gone.more)

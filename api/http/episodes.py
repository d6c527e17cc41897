"""Episodes: opened, looked at, closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Header, Query, Request, Response

from api.auth.store import Principal
from api.core.errors import GoneError, InvalidError, NotFoundError
from api.core.keys import Keys
from api.core.notify import Deadline, Notifier
from api.core.settings import Limits
from api.episodes.store import Episodes, describe
from api.fleet import leases
from api.fleet.leases import Leases
from api.fleet.owners import Owners
from api.fleet.readiness import EpisodeReadiness
from api.fleet.rows import LeaseRow
from api.http.answer_shapes import (
    ClosedShape,
    EpisodeShape,
    HeartbeatShape,
    OpenedShape,
    ReadyShape,
    TombstoneShape,
)
from api.http.authorization import requires
from api.http.dependencies import (
    ChannelPart,
    CommandsPart,
    EpisodesPart,
    FollowerPart,
    LedgerPart,
    OwnersPart,
)
from api.http.describe import problems
from api.http.json_route import JsonRoute
from api.http.once import IdempotencyPart
from api.http.parameters import EpisodeId, Wait
from api.http.shapes import Close, OpenEpisode, OwnerHeartbeat
from api.http.support import ADMIN, JSON, READ, TRAINER, answer, parts_of
from api.service.removal import Removal
from api.tasks.store import Tasks
from common.trace_context import HEADER, TraceParent
from detectors.model.errors import SpecError, format_path, format_value

router = APIRouter(tags=["episodes"], route_class=JsonRoute)
_CLOSE = Close()


@dataclass(frozen=True, slots=True)
class OpeningParts:
    """What opening an episode uses of the service."""

    tasks: Tasks
    episodes: Episodes
    leases: Leases
    owners: Owners
    notifier: Notifier
    keys: Keys
    limits: Limits
    parent: TraceParent | None


async def opening_parts(
    request: Request,
    _: Annotated[
        str | None,
        Header(
            alias=HEADER,
            description=(
                "W3C Trace Context: the episode's trace is this one. A malformed one is ignored."
            ),
        ),
    ] = None,
) -> OpeningParts:
    """Pick them from the service behind the request, with the trace of who calls."""
    parts = parts_of(request)
    return OpeningParts(
        tasks=parts.tasks,
        episodes=parts.episodes,
        leases=parts.leases,
        owners=parts.owners,
        notifier=parts.notifier,
        keys=parts.keys,
        limits=parts.settings.limits,
        parent=TraceParent.of_headers(request.headers.getlist(HEADER)),
    )


async def _readiness(request: Request) -> EpisodeReadiness:
    return parts_of(request).readiness


async def _removal(request: Request) -> Removal:
    return parts_of(request).removal


@router.post(
    "/v1/episodes",
    status_code=201,
    summary="Open an episode",
    response_model=OpenedShape,
    responses=problems(401, 403, 404, 413, 422),
)
async def open_episode(
    who: Annotated[Principal, requires(TRAINER)],
    parts: Annotated[OpeningParts, Depends(opening_parts)],
    idempotency: IdempotencyPart,
    opening: OpenEpisode,
) -> Response:
    """Open an episode; the answer holds the token that only appends to it, told here and never
    again."""

    async def work(intent: str | None) -> Response:
        return answer(await answer_opened(parts, who, opening, intent), 201)

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

    return await idempotency.once(who, work, conceal, reveal)


async def answer_opened(
    parts: OpeningParts, who: Principal, opening: OpenEpisode, intent: str | None
) -> dict[str, Any]:
    """Open an episode for ``who`` and answer with it. Raises `NotFoundError` where there is no such
    task, `InvalidError` where a label is missing that its schedules go by."""
    try:
        task = await parts.tasks.current(who.tenant, opening.task, opening.version, opening.labels)
    except SpecError as error:
        problem = {
            "path": format_path(error.path),
            "line": None,
            "value": format_value(error.value),
            "wanted": error.wanted,
        }
        raise InvalidError(str(error), errors=[problem]) from None
    episode = await parts.episodes.open(
        who, task, opening.labels, opening.seed, intent, parts.keys, parts.parent
    )
    document: dict[str, Any] = {
        "episode": episode,
        "task": task.id,
        "version": task.version,
        "digest": task.digest,
        "token": parts.keys.append_token(episode),
        "plan": (await parts.tasks.ruleset(task.number)).plan(episode),
    }
    silence_s = _owner_silence_s(parts.limits, opening)
    if silence_s:
        await parts.owners.add(who.tenant, episode, silence_s)
        document["owner_silence_s"] = silence_s
    if opening.sandbox is None:
        return document
    labels = {} if opening.sandbox == "any" else opening.sandbox
    await parts.leases.ask(who.tenant, episode, labels)
    return {**document, "sandbox": leases.describe(await _assigned_lease(parts, episode))}


def _owner_silence_s(limits: Limits, opening: OpenEpisode) -> float:
    """Return for how long the episode's owner may be silent, 0 for ever: as the request says, else
    the service's default where a sandbox of the fleet would be kept busy."""
    if opening.owner_silence_s is not None:
        return opening.owner_silence_s
    return 0.0 if opening.sandbox is None else limits.owner_silence_s


async def _assigned_lease(parts: OpeningParts, episode: str) -> LeaseRow:
    """Return the episode's lease: where an idle sandbox was found, once its daemon knows, which
    takes a moment. Raises `GoneError` where the episode is deleted meanwhile."""
    deadline = Deadline(parts.limits.lease_ms)
    while True:
        changed = parts.notifier.watch(leases.settled_topic(episode))
        lease = await parts.leases.find(episode)
        if lease is None:
            await parts.episodes.get(episode)
            raise NotFoundError(leases.NOT_ASKED.format(episode))
        if not leases.untold(lease):
            return lease
        if not await parts.notifier.wait(changed, deadline.remaining_s()):
            return lease


@router.post(
    "/v1/episodes:heartbeat",
    summary="The owner of episodes is alive",
    response_model=HeartbeatShape,
    responses=problems(401, 403, 413, 422),
)
async def heartbeat(
    who: Annotated[Principal, requires(TRAINER)],
    episodes: EpisodesPart,
    owners: OwnersPart,
    beat: OwnerHeartbeat,
) -> Response:
    """Keep episodes from being ended for the silence of their owner, however long its pause is.
    Answered with where each stands: one that is not `open` needs no more heartbeats."""
    found = await episodes.statuses(who.tenant, beat.episodes)
    owners.hear(who, found)
    return answer({"episodes": {one: found.get(one, "unknown") for one in beat.episodes}})


@router.post(
    "/v1/episodes/{episode}:close",
    summary="Close an episode",
    response_model=ClosedShape,
    responses={202: {"model": ClosedShape}, **problems(401, 403, 404, 413, 422)},
)
async def close(
    who: Annotated[Principal, requires(TRAINER)],
    episode: EpisodeId,
    commands: CommandsPart,
    channel: ChannelPart,
    ledger: LedgerPart,
    idempotency: IdempotencyPart,
    closing: Close = _CLOSE,
) -> Response:
    """Ask the daemon to close; answered with all rewards once the end is in the log, else 202
    `closing`."""

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

    return await idempotency.once(who, work)


@router.get(
    "/v1/episodes/{episode}",
    summary="Where an episode stands",
    response_model=EpisodeShape,
    responses=problems(401, 403, 404),
    dependencies=[requires(READ, or_own=True)],
)
async def status(episode: EpisodeId, episodes: EpisodesPart, follower: FollowerPart) -> Response:
    """Where an episode stands: how far its log goes and up to which time, its step, its total so
    far."""
    row = await episodes.get(episode)
    return answer({**describe(row), "at": await follower.last_at(episode, row.through)})


@router.get(
    "/v1/episodes/{episode}/ready",
    summary="Whether an episode's daemon sees",
    response_model=ReadyShape,
    responses=problems(401, 403, 404, 422),
    dependencies=[requires(READ, or_own=True)],
)
async def ready(
    episode: EpisodeId, deadline: Wait, readiness: Annotated[EpisodeReadiness, Depends(_readiness)]
) -> Response:
    """Whether a step can begin: what the daemon's log tells of its sources. Waits for that at most
    `wait_ms`.

    A source that is lost makes it false again, until the source is back.
    """
    return answer(await readiness.wait_until_ready(episode, deadline))


@router.delete(
    "/v1/episodes/{episode}",
    summary="Delete an episode",
    response_model=TombstoneShape,
    responses=problems(401, 403, 404, 409, 422),
)
async def delete(
    who: Annotated[Principal, requires(ADMIN, even_deleted=True)],
    episode: EpisodeId,
    reason: Annotated[
        str,
        Query(min_length=1, max_length=500, description="Why; the tombstone says it for ever."),
    ],
    removal: Annotated[Removal, Depends(_removal)],
) -> Response:
    """Delete an episode with all that it told and earned. A signed tombstone stays, which is the
    answer, now and again."""
    try:
        return answer(await removal.delete(episode, reason, who.id))
    except GoneError as gone:
        return answer(gone.more)

"""The fleet on the wire: daemons register, beat and are told their next episode; people see who is
there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from api.core.errors import NotFoundError
from api.core.keys import Keys
from api.core.notify import Deadline, Notifier
from api.core.settings import Limits
from api.episodes.store import Episodes
from api.fleet import leases, version_skew
from api.fleet import store as sandboxes
from api.fleet.leases import Leases
from api.fleet.rows import SandboxRow
from api.fleet.store import Sandboxes
from api.fleet.watch import Watch
from api.http.describe import WAIT, problems, query, takes
from api.http.sandbox_shapes import (
    Beat,
    BeatShape,
    LeaseShape,
    Leave,
    LeftShape,
    Register,
    SandboxesShape,
)
from api.http.support import (
    READ,
    SANDBOX,
    answer,
    caller,
    deadline_of,
    parsed,
    parts_of,
    read_body,
    whole_query,
)

router = APIRouter(tags=["fleet"])
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class FleetParts:
    """What these routes use of the service."""

    sandboxes: Sandboxes
    leases: Leases
    episodes: Episodes
    notifier: Notifier
    watch: Watch
    keys: Keys
    limits: Limits


async def _fleet_parts(request: Request) -> FleetParts:
    parts = parts_of(request)
    return FleetParts(
        sandboxes=parts.sandboxes,
        leases=parts.leases,
        episodes=parts.episodes,
        notifier=parts.notifier,
        watch=parts.watch,
        keys=parts.keys,
        limits=parts.settings.limits,
    )


UsedParts = Annotated[FleetParts, Depends(_fleet_parts)]


@router.post(
    "/v1/sandboxes",
    summary="Register a sandbox",
    responses={200: {"model": BeatShape}, **problems(401, 403, 409, 413, 422)},
    openapi_extra=takes(Register, keyed=False),
)
async def register(request: Request, parts: UsedParts) -> Response:
    """A daemon says who it is. Registered again by the same instance it is the same sandbox, with
    its episode.

    409: a living sandbox has that name, or the daemon's version is not one that this service takes.
    """
    who = await caller(request, SANDBOX)
    registration = parsed(Register, await read_body(request, parts.limits.body_bytes))
    version_skew.check(request.app.version, registration.agentd, registration.wire)
    newcomer = sandboxes.Newcomer(**registration.model_dump())
    row = await parts.sandboxes.register(who.tenant, newcomer)
    return answer(await _sandbox_document(parts, row, None))


@router.post(
    "/v1/sandboxes/{sandbox}:beat",
    summary="A sandbox is alive",
    responses={200: {"model": BeatShape}, **problems(401, 403, 404, 413, 422)},
    openapi_extra=takes(Beat, keyed=False),
)
async def beat(request: Request, parts: UsedParts) -> Response:
    """The daemon is there; an idle one waits here, at most `wait_ms`, for its next episode.

    `lease` is what it should work on; `given_up` that the service ended the episode `on` without
    it, and why.
    """
    who = await caller(request, SANDBOX)
    report = parsed(Beat, await read_body(request, parts.limits.body_bytes))
    row = await parts.sandboxes.authenticate(
        who.tenant, request.path_params["sandbox"], report.instance
    )
    if report.done is not None:
        await parts.leases.free(row.id, report.done)
    if report.failed is not None and row.episode == report.failed.episode:
        reason = f"its daemon could not go on: {report.failed.why}"[:1_024]
        await parts.leases.lose(report.failed.episode, reason)
    row = await parts.sandboxes.beat(row, report.through, report.gaps)
    row = await _wait_for_episode(parts, row, Deadline(report.wait_ms))
    if row.episode != report.on and await request.is_disconnected():
        # Nobody is told by this answer: the daemon asks again, or was lost and the episode goes to
        # another one.
        return Response(status_code=499)
    return answer(await _sandbox_document(parts, row, report.on))


async def _wait_for_episode(parts: FleetParts, row: SandboxRow, deadline: Deadline) -> SandboxRow:
    """Return the sandbox's row once it has an episode, or as it is when time is up."""
    while row.state == "idle":
        changed = parts.notifier.watch(sandboxes.offered(row.id))
        await parts.leases.take(row)
        row = await parts.sandboxes.get(row.id)
        if row.state != "idle" or not await parts.notifier.wait(changed, deadline.remaining_s()):
            break
        row = await parts.sandboxes.get(row.id)
    return row


async def _sandbox_document(parts: FleetParts, row: SandboxRow, on: str | None) -> dict[str, Any]:
    """Answer a sandbox whose daemon works ``on`` an episode with the one it should work on."""
    lease = None
    given_up = None
    if row.episode is not None:
        if row.episode != on:
            await parts.leases.mark_announced(row.id, row.episode)
        episode = await parts.episodes.get(row.episode)
        lease = {
            "episode": episode.id,
            "token": parts.keys.append_token(episode.id),
            "task": episode.task,
            "version": episode.version,
        }
    if on is not None and on != row.episode:
        given_up = await parts.leases.given_up(row.tenant, on)
    return {
        "sandbox": row.id,
        "beat_s": parts.watch.beat_s,
        "lost_s": parts.limits.sandbox_lost_s,
        "lease": lease,
        "given_up": given_up,
    }


@router.post(
    "/v1/sandboxes/{sandbox}:leave",
    summary="A sandbox goes for good",
    responses={200: {"model": LeftShape}, **problems(401, 403, 404, 413, 422)},
    openapi_extra=takes(Leave, keyed=False),
)
async def leave(request: Request, parts: UsedParts) -> Response:
    """The daemon was told to stop. One with an episode stays until it is back, or is lost."""
    who = await caller(request, SANDBOX)
    farewell = parsed(Leave, await read_body(request, parts.limits.body_bytes))
    row = await parts.sandboxes.authenticate(
        who.tenant, request.path_params["sandbox"], farewell.instance
    )
    return answer({"sandbox": row.id, "state": await parts.sandboxes.leave(row.id)})


@router.get(
    "/v1/sandboxes",
    summary="Who is there",
    responses={200: {"model": SandboxesShape}, **problems(401, 403, 422)},
    openapi_extra={
        "parameters": [
            {
                "name": "after",
                "in": "query",
                "required": False,
                "schema": {"type": "string", "maxLength": 64},
            },
            query("limit", "How many at most.", _PAGE, _PAGE),
        ]
    },
)
async def listed(request: Request, parts: UsedParts) -> Response:
    """Every sandbox: its last beat, its episode, its version, the sources that see nothing. `next`:
    the page after."""
    who = await caller(request, READ)
    limit = whole_query(request, "limit", _PAGE, _PAGE)
    rows = await parts.sandboxes.listed(
        who.tenant, request.query_params.get("after", "")[:64], limit
    )
    more = rows[-1].id if rows and len(rows) == limit else None
    queued = await parts.leases.queued(who.tenant)
    return answer(
        {"sandboxes": [sandboxes.describe(row) for row in rows], "queued": queued, "next": more}
    )


@router.get(
    "/v1/episodes/{episode}/sandbox",
    summary="An episode's sandbox",
    responses={200: {"model": LeaseShape}, **problems(401, 403, 404, 422)},
    openapi_extra={"parameters": [WAIT]},
)
async def of_episode(request: Request, parts: UsedParts) -> Response:
    """Which sandbox works on the episode, once one does; waits for that at most `wait_ms`."""
    await caller(request, READ)
    episode, deadline = request.path_params["episode"], deadline_of(request)
    while True:
        changed = parts.notifier.watch(leases.settled(episode))
        row = await parts.leases.find(episode)
        if row is None:
            await parts.episodes.get(episode)  # which says so where it was deleted meanwhile
            raise NotFoundError(leases.NOT_ASKED.format(episode))
        lease = leases.describe(row)
        if lease["state"] != "queued":
            return answer(lease)
        if not await parts.notifier.wait(changed, deadline.remaining_s()):
            return answer(lease)

"""The fleet on the wire: daemons register, beat and are told their next episode; people see who is
there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Literal

import structlog
from fastapi import APIRouter, Depends, Path, Query, Request, Response

from api.auth.store import Principal
from api.core.errors import NotFoundError
from api.core.keys import Keys
from api.core.notify import Deadline, Notifier
from api.core.settings import Limits
from api.episodes.store import Episodes
from api.fleet import leases, version_skew
from api.fleet import store as sandboxes
from api.fleet.leases import Leases
from api.fleet.readiness import EpisodeReadiness
from api.fleet.rows import LeaseRow, SandboxRow
from api.fleet.store import Sandboxes
from api.fleet.watch import FleetWatch
from api.http.authorization import requires
from api.http.describe import problems
from api.http.json_route import JsonRoute
from api.http.parameters import DIGITS, EpisodeId, Wait
from api.http.sandbox_shapes import (
    Beat,
    BeatShape,
    LeaseShape,
    Leave,
    LeftShape,
    Register,
    SandboxesShape,
)
from api.http.support import READ, SANDBOX, answer, parts_of

router = APIRouter(tags=["fleet"], route_class=JsonRoute)
log = structlog.get_logger(__name__)
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class FleetParts:
    """What these routes use of the service."""

    sandboxes: Sandboxes
    leases: Leases
    episodes: Episodes
    notifier: Notifier
    watch: FleetWatch
    keys: Keys
    limits: Limits
    readiness: EpisodeReadiness


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
        readiness=parts.readiness,
    )


async def _version(request: Request) -> str:
    version: str = request.app.version
    return version


UsedParts = Annotated[FleetParts, Depends(_fleet_parts)]
VersionPart = Annotated[str, Depends(_version)]
Daemon = Annotated[Principal, requires(SANDBOX)]
SandboxId = Annotated[str, Path(description="The sandbox's id.")]


@router.post(
    "/v1/sandboxes",
    summary="Register a sandbox",
    response_model=BeatShape,
    responses=problems(401, 403, 409, 413, 422),
)
async def register(
    who: Daemon, parts: UsedParts, version: VersionPart, registration: Register
) -> Response:
    """A daemon says who it is. Registered again by the same instance it is the same sandbox, with
    its episode.

    409: a living sandbox has that name, or the daemon's version is not one that this service takes.
    """
    version_skew.check(version, registration.agentd, registration.wire)
    newcomer = sandboxes.Newcomer(**registration.model_dump())
    row = await parts.sandboxes.register(who.tenant, newcomer)
    return answer(await _sandbox_document(parts, row, None))


@router.post(
    "/v1/sandboxes/{sandbox}:beat",
    summary="A sandbox is alive",
    response_model=BeatShape,
    responses=problems(401, 403, 404, 413, 422),
)
async def beat(
    request: Request,  # for its disconnect
    who: Daemon,
    sandbox: SandboxId,
    parts: UsedParts,
    report: Beat,
) -> Response:
    """The daemon is there; an idle one waits here, at most `wait_ms`, for its next episode.

    `lease` is what it should work on; `given_up` that the service ended the episode `on` without
    it, and why.
    """
    if report.done is not None or report.failed is not None:
        row = await parts.sandboxes.authenticate(who.tenant, sandbox, report.instance)
        await _end_lease(parts, row, report)
    row = await parts.sandboxes.beat(
        who.tenant, sandbox, report.instance, report.through, report.gaps
    )
    beats = row.beats
    async with _listening(request) as hang_up:
        row = await _wait_for_episode(parts, row, Deadline(report.wait_ms), hang_up)
        has_hung_up = hang_up.done()
    if has_hung_up and await parts.sandboxes.lose_idle(row.id, beats):
        log.info("An idle sandbox hung up; it is lost until it calls again.", sandbox=row.id)
    if row.episode != report.on and await request.is_disconnected():
        # Nobody is told by this answer: the daemon asks again, or was lost and the episode goes to
        # another one.
        return Response(status_code=499)
    return answer(await _sandbox_document(parts, row, report.on))


async def _end_lease(parts: FleetParts, row: SandboxRow, report: Beat) -> None:
    """Free the sandbox of the episode that its daemon reports as done, or as failed."""
    if report.done is not None:
        await parts.leases.free(row.id, report.done)
    if report.failed is not None and row.episode == report.failed.episode:
        reason = f"its daemon could not go on: {report.failed.why}"[:1_024]
        await parts.leases.lose(report.failed.episode, reason)


@asynccontextmanager
async def _listening(request: Request) -> AsyncIterator[asyncio.Task[bool]]:
    """A task that is done once the caller hung up."""
    hang_up = asyncio.create_task(_wait_for_hang_up(request))
    try:
        yield hang_up
    finally:
        hang_up.cancel()


async def _wait_for_hang_up(request: Request) -> bool:
    await request.receive()  # the body was read: nothing else comes
    return True


async def _wait_for_episode(
    parts: FleetParts, row: SandboxRow, deadline: Deadline, hang_up: asyncio.Task[bool]
) -> SandboxRow:
    """Return the sandbox's row once it has an episode, or as it is when time is up or its daemon
    hung up. Raises `ForbiddenError` where another daemon registered as that sandbox meanwhile."""
    while row.state == "idle":
        changed = parts.notifier.watch(sandboxes.offered_topic(row.id))
        await parts.leases.take(row)
        row = await parts.sandboxes.refreshed(row)
        if row.state != "idle":
            break
        offer = asyncio.create_task(parts.notifier.wait(changed, deadline.remaining_s()))
        try:
            await asyncio.wait({offer, hang_up}, return_when=asyncio.FIRST_COMPLETED)
            if not offer.done() or not offer.result():
                break
        finally:
            offer.cancel()
        row = await parts.sandboxes.refreshed(row)
    return row


async def _sandbox_document(
    parts: FleetParts, row: SandboxRow, on: str | None
) -> dict[str, object]:
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
        "beat_s": parts.watch.beat_of(row.state),
        "lost_s": parts.limits.sandbox_lost_s,
        "lease": lease,
        "given_up": given_up,
    }


@router.post(
    "/v1/sandboxes/{sandbox}:leave",
    summary="A sandbox goes for good",
    response_model=LeftShape,
    responses=problems(401, 403, 404, 413, 422),
)
async def leave(who: Daemon, sandbox: SandboxId, parts: UsedParts, farewell: Leave) -> Response:
    """The daemon was told to stop. One with an episode stays until it is back, or is lost."""
    row = await parts.sandboxes.authenticate(who.tenant, sandbox, farewell.instance)
    return answer({"sandbox": row.id, "state": await parts.sandboxes.leave(row.id)})


@router.get(
    "/v1/sandboxes",
    summary="Who is there",
    response_model=SandboxesShape,
    responses=problems(401, 403, 422),
)
async def listed(
    who: Annotated[Principal, requires(READ)],
    parts: UsedParts,
    after: Annotated[str, Query(description="Sandboxes after this one.", max_length=64)] = "",
    limit: Annotated[int, Query(ge=0, le=_PAGE, description="How many at most."), DIGITS] = _PAGE,
) -> Response:
    """Every sandbox: its last beat, its episode, its version, the sources that see nothing. `next`:
    the page after."""
    rows = await parts.sandboxes.listed(who.tenant, after, limit)
    more = rows[-1].id if rows and len(rows) == limit else None
    queued = await parts.leases.queued(who.tenant)
    return answer(
        {"sandboxes": [sandboxes.describe(row) for row in rows], "queued": queued, "next": more}
    )


@router.get(
    "/v1/episodes/{episode}/sandbox",
    summary="An episode's sandbox",
    response_model=LeaseShape,
    responses=problems(401, 403, 404, 422),
    dependencies=[requires(READ)],
)
async def of_episode(
    episode: EpisodeId,
    deadline: Wait,
    parts: UsedParts,
    until: Annotated[
        Literal["held", "ready"],
        Query(
            description=(
                "`ready`: wait until every source of its daemon observes, too, and answer with"
                " `ready` and `waiting`."
            )
        ),
    ] = "held",
) -> Response:
    """Which sandbox works on the episode, once one does; waits for that at most `wait_ms`."""
    if until == "ready":
        return answer(await _ready_lease(parts, episode, deadline))
    while True:
        changed = parts.notifier.watch(leases.settled_topic(episode))
        row = await parts.leases.find(episode)
        lease = leases.describe(await _checked_lease(parts, episode, row))
        if lease["state"] != "queued":
            return answer(lease)
        if not await parts.notifier.wait(changed, deadline.remaining_s()):
            return answer(lease)


async def _checked_lease(parts: FleetParts, episode: str, row: LeaseRow | None) -> LeaseRow:
    """Return the lease. Raises `NotFoundError` where none was asked for, `GoneError` where the
    episode was deleted."""
    if row is None:
        await parts.episodes.get(episode)
        raise NotFoundError(leases.NOT_ASKED.format(episode))
    return row


async def _ready_lease(parts: FleetParts, episode: str, deadline: Deadline) -> dict[str, object]:
    """Return the lease once a step can begin, or as it is when time is up, with what is awaited."""
    await _checked_lease(parts, episode, await parts.leases.find(episode))
    readiness = await parts.readiness.wait_until_ready(episode, deadline)
    row = await _checked_lease(parts, episode, await parts.leases.find(episode))
    return {
        **leases.describe(row),
        "ready": readiness["ready"],
        "waiting": readiness["waiting"],
    }

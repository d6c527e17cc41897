"""The fleet on the wire: daemons register, beat and are told their next episode; people see who is
there."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from api.core.errors import NotFoundError
from api.core.notify import Deadline
from api.fleet import leases, version_skew
from api.fleet import store as sandboxes
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
from api.service.container import Parts

router = APIRouter(tags=["fleet"])
_PAGE = 1_000


@router.post(
    "/v1/sandboxes",
    summary="Register a sandbox",
    responses={200: {"model": BeatShape}, **problems(401, 403, 409, 413, 422)},
    openapi_extra=takes(Register, keyed=False),
)
async def register(request: Request) -> Response:
    """A daemon says who it is. Registered again by the same instance it is the same sandbox, with
    its episode.

    409: a living sandbox has that name, or the daemon's version is not one that this service takes.
    """
    who = await caller(request, SANDBOX)
    parts = parts_of(request)
    wanted = parsed(Register, await read_body(request, parts.settings.limits.body_bytes))
    version_skew.check(request.app.version, wanted.agentd, wanted.wire)
    row = await parts.sandboxes.register(who.tenant, sandboxes.Newcomer(**wanted.model_dump()))
    return answer(await _sandbox_document(parts, row, None))


@router.post(
    "/v1/sandboxes/{sandbox}:beat",
    summary="A sandbox is alive",
    responses={200: {"model": BeatShape}, **problems(401, 403, 404, 413, 422)},
    openapi_extra=takes(Beat, keyed=False),
)
async def beat(request: Request) -> Response:
    """The daemon is there; an idle one waits here, at most `wait_ms`, for its next episode.

    `lease` is what it should work on; `given_up` that the service ended the episode `on` without
    it, and why.
    """
    who = await caller(request, SANDBOX)
    parts = parts_of(request)
    said = parsed(Beat, await read_body(request, parts.settings.limits.body_bytes))
    row = await parts.sandboxes.authenticate(
        who.tenant, request.path_params["sandbox"], said.instance
    )
    if said.done is not None:
        await parts.leases.free(row.id, said.done)
    if said.failed is not None and row.episode == said.failed.episode:
        await parts.leases.lose(
            said.failed.episode, f"its daemon could not go on: {said.failed.why}"[:1_024]
        )
    row = await parts.sandboxes.beat(row, said.through, said.gaps)
    row = await _busy(parts, row, Deadline(said.wait_ms))
    if row.episode != said.on and await request.is_disconnected():
        # Nobody is told by this answer: the daemon asks again, or was lost and the episode goes to
        # another one.
        return Response(status_code=499)
    return answer(await _sandbox_document(parts, row, said.on))


async def _busy(parts: Parts, row: Any, deadline: Deadline) -> Any:
    """The sandbox's row once it has an episode, or as it is when time is up."""
    while row.state == "idle":
        changed = parts.notifier.watch(sandboxes.offered(row.id))
        await parts.leases.take(row)
        row = await parts.sandboxes.get(row.id)
        if row.state != "idle" or not await parts.notifier.wait(changed, deadline.remaining_s()):
            break
        row = await parts.sandboxes.get(row.id)
    return row


async def _sandbox_document(parts: Parts, row: Any, on: str | None) -> dict[str, Any]:
    lease = None
    if row.episode is not None:
        if row.episode != on:
            await parts.leases.mark_announced(row.id, row.episode)
        episode = await parts.episodes.get(row.episode)
        token = parts.keys.append_token(episode.id)
        lease = {
            "episode": episode.id,
            "token": token,
            "task": episode.task,
            "version": episode.version,
        }
    return {
        "sandbox": row.id,
        "beat_s": parts.watch.beat_s,
        "lost_s": parts.settings.limits.sandbox_lost_s,
        "lease": lease,
        "given_up": None
        if on is None or on == row.episode
        else await parts.leases.given_up(row.tenant, on),
    }


@router.post(
    "/v1/sandboxes/{sandbox}:leave",
    summary="A sandbox goes for good",
    responses={200: {"model": LeftShape}, **problems(401, 403, 404, 413, 422)},
    openapi_extra=takes(Leave, keyed=False),
)
async def leave(request: Request) -> Response:
    """The daemon was told to stop. One with an episode stays until it is back, or is lost."""
    who = await caller(request, SANDBOX)
    parts = parts_of(request)
    said = parsed(Leave, await read_body(request, parts.settings.limits.body_bytes))
    row = await parts.sandboxes.authenticate(
        who.tenant, request.path_params["sandbox"], said.instance
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
async def listed(request: Request) -> Response:
    """Every sandbox: its last beat, its episode, its version, the sources that see nothing. `next`:
    the page after."""
    who = await caller(request, READ)
    parts = parts_of(request)
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
async def of_episode(request: Request) -> Response:
    """Which sandbox works on the episode, once one does; waits for that at most `wait_ms`."""
    await caller(request, READ)
    parts, episode, deadline = (
        parts_of(request),
        request.path_params["episode"],
        deadline_of(request),
    )
    while True:
        changed = parts.notifier.watch(leases.settled(episode))
        row = await parts.leases.find(episode)
        if row is None:
            raise NotFoundError(f"sandbox: episode {episode} was opened without asking for one")
        said = leases.describe(row)
        if said["state"] != "queued" or not await parts.notifier.wait(
            changed, deadline.remaining_s()
        ):
            return answer(said)

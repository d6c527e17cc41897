"""Rescores on the wire: asked for at once, worked at in the background, read while they grow."""

from __future__ import annotations

import asyncio

import orjson
from fastapi import APIRouter, Request, Response

from api.core.errors import InvalidError, TooLargeError
from api.http.describe import problems, query, takes
from api.http.once import once
from api.http.rescore_shapes import Rescore, RescoredPageShape, RescoreShape, RescoresShape
from api.http.support import (
    ADMIN,
    READ,
    answer,
    bad_task,
    caller,
    parsed,
    parts_of,
    read_body,
    whole_query,
)
from api.rescoring.corpus import Corpus, CorpusSelection
from api.rescoring.report import Tally
from api.rescoring.store import describe
from api.rewards.scored_episode import task_bytes
from api.service.container import Parts
from api.tasks.task_files import BadTaskError, check_task

router = APIRouter(tags=["rescores"])
_LISTED = 100
_MAX_PAGE = 100
_NUMBERS = 2**31 - 1
_STATUSES = ("same", "changed", "failed")
_STATUS = {
    "name": "status",
    "in": "query",
    "required": False,
    "description": "Only episodes of this status.",
    "schema": {"type": "string", "enum": list(_STATUSES)},
}


@router.post(
    "/v1/rescores",
    status_code=201,
    summary="Rescore stored episodes",
    responses={201: {"model": RescoreShape}, **problems(401, 403, 404, 409, 413, 422)},
    openapi_extra=takes(Rescore),
)
async def create(request: Request) -> Response:
    """Score closed episodes again under another task or this build's rules. What was paid stays;
    the answer says where the results will be."""
    who = await caller(request, ADMIN)
    parts = parts_of(request)
    content = await read_body(request, parts.settings.limits.body_bytes)

    async def work(_intent: str | None) -> Response:
        wanted = parsed(Rescore, content)
        task = await _task(parts, who.tenant, wanted)
        select = wanted.select
        of_task = select.task or (None if task is None else task[0])
        ids = None if select.episodes is None else tuple(select.episodes)
        chosen = await _chosen(
            parts,
            CorpusSelection(who.tenant, ids, of_task, select.version, select.digest, select.labels),
        )
        told = wanted.model_dump(exclude={"task"}) | {"task": None if task is None else task[0]}
        body = None if task is None else task[1]
        id = await parts.rescores.create(who.tenant, told, body, chosen, Tally().summary())
        parts.rescorer.wake()
        return answer(describe(await parts.rescores.get(who.tenant, id)), 201)

    return await once(request, who, content, work)


async def _task(parts: Parts, tenant: str, wanted: Rescore) -> tuple[str, bytes] | None:
    """The id and the canonical JSON of the task to score by; None: each episode's own."""
    if wanted.registered is not None:
        if wanted.task is not None:
            raise InvalidError("registered: wanted either it or task")
        row = await parts.tasks.find(tenant, wanted.registered.id, wanted.registered.version)
        return row.id, bytes(row.body)
    if wanted.task is None:
        return None
    size, most = len(orjson.dumps(wanted.task)), parts.settings.limits.task_bytes
    if size > most:
        raise TooLargeError(f"task: {size} bytes, wanted at most {most}")
    try:
        task = await asyncio.to_thread(check_task, wanted.task)
    except BadTaskError as error:
        raise bad_task(error) from None
    return task.id, task_bytes(task)


async def _chosen(parts: Parts, selection: CorpusSelection) -> list[str]:
    most = parts.settings.limits.rescore_episodes
    chosen: list[str] = []
    async for row in Corpus(parts.database).rows(selection):
        if len(chosen) == most:
            raise InvalidError(
                f"select: more than {most} closed episodes, wanted at most {most} in one rescore"
            )
        chosen.append(row.id)
    missing = sorted(set(selection.episodes or ()) - set(chosen))
    if missing:
        raise InvalidError(
            f"select.episodes: {missing[0]} is no closed episode that the other conditions choose"
        )
    if not chosen:
        raise InvalidError("select: no closed episode, wanted at least one")
    return chosen


@router.get(
    "/v1/rescores",
    summary="The latest rescores",
    responses={200: {"model": RescoresShape}, **problems(401, 403)},
)
async def listed(request: Request) -> Response:
    """The latest hundred, newest first."""
    who = await caller(request, READ)
    rows = await parts_of(request).rescores.listed(who.tenant, _LISTED)
    return answer({"rescores": [describe(row) for row in rows]})


@router.get(
    "/v1/rescores/{rescore}",
    summary="A rescore",
    responses={200: {"model": RescoreShape}, **problems(401, 403, 404)},
)
async def one(request: Request) -> Response:
    """How far it is, and what it found so far: done and nothing changed where `summary.changed` and
    `.failed` are 0."""
    who = await caller(request, READ)
    return answer(
        describe(await parts_of(request).rescores.get(who.tenant, request.path_params["rescore"]))
    )


@router.get(
    "/v1/rescores/{rescore}/episodes",
    summary="A rescore's results",
    responses={200: {"model": RescoredPageShape}, **problems(401, 403, 404, 422)},
    openapi_extra={
        "parameters": [
            query("after", "Results with a higher number.", _NUMBERS),
            query("limit", "The most results to give.", _MAX_PAGE, 20),
            _STATUS,
        ]
    },
)
async def results(request: Request) -> Response:
    """Finished episodes in their order, each with its new result and what differs from the one that
    was paid."""
    who = await caller(request, READ)
    row = await parts_of(request).rescores.get(who.tenant, request.path_params["rescore"])
    after = whole_query(request, "after", 0, _NUMBERS)
    limit = max(1, whole_query(request, "limit", 20, _MAX_PAGE))
    status = request.query_params.get("status")
    if status is not None and status not in _STATUSES:
        raise InvalidError(f"status: got {status[:40]!r}, wanted {', '.join(_STATUSES)}")
    found = await parts_of(request).rescores.results(row.number, after, limit, status)
    return answer({"episodes": found, "next": found[-1]["number"] if len(found) == limit else None})


@router.delete(
    "/v1/rescores/{rescore}",
    status_code=204,
    summary="Forget a rescore",
    response_class=Response,
    responses={
        204: {"description": "It is stopped, and its results are gone."},
        **problems(401, 403, 404),
    },
)
async def remove(request: Request) -> Response:
    """Stop it if it runs and forget its results; what was paid is not touched."""
    who = await caller(request, ADMIN)
    await parts_of(request).rescores.remove(who.tenant, request.path_params["rescore"])
    return Response(status_code=204)

"""Rescores on the wire: created at once, computed in the background, read while they grow."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, Depends, Path, Query, Request, Response

from api.auth.store import Principal
from api.core.errors import InvalidError, TooLargeError
from api.core.settings import Limits
from api.http.authorization import requires
from api.http.dependencies import RescoresPart
from api.http.describe import problems
from api.http.json_route import JsonRoute
from api.http.once import IdempotencyPart
from api.http.parameters import DIGITS
from api.http.rescore_shapes import Rescore, RescoredPageShape, RescoreShape, RescoresShape
from api.http.support import ADMIN, READ, answer, bad_task, parts_of
from api.rescoring.background import Rescorer
from api.rescoring.corpus import Corpus, CorpusSelection
from api.rescoring.report import Tally
from api.rescoring.store import Rescores, describe
from api.rewards.scored_episode import task_bytes
from api.tasks.store import Tasks
from api.tasks.task_files import BadTaskError, check_task

router = APIRouter(tags=["rescores"], route_class=JsonRoute)
_LISTED = 100
_MAX_PAGE = 100
_NUMBERS = 2**31 - 1
Reader = Annotated[Principal, requires(READ)]
RescoreId = Annotated[str, Path(description="The rescore's id.")]


@dataclass(frozen=True, slots=True)
class CreationParts:
    """What creating a rescore uses of the service."""

    rescores: Rescores
    rescorer: Rescorer
    tasks: Tasks
    corpus: Corpus
    limits: Limits


async def _creation_parts(request: Request) -> CreationParts:
    parts = parts_of(request)
    return CreationParts(
        parts.rescores,
        parts.rescorer,
        parts.tasks,
        Corpus(parts.database),
        parts.settings.limits,
    )


@router.post(
    "/v1/rescores",
    status_code=201,
    summary="Rescore stored episodes",
    response_model=RescoreShape,
    responses=problems(401, 403, 404, 409, 413, 422),
)
async def create(
    who: Annotated[Principal, requires(ADMIN)],
    parts: Annotated[CreationParts, Depends(_creation_parts)],
    idempotency: IdempotencyPart,
    rescore: Rescore,
) -> Response:
    """Score closed episodes again under another task or this build's rules. What was paid stays;
    the answer says where the results will be."""

    async def work(_intent: str | None) -> Response:
        """Select the episodes, keep what is asked for, and wake who works on it."""
        task_id, task_body = await _find_task(parts, who.tenant, rescore)
        select = rescore.select
        selection = CorpusSelection(
            who.tenant,
            None if select.episodes is None else tuple(select.episodes),
            select.task or task_id,
            select.version,
            select.digest,
            select.labels,
        )
        episodes = await _select_episodes(parts, selection)
        terms = rescore.model_dump(exclude={"task"}) | {"task": task_id}
        id = await parts.rescores.create(who.tenant, terms, task_body, episodes, Tally().summary())
        parts.rescorer.wake()
        return answer(describe(await parts.rescores.get(who.tenant, id)), 201)

    return await idempotency.once(who, work)


async def _find_task(
    parts: CreationParts, tenant: str, rescore: Rescore
) -> tuple[str | None, bytes | None]:
    """Return the id and the canonical JSON of the task to score by; None: each episode's own."""
    registered = rescore.registered
    if registered is not None:
        if rescore.task is not None:
            raise InvalidError("registered: wanted either it or task")
        row = await parts.tasks.find(tenant, registered.id, registered.version)
        return row.id, bytes(row.body)
    if rescore.task is None:
        return None, None
    size, max_size = len(orjson.dumps(rescore.task)), parts.limits.task_bytes
    if size > max_size:
        raise TooLargeError(f"task: {size} bytes, wanted at most {max_size}")
    try:
        task = await asyncio.to_thread(check_task, rescore.task, values_needed=True)
    except BadTaskError as error:
        raise bad_task(error) from None
    return task.id, task_bytes(task)


async def _select_episodes(parts: CreationParts, selection: CorpusSelection) -> list[str]:
    """Return the ids of the selected closed episodes. Raises `InvalidError` for none, too many, or
    a named one that is not among them."""
    maximum = parts.limits.rescore_episodes
    chosen: list[str] = []
    async for row in parts.corpus.rows(selection):
        if len(chosen) == maximum:
            raise InvalidError(
                f"select: more than {maximum} closed episodes, wanted at most {maximum} in one"
                " rescore"
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
    response_model=RescoresShape,
    responses=problems(401, 403),
)
async def listed(who: Reader, rescores: RescoresPart) -> Response:
    """List the hundred latest rescores, newest first."""
    rows = await rescores.listed(who.tenant, _LISTED)
    return answer({"rescores": [describe(row) for row in rows]})


@router.get(
    "/v1/rescores/{rescore}",
    summary="A rescore",
    response_model=RescoreShape,
    responses=problems(401, 403, 404),
    operation_id="one_v1_rescores__rescore__get",
)
async def get_rescore(who: Reader, rescore: RescoreId, rescores: RescoresPart) -> Response:
    """How far it is, and what it found so far: done and nothing changed where `summary.changed` and
    `.failed` are 0."""
    return answer(describe(await rescores.get(who.tenant, rescore)))


@router.get(
    "/v1/rescores/{rescore}/episodes",
    summary="A rescore's results",
    response_model=RescoredPageShape,
    responses=problems(401, 403, 404, 422),
)
async def results(
    who: Reader,
    rescore: RescoreId,
    rescores: RescoresPart,
    after: Annotated[
        int, Query(ge=0, le=_NUMBERS, description="Results with a higher number."), DIGITS
    ] = 0,
    limit: Annotated[
        int, Query(ge=0, le=_MAX_PAGE, description="The most results to give."), DIGITS
    ] = 20,
    status: Annotated[
        Literal["same", "changed", "failed"] | None,
        Query(description="Only episodes of this status."),
    ] = None,
) -> Response:
    """Finished episodes in their order, each with its new result and what differs from the one that
    was paid."""
    row = await rescores.get(who.tenant, rescore)
    limit = max(1, limit)
    page = await rescores.results(row.number, after, limit, status)
    return answer({"episodes": page, "next": page[-1]["number"] if len(page) == limit else None})


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
async def remove(
    who: Annotated[Principal, requires(ADMIN)], rescore: RescoreId, rescores: RescoresPart
) -> Response:
    """Stop it if it runs and forget its results; what was paid is not touched."""
    await rescores.remove(who.tenant, rescore)
    return Response(status_code=204)

"""One step's reward, and many: the way that trainers walk most."""

from __future__ import annotations

import asyncio

import orjson
from fastapi import APIRouter, Request, Response

from api.core.errors import ProblemError
from api.core.notify import Deadline
from api.http.describe import WAIT, problems, takes
from api.http.shapes import Item, Query, RewardShape, RewardsShape
from api.http.support import (
    JSON,
    READ,
    caller,
    checked_step,
    deadline_of,
    parsed,
    parts_of,
    read_body,
)
from api.service.container import Parts

router = APIRouter(tags=["rewards"])


@router.get(
    "/v1/episodes/{episode}/steps/{step:step}/reward",
    summary="A step's reward",
    responses={200: {"model": RewardShape}, **problems(401, 403, 404, 422)},
    openapi_extra={"parameters": [WAIT]},
)
async def reward(request: Request) -> Response:
    """Wait for the seal at most `wait_ms`, then answer `settling` with a null reward that is
    masked."""
    who = await caller(request, READ)
    parts = parts_of(request)
    parts.metrics.reward_reads.inc()
    episode, step = request.path_params["episode"], request.path_params["step"]
    body = parts.rewards.at_once(who.tenant, episode, step)
    if body is None:
        body = await parts.rewards.read(
            who.tenant, episode, checked_step(step), deadline_of(request)
        )
    return Response(body, media_type=JSON)


@router.post(
    "/v1/rewards:query",
    summary="Many rewards",
    responses={200: {"model": RewardsShape}, **problems(401, 403, 413, 422)},
    openapi_extra=takes(Query, keyed=False),
)
async def rewards(request: Request) -> Response:
    """Read many rewards in order, each with its own status or `error`. A read: needs no
    Idempotency-Key."""
    who = await caller(request, READ)
    parts = parts_of(request)
    query = parsed(Query, await read_body(request, parts.settings.limits.body_bytes))
    parts.metrics.reward_reads.inc(len(query.items))
    deadline = Deadline(query.wait_ms)
    found = await asyncio.gather(
        *(_reward_bytes(parts, who.tenant, item, deadline) for item in query.items)
    )
    if query.credit_to != "as_paid":
        found = await _credited(parts, query, found)
    return Response(b'{"rewards":[' + b",".join(found) + b"]}", media_type=JSON)


async def _credited(parts: Parts, query: Query, found: list[bytes]) -> list[bytes]:
    """The same rewards with the credit of their steps; each episode is read once."""
    documents = [orjson.loads(body) for body in found]
    pairs = list(zip(query.items, documents, strict=True))
    there = dict.fromkeys(item.episode for item, one in pairs if "error" not in one)
    credit = {
        episode: await parts.credits.of_episode(episode, query.credit_to) for episode in there
    }
    return [
        body
        if "error" in one
        else orjson.dumps({**one, "credit": credit[item.episode].get(item.step)})
        for (item, one), body in zip(pairs, found, strict=True)
    ]


async def _reward_bytes(parts: Parts, tenant: str, item: Item, deadline: Deadline) -> bytes:
    body = parts.rewards.at_once(tenant, item.episode, item.step)
    if body is not None:
        return body
    try:
        return await parts.rewards.read(tenant, item.episode, item.step, deadline)
    except ProblemError as problem:
        return orjson.dumps({"error": problem.document()})

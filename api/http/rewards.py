"""One step's reward, and many: the way that trainers walk most."""

from __future__ import annotations

import asyncio

import orjson
from fastapi import APIRouter, Request, Response

from api.core.errors import ProblemError
from api.core.notify import Deadline
from api.http.answer_shapes import RewardShape, RewardsShape
from api.http.describe import EPISODE, STEP, WAIT, describe_scopes, problems, takes
from api.http.shapes import Item, Query
from api.http.support import (
    JSON,
    READ,
    caller,
    checked_step,
    deadline_of,
    parse_body,
    parts_of,
    read_body,
)
from api.rewards.credits import Credits, CreditView
from api.rewards.rewards import RewardReader

router = APIRouter(tags=["rewards"])


@router.get(
    "/v1/episodes/{episode}/steps/{step:step}/reward",
    summary="A step's reward",
    responses={200: {"model": RewardShape}, **problems(401, 403, 404, 422)},
    openapi_extra={**describe_scopes(READ), "parameters": [EPISODE, STEP, WAIT]},
)
async def reward(request: Request) -> Response:  # hot: FastAPI's resolving would double its cost
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
    openapi_extra={**takes(Query), **describe_scopes(READ)},
)
async def rewards(request: Request) -> Response:  # hot, as one reward is
    """Read many rewards in order, each with its own status or `error`. A read: needs no
    Idempotency-Key."""
    who = await caller(request, READ)
    parts = parts_of(request)
    query = parse_body(Query, await read_body(request, parts.settings.limits.body_bytes))
    parts.metrics.reward_reads.inc(len(query.items))
    parts.owners.hear(who, (item.episode for item in query.items))
    deadline = Deadline(query.wait_ms)
    bodies = await asyncio.gather(
        *(_read_reward(parts.rewards, who.tenant, item, deadline) for item in query.items)
    )
    if query.credit_to != "as_paid":
        bodies = await _add_credit(parts.credits, query, bodies)
    return Response(b'{"rewards":[' + b",".join(bodies) + b"]}", media_type=JSON)


async def _add_credit(credits: Credits, query: Query, bodies: list[bytes]) -> list[bytes]:
    """Return the same rewards with the credit of their steps; each episode is read once."""
    credited: list[bytes] = []
    by_episode: dict[str, CreditView] = {}
    for item, body in zip(query.items, bodies, strict=True):
        reward = orjson.loads(body)
        if "error" in reward:
            credited.append(body)
            continue
        if item.episode not in by_episode:
            by_episode[item.episode] = await credits.of_episode(item.episode, query.credit_to)
        view = by_episode[item.episode]
        reward["credit"] = view.credit.get(item.step)
        if item.step in view.siblings:
            reward["siblings"] = view.siblings[item.step]
        credited.append(orjson.dumps(reward))
    return credited


async def _read_reward(rewards: RewardReader, tenant: str, item: Item, deadline: Deadline) -> bytes:
    """Read one reward, or the problem document for it, as JSON."""
    body = rewards.at_once(tenant, item.episode, item.step)
    if body is not None:
        return body
    try:
        return await rewards.read(tenant, item.episode, item.step, deadline)
    except ProblemError as problem:
        return orjson.dumps({"error": problem.document()})

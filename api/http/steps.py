"""What the harness says through the service: steps, answers, tool calls. The daemon journals it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from fastapi import APIRouter, Request, Response

from api.commands.store import Queued
from api.core.notify import Deadline
from api.http.describe import problems, takes
from api.http.once import once
from api.http.shapes import Answer, BeginStep, CallTool, EndStep, NotedShape, ReturnTool
from api.http.support import TRAINER, answer, caller, checked_step, parsed, parts_of, read_body
from api.service.container import Parts

router = APIRouter(tags=["steps"])
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"model": NotedShape},
    202: {"model": NotedShape, "description": "Queued for the daemon."},
    **problems(401, 403, 404, 409, 413, 422),
}


class _Waits(Protocol):
    wait_ms: int


Queue = Callable[[str, str | None], Awaitable[Queued]]


async def _noted(
    request: Request, content: bytes, who: Any, wanted: _Waits, queue: Queue
) -> Response:
    parts = parts_of(request)
    episode = request.path_params["episode"]

    async def work(intent: str | None) -> Response:
        queued = await queue(episode, intent)
        said = await parts.channel.journalled(episode, queued, Deadline(wanted.wait_ms))
        return answer(said, 200 if "seq" in said else 202)

    return await once(request, who, content, work)


async def _received(request: Request) -> tuple[Parts, Any, bytes]:
    who = await caller(request, TRAINER)
    parts = parts_of(request)
    return parts, who, await read_body(request, parts.settings.limits.body_bytes)


@router.post(
    "/v1/episodes/{episode}/steps",
    summary="Begin a step",
    responses=_RESPONSES,
    openapi_extra=takes(BeginStep, required=False),
)
async def begin(request: Request) -> Response:
    """Begin the next step with its action; the step that began last again gives the same answer."""
    parts, who, content = await _received(request)
    wanted = parsed(BeginStep, content)

    async def queue(episode: str, intent: str | None) -> Queued:
        return await parts.commands.begin(episode, wanted.step, wanted.action, intent)

    return await _noted(request, content, who, wanted, queue)


@router.post(
    "/v1/episodes/{episode}/steps/{step:step}:end",
    summary="End a step",
    responses=_RESPONSES,
    openapi_extra=takes(EndStep, required=False),
)
async def end(request: Request) -> Response:
    """End the step that began last; its reward is sealed once its effects are in."""
    parts, who, content = await _received(request)
    wanted = parsed(EndStep, content)
    step = checked_step(request.path_params["step"])

    async def queue(episode: str, intent: str | None) -> Queued:
        return await parts.commands.end(episode, step, intent)

    return await _noted(request, content, who, wanted, queue)


async def _say(
    request: Request, model: type[Answer] | type[CallTool] | type[ReturnTool], kind: str
) -> Response:
    parts, who, content = await _received(request)
    wanted = parsed(model, content)
    data = wanted.model_dump(exclude={"wait_ms"}, exclude_unset=True)

    async def queue(episode: str, intent: str | None) -> Queued:
        return await parts.commands.say(episode, kind, data, intent)

    return await _noted(request, content, who, wanted, queue)


@router.post(
    "/v1/episodes/{episode}/answers",
    summary="The agent answers",
    responses=_RESPONSES,
    openapi_extra=takes(Answer),
)
async def answers(request: Request) -> Response:
    """Say the agent's final answer."""
    return await _say(request, Answer, "agent.answered")


@router.post(
    "/v1/episodes/{episode}/tools:call",
    summary="The agent calls a tool",
    responses=_RESPONSES,
    openapi_extra=takes(CallTool),
)
async def tool_called(request: Request) -> Response:
    """Say that the agent called a tool."""
    return await _say(request, CallTool, "agent.tool_called")


@router.post(
    "/v1/episodes/{episode}/tools:return",
    summary="A tool returns",
    responses=_RESPONSES,
    openapi_extra=takes(ReturnTool),
)
async def tool_returned(request: Request) -> Response:
    """Say that the tool came back."""
    return await _say(request, ReturnTool, "agent.tool_returned")

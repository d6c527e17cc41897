"""Commands of a harness: steps, answers, tool calls. The daemon journals them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Depends, Request, Response

from api.auth.store import Principal
from api.commands.command_queue import Channel
from api.commands.store import Commands, Queued
from api.core.notify import Deadline
from api.core.settings import Limits
from api.http.describe import problems, takes
from api.http.once import once
from api.http.shapes import Answer, BeginStep, CallTool, EndStep, NotedShape, ReturnTool
from api.http.support import TRAINER, answer, caller, checked_step, parsed, parts_of, read_body

router = APIRouter(tags=["steps"])
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"model": NotedShape},
    202: {"model": NotedShape, "description": "Queued for the daemon."},
    **problems(401, 403, 404, 409, 413, 422),
}


class _HasWait(Protocol):
    wait_ms: int


Queue = Callable[[str, str | None], Awaitable[Queued]]
"""Queues a command for an episode, under the intent of its Idempotency-Key."""


@dataclass(frozen=True, slots=True)
class CommandParts:
    """What these routes use of the service."""

    commands: Commands
    channel: Channel
    limits: Limits


async def _command_parts(request: Request) -> CommandParts:
    parts = parts_of(request)
    return CommandParts(parts.commands, parts.channel, parts.settings.limits)


UsedParts = Annotated[CommandParts, Depends(_command_parts)]


async def _receive(request: Request, limits: Limits) -> tuple[Principal, bytes]:
    """Return the caller, a trainer, and the body."""
    who = await caller(request, TRAINER)
    return who, await read_body(request, limits.body_bytes)


async def _run_command(
    request: Request,
    channel: Channel,
    who: Principal,
    content: bytes,
    command: _HasWait,
    queue: Queue,
) -> Response:
    """Queue the command and answer 200 once its daemon journalled it, 202 when time is up."""
    episode = request.path_params["episode"]

    async def work(intent: str | None) -> Response:
        queued = await queue(episode, intent)
        outcome = await channel.journalled(episode, queued, Deadline(command.wait_ms))
        return answer(outcome, 200 if "seq" in outcome else 202)

    return await once(request, who, content, work)


@router.post(
    "/v1/episodes/{episode}/steps",
    summary="Begin a step",
    responses=_RESPONSES,
    openapi_extra=takes(BeginStep, required=False),
)
async def begin(request: Request, parts: UsedParts) -> Response:
    """Begin the next step with its action; the step that began last again gives the same answer."""
    who, content = await _receive(request, parts.limits)
    command = parsed(BeginStep, content)

    async def queue(episode: str, intent: str | None) -> Queued:
        return await parts.commands.begin(episode, command.step, command.action, intent)

    return await _run_command(request, parts.channel, who, content, command, queue)


@router.post(
    "/v1/episodes/{episode}/steps/{step:step}:end",
    summary="End a step",
    responses=_RESPONSES,
    openapi_extra=takes(EndStep, required=False),
)
async def end(request: Request, parts: UsedParts) -> Response:
    """End the step that began last; its reward is sealed once its effects are in."""
    who, content = await _receive(request, parts.limits)
    command = parsed(EndStep, content)
    step = checked_step(request.path_params["step"])

    async def queue(episode: str, intent: str | None) -> Queued:
        return await parts.commands.end(episode, step, intent)

    return await _run_command(request, parts.channel, who, content, command, queue)


async def _report(
    request: Request,
    parts: CommandParts,
    model: type[Answer] | type[CallTool] | type[ReturnTool],
    kind: str,
) -> Response:
    """Queue an event of ``kind``, with the body's members as its data."""
    who, content = await _receive(request, parts.limits)
    command = parsed(model, content)
    data = command.model_dump(exclude={"wait_ms"}, exclude_unset=True)

    async def queue(episode: str, intent: str | None) -> Queued:
        return await parts.commands.say(episode, kind, data, intent)

    return await _run_command(request, parts.channel, who, content, command, queue)


@router.post(
    "/v1/episodes/{episode}/answers",
    summary="The agent answers",
    responses=_RESPONSES,
    openapi_extra=takes(Answer),
)
async def answers(request: Request, parts: UsedParts) -> Response:
    """Say the agent's final answer."""
    return await _report(request, parts, Answer, "agent.answered")


@router.post(
    "/v1/episodes/{episode}/tools:call",
    summary="The agent calls a tool",
    responses=_RESPONSES,
    openapi_extra=takes(CallTool),
)
async def tool_called(request: Request, parts: UsedParts) -> Response:
    """Say that the agent called a tool."""
    return await _report(request, parts, CallTool, "agent.tool_called")


@router.post(
    "/v1/episodes/{episode}/tools:return",
    summary="A tool returns",
    responses=_RESPONSES,
    openapi_extra=takes(ReturnTool),
)
async def tool_returned(request: Request, parts: UsedParts) -> Response:
    """Say that the tool came back."""
    return await _report(request, parts, ReturnTool, "agent.tool_returned")

"""Commands of a harness: steps, answers, tool calls. The daemon journals them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from api.auth.store import Principal
from api.commands.command_queue import Channel
from api.commands.store import Commands, Queued
from api.core.notify import Deadline
from api.http.answer_shapes import NotedShape
from api.http.authorization import requires
from api.http.describe import problems
from api.http.json_route import JsonRoute
from api.http.once import Idempotency, IdempotencyPart
from api.http.parameters import EpisodeId, Step
from api.http.shapes import Answer, BeginStep, CallTool, EndStep, ReturnTool
from api.http.support import TRAINER, answer, parts_of

router = APIRouter(tags=["steps"], route_class=JsonRoute)
_BEGIN, _END = BeginStep(), EndStep()
_RESPONSES: dict[int | str, dict[str, Any]] = {
    202: {"model": NotedShape, "description": "Queued for the daemon."},
    **problems(401, 403, 404, 409, 413, 422),
}


Queue = Callable[[str, str | None], Awaitable[Queued]]
"""Queues a command for an episode, under the intent of its Idempotency-Key."""


@dataclass(frozen=True, slots=True)
class CommandParts:
    """What these routes use of the service."""

    commands: Commands
    channel: Channel


async def _command_parts(request: Request) -> CommandParts:
    parts = parts_of(request)
    return CommandParts(parts.commands, parts.channel)


UsedParts = Annotated[CommandParts, Depends(_command_parts)]
Trainer = Annotated[Principal, requires(TRAINER)]


async def _run_command(
    who: Principal,
    channel: Channel,
    idempotency: Idempotency,
    episode: str,
    wait_ms: int,
    queue: Queue,
) -> Response:
    """Queue the command and answer 200 once its daemon journalled it, 202 when time is up."""

    async def work(intent: str | None) -> Response:
        queued = await queue(episode, intent)
        outcome = await channel.journalled(episode, queued, Deadline(wait_ms))
        return answer(outcome, 200 if "seq" in outcome else 202)

    return await idempotency.once(who, work)


@router.post(
    "/v1/episodes/{episode}/steps",
    summary="Begin a step",
    response_model=NotedShape,
    responses=_RESPONSES,
)
async def begin(
    who: Trainer,
    episode: EpisodeId,
    parts: UsedParts,
    idempotency: IdempotencyPart,
    command: BeginStep = _BEGIN,
) -> Response:
    """Begin the next step with its action; the step that began last again gives the same answer."""

    async def queue(episode: str, intent: str | None) -> Queued:
        return await parts.commands.begin(episode, command.step, command.action, intent)

    return await _run_command(who, parts.channel, idempotency, episode, command.wait_ms, queue)


@router.post(
    "/v1/episodes/{episode}/steps/{step:step}:end",
    summary="End a step",
    response_model=NotedShape,
    responses=_RESPONSES,
)
async def end(
    who: Trainer,
    episode: EpisodeId,
    step: Step,
    parts: UsedParts,
    idempotency: IdempotencyPart,
    command: EndStep = _END,
) -> Response:
    """End the step that began last; its reward is sealed once its effects are in."""

    async def queue(episode: str, intent: str | None) -> Queued:
        return await parts.commands.end(episode, step, intent)

    return await _run_command(who, parts.channel, idempotency, episode, command.wait_ms, queue)


async def _report(
    who: Principal,
    parts: CommandParts,
    idempotency: Idempotency,
    episode: str,
    kind: str,
    command: Answer | CallTool | ReturnTool,
) -> Response:
    """Queue an event of ``kind``, with the body's members as its data."""
    data = command.model_dump(exclude={"wait_ms"}, exclude_unset=True)

    async def queue(episode: str, intent: str | None) -> Queued:
        return await parts.commands.say(episode, kind, data, intent)

    return await _run_command(who, parts.channel, idempotency, episode, command.wait_ms, queue)


@router.post(
    "/v1/episodes/{episode}/answers",
    summary="The agent answers",
    response_model=NotedShape,
    responses=_RESPONSES,
)
async def answers(
    who: Trainer,
    episode: EpisodeId,
    parts: UsedParts,
    idempotency: IdempotencyPart,
    command: Answer,
) -> Response:
    """Have the daemon note the agent's final answer in the step that runs."""
    return await _report(who, parts, idempotency, episode, "agent.answered", command)


@router.post(
    "/v1/episodes/{episode}/tools:call",
    summary="The agent calls a tool",
    response_model=NotedShape,
    responses=_RESPONSES,
)
async def tool_called(
    who: Trainer,
    episode: EpisodeId,
    parts: UsedParts,
    idempotency: IdempotencyPart,
    command: CallTool,
) -> Response:
    """Say that the agent called a tool."""
    return await _report(who, parts, idempotency, episode, "agent.tool_called", command)


@router.post(
    "/v1/episodes/{episode}/tools:return",
    summary="A tool returns",
    response_model=NotedShape,
    responses=_RESPONSES,
)
async def tool_returned(
    who: Trainer,
    episode: EpisodeId,
    parts: UsedParts,
    idempotency: IdempotencyPart,
    command: ReturnTool,
) -> Response:
    """Say that the tool came back."""
    return await _report(who, parts, idempotency, episode, "agent.tool_returned", command)

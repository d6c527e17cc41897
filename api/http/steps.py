"""Commands of a harness: steps, answers, tool calls. The daemon journals them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Request, Response

from api.auth.store import Principal
from api.cascade.submitted import MAX_OF_EPISODE, check_pointers
from api.commands.command_queue import CommandQueue
from api.commands.store import Commands, Queued
from api.core.notify import Deadline
from api.episodes.store import Episodes
from api.http.answer_shapes import AdvancedShape, NotedShape, SealedShape
from api.http.authorization import requires
from api.http.describe import problems
from api.http.json_route import JsonRoute
from api.http.once import Idempotency, IdempotencyPart
from api.http.parameters import EpisodeId, Step
from api.http.shapes import (
    AdvanceStep,
    Answer,
    BeginStep,
    CallTool,
    EndStep,
    ReturnTool,
    SubmitEvidence,
)
from api.http.support import JSON, TRAINER, answer, parts_of
from api.log.reader import Follower
from api.rewards.rewards import RewardReader
from api.stages.judge.facts import SUBMITTED
from api.tasks.store import Tasks

router = APIRouter(tags=["steps"], route_class=JsonRoute)
_BEGIN, _END, _ADVANCE = BeginStep(), EndStep(), AdvanceStep()
_RESPONSES: dict[int | str, dict[str, object]] = {
    202: {"model": NotedShape, "description": "Queued for the daemon."},
    **problems(401, 403, 404, 409, 413, 422),
}


UNSETTLED = ("settling", "escalating")
"""Statuses of a reward that is not final."""

Queue = Callable[[str, str | None], Awaitable[Queued]]
"""Queues a command for an episode, under the intent of its Idempotency-Key."""


@dataclass(frozen=True, slots=True)
class CommandParts:
    """What these routes use of the service."""

    commands: Commands
    channel: CommandQueue
    rewards: RewardReader
    episodes: Episodes
    follower: Follower
    tasks: Tasks


async def _command_parts(request: Request) -> CommandParts:
    parts = parts_of(request)
    return CommandParts(
        commands=parts.commands,
        channel=parts.channel,
        rewards=parts.rewards,
        episodes=parts.episodes,
        follower=parts.follower,
        tasks=parts.tasks,
    )


UsedParts = Annotated[CommandParts, Depends(_command_parts)]
Trainer = Annotated[Principal, requires(TRAINER)]


async def _run_command(
    who: Principal,
    channel: CommandQueue,
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


@router.post(
    "/v1/episodes/{episode}/steps/{step:step}:advance",
    summary="End a step, begin the next",
    response_model=AdvancedShape,
    responses={
        202: {"model": AdvancedShape, "description": "Queued, or the reward is not final yet."},
        **problems(401, 403, 404, 409, 413, 422),
    },
)
async def advance(
    who: Trainer,
    episode: EpisodeId,
    step: Step,
    parts: UsedParts,
    idempotency: IdempotencyPart,
    command: AdvanceStep = _ADVANCE,
) -> Response:
    """End step `step`, wait for its effects, begin the next one, and answer with the reward of
    `step`: what ends, begins and reads in three calls, in one."""

    async def queue(episode: str, intent: str | None) -> Queued:
        return await parts.commands.begin(episode, step + 1, command.action, intent, settle=True)

    return await _run_with_reward(who, parts, idempotency, episode, step, command.wait_ms, queue)


@router.post(
    "/v1/episodes/{episode}/steps/{step:step}:seal",
    summary="End a step, read its reward",
    response_model=SealedShape,
    responses={
        202: {"model": SealedShape, "description": "Queued, or the reward is not final yet."},
        **problems(401, 403, 404, 409, 413, 422),
    },
)
async def seal(
    who: Trainer,
    episode: EpisodeId,
    step: Step,
    parts: UsedParts,
    idempotency: IdempotencyPart,
    command: EndStep = _END,
) -> Response:
    """End step `step`, wait for its effects, and answer with its reward: what ends and reads in two
    calls, in one."""

    async def queue(episode: str, intent: str | None) -> Queued:
        return await parts.commands.end(episode, step, intent)

    return await _run_with_reward(who, parts, idempotency, episode, step, command.wait_ms, queue)


async def _run_with_reward(
    who: Principal,
    parts: CommandParts,
    idempotency: Idempotency,
    episode: str,
    step: int,
    wait_ms: int,
    queue: Queue,
) -> Response:
    """Queue a command that ends ``step``; answer 200 once its daemon journalled it and the step's
    reward is final, 202 when time is up."""

    async def work(intent: str | None) -> Response:
        """Queue a command, wait until the daemon recorded it and the reward is final, as far as the
        deadline allows."""
        deadline = Deadline(wait_ms)
        queued = await queue(episode, intent)
        outcome = await parts.channel.journalled(episode, queued, deadline)
        reward = await parts.rewards.read(who.tenant, episode, step, deadline)
        is_final = orjson.loads(reward)["status"] not in UNSETTLED
        body = orjson.dumps({**outcome, "reward": orjson.Fragment(reward)})
        return Response(body, 200 if "seq" in outcome and is_final else 202, media_type=JSON)

    return await idempotency.once(who, work)


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
    "/v1/episodes/{episode}/evidence",
    summary="The agent points to evidence",
    response_model=NotedShape,
    responses=_RESPONSES,
)
async def evidence(
    who: Trainer,
    episode: EpisodeId,
    parts: UsedParts,
    idempotency: IdempotencyPart,
    command: SubmitEvidence,
) -> Response:
    """Point to events and pictures that show a criterion of the rubric to be met. They must be in
    the log; a judge sees them as a claim, which proves nothing without the events themselves."""
    row = await parts.episodes.get(episode)
    await check_pointers(
        parts.follower,
        episode,
        row.through,
        await parts.tasks.ruleset(row.task_number),
        command.criterion,
        command.events,
        command.pictures,
    )
    data = command.model_dump(exclude={"wait_ms"})

    async def queue(episode: str, intent: str | None) -> Queued:
        return await parts.commands.say(episode, SUBMITTED, data, intent, most=MAX_OF_EPISODE)

    return await _run_command(who, parts.channel, idempotency, episode, command.wait_ms, queue)


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

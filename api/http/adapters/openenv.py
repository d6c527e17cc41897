"""OpenEnv's environment server, as far as one can be that only watches: `/openenv/ws`, `/health`,
`/schema`.

A session is a socket. `reset` binds it to an episode or a task, each `step` gives the reward of the
turn that ends with it; where a reward can't be known the answer is an `error` frame, never a 0.
"""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Response, WebSocket
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.websockets import WebSocketDisconnect

from api.auth.store import Principal
from api.core.errors import InvalidError, ProblemError, UnauthorizedError, UnavailableError
from api.core.frames import MAX_NUMBER
from api.core.notify import Deadline
from api.http.adapters.shared import clean
from api.http.dependencies import AuthenticatorPart, LimitsPart, OwnersPart, ScorerPart, TurnsPart
from api.http.support import (
    TRAINER,
    Authentication,
    answer,
    authenticate,
    invalid_error,
    is_in_force,
    require_scope,
    token_of,
)
from api.scoring.fold import RewardFolding
from api.scoring.reference import Reference, reference_of
from api.scoring.scorer import ScoredSample, Scorer
from api.scoring.turns import Turns

router = APIRouter(prefix="/openenv", tags=["adapters"])
WAIT_MS = 45_000
"""Below the 60 seconds after which OpenEnv's client gives up its socket."""
MAX_MESSAGE_BYTES = 1024 * 1024


class Action(BaseModel):
    """One turn. `answer`: the agent's final answer, which ends the episode; `step`: only read that
    step's reward."""

    model_config = ConfigDict(extra="allow")

    answer: Annotated[str, Field(max_length=65_536)] | None = None
    step: Annotated[int, Field(ge=0, le=MAX_NUMBER)] | None = None


class OpenEnvObservation(BaseModel):
    """The task's instruction, and the step that runs now (null: none any more)."""

    instruction: str
    episode_id: str | None
    step: int | None


class OpenEnvState(BaseModel):
    """Where the session is."""

    episode_id: str | None
    task_id: str | None
    step_count: int


class OpenEnvSession:
    """One socket's rollout."""

    def __init__(self, turns: Turns, scorer: Scorer, tenant: str) -> None:
        self._turns, self._scorer, self._tenant = turns, scorer, tenant
        self._where: Reference | None = None
        self._instruction = ""
        self._step: int | None = None
        self._steps = 0

    @property
    def episode(self) -> str | None:
        """The episode that the session was reset with."""
        return self._where.episode if self._where else None

    async def take(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to one message. Raises `ProblemError`."""
        kind, data = message.get("type"), message.get("data") or {}
        if kind == "reset":
            return await self._reset(data)
        if kind == "step":
            return await self._turn(_action(data))
        if kind == "state":
            where = self._where or Reference()
            return {
                "type": "state",
                "data": (
                    OpenEnvState(
                        episode_id=where.episode, task_id=where.task, step_count=self._steps
                    ).model_dump()
                ),
            }
        raise InvalidError(
            f"type: got {str(kind)[:40]!r}, wanted reset, step, state or close", code="UNKNOWN_TYPE"
        )

    async def _reset(self, data: dict[str, object]) -> dict[str, object]:
        self._where = reference_of(data)
        self._instruction, self._step = await self._turns.begin(
            self._tenant, self._where, Deadline(WAIT_MS)
        )
        self._steps = 0
        return self._observation(None, done=False, more={})

    async def _turn(self, action: Action) -> dict[str, Any]:
        """Score an action: a step of a named episode, or the end of this session's own."""
        if self._where is None:
            raise InvalidError(
                "step: nothing was reset; wanted reset with episode_id or task_id first"
            )
        if action.step is not None:
            if self._where.episode is None:
                raise InvalidError(
                    "action.step: wanted a session that was reset with an episode_id"
                )
            sample = ScoredSample(Reference(self._where.episode, action.step))
            score = await self._scorer.score(
                self._tenant, sample, RewardFolding(), Deadline(WAIT_MS)
            )
        elif self._step is None:
            raise InvalidError("step: the episode is over; wanted reset", code="SESSION_ERROR")
        else:
            text = None if action.answer is None else clean(action.answer)
            turn = await self._turns.end(
                self._tenant, self._where, self._step, text, text is not None, Deadline(WAIT_MS)
            )
            score, self._step = turn.score, turn.next_step
        self._steps += 1
        if score.reward is None:
            raise UnavailableError(
                f"reward: not known ({score.failure_kind}): {score.failure_reason}"
            )
        return self._observation(
            score.reward, done=score.done or self._step is None, more=score.document()
        )

    def _observation(
        self, reward: float | None, *, done: bool, more: dict[str, object]
    ) -> dict[str, object]:
        seen = OpenEnvObservation(
            instruction=self._instruction, episode_id=self.episode, step=self._step
        )
        return {
            "type": "observation",
            "data": {
                "observation": seen.model_dump(),
                "reward": reward,
                "done": done,
                "metadata": more,
            },
        }


def _action(data: dict[str, Any]) -> Action:
    try:
        return Action.model_validate(data.get("action", data))
    except ValidationError as error:
        raise invalid_error(error.errors(include_url=False)) from None


@router.websocket("/ws")
async def session(
    socket: WebSocket,
    turns: TurnsPart,
    scorer: ScorerPart,
    authenticator: AuthenticatorPart,
    owners: OwnersPart,
    limits: LimitsPart,
) -> None:
    """A session: JSON messages in, one answer each. It ends with its token, also while nothing is
    asked."""
    await socket.accept()
    try:
        who = await _trainer(authenticator, socket)
        rollout = OpenEnvSession(turns, scorer, who.tenant)
    except ProblemError as problem:
        await _send(socket, _error(problem))
        await socket.close(1008)
        return
    try:
        while True:
            with owners.holding(who, rollout.episode or ""):
                message = await _receive_permitted(socket, authenticator, limits.heartbeat_s)
            if message is not None and message.get("type") == "close":
                break
            if message is None:
                await _send(
                    socket,
                    _error(InvalidError("message: wanted one JSON object", code="INVALID_JSON")),
                )
                continue
            try:
                await _trainer(authenticator, socket)  # again, for its token may have ended since
                await _send(socket, await rollout.take(message))
            except ProblemError as problem:
                await _send(socket, _error(problem))
        await socket.close()
    except UnauthorizedError as problem:
        await _send(socket, _error(problem))
        await socket.close(1008)
    except WebSocketDisconnect:
        pass


async def _trainer(parts: Authentication, socket: WebSocket) -> Principal:
    """Who trains with the socket. Raises `UnauthorizedError`, `TooManyError`,
    `ForbiddenError`."""
    principal = await authenticate(parts, socket.headers.get("authorization", ""))
    return require_scope(principal, TRAINER)


async def _receive_permitted(
    socket: WebSocket, parts: Authentication, every_s: float
) -> dict[str, object] | None:
    """Receive as `_receive`, for as long as the socket's token is in force, which is looked up
    every ``every_s`` seconds. Raises `UnauthorizedError`."""
    token = token_of(socket.headers.get("authorization", ""))
    receiving = asyncio.ensure_future(_receive(socket))
    try:
        while not (await asyncio.wait([receiving], timeout=every_s))[0]:
            if not await is_in_force(parts.tokens, token):
                raise UnauthorizedError("authorization: the token ended while the socket was idle")
        return receiving.result()
    finally:
        receiving.cancel()


async def _receive(socket: WebSocket) -> dict[str, object] | None:
    """Return the next message as an object, None for what is none. Raises `WebSocketDisconnect`."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    text = message.get("text") or ""  # none in a frame of bytes
    try:
        found = orjson.loads(text) if len(text) <= MAX_MESSAGE_BYTES else None
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


async def _send(socket: WebSocket, message: dict[str, object]) -> None:
    await socket.send_text(orjson.dumps(message).decode())


_CODES = {401: "SESSION_ERROR", 403: "SESSION_ERROR", 422: "VALIDATION_ERROR"}


def _error(problem: ProblemError) -> dict[str, object]:
    code = problem.more.get("code") or _CODES.get(problem.status, "EXECUTION_ERROR")
    return {"type": "error", "data": {"message": problem.detail, "code": code}}


@router.get("/health", summary="OpenEnv: health")
async def health() -> Response:
    """Answer that the process is healthy, while it answers at all."""
    return answer({"status": "healthy"})


@router.get("/metadata", summary="OpenEnv: what this is")
async def metadata() -> Response:
    """Answer with the environment's name, description and version."""
    says = (
        "Rewards, step by step, for an episode that a milestoned daemon watches, or for an answer"
        " on its own."
    )
    return answer({"name": "milestoned", "description": says, "version": version("milestoned")})


@router.get("/schema", summary="OpenEnv: actions, observations, state")
async def schema() -> Response:
    """JSON Schemas of what a session takes and gives."""
    models: dict[str, type[BaseModel]] = {
        "action": Action,
        "observation": OpenEnvObservation,
        "state": OpenEnvState,
    }
    return answer({name: model.model_json_schema() for name, model in models.items()})

"""The Open Reward Standard's environment server, below `/ors`.

Environments are registered tasks, a session is an episode, and a tool call is answered with its
step's sealed reward, or null with the reason. The standard's clients put no path before theirs, so
`milestoned serve --ors-port` offers this at the root of a port. The token comes as `X-API-Key`.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator

from api.auth.store import Principal
from api.core.errors import BadRequestError, NotFoundError
from api.episodes.store import Episodes
from api.http.authorization import requires
from api.http.dependencies import AuthenticatorPart, OwnersPart, TasksPart
from api.http.describe import problems
from api.http.episodes import OpeningParts, answer_opened, opening_parts
from api.http.json_route import JsonRoute
from api.http.shapes import Label, LabelName, MaskCauses, Name, OpenEpisode
from api.http.streams import AuthorizedStream
from api.http.support import (
    READ,
    TRAINER,
    Body,
    answer,
    authorization_of,
    parts_of,
    token_of,
)
from api.ors.environments import SPLIT, TaskEnvironment, TaskName, environment_of, is_answer_alone
from api.ors.parts import OpenReward
from api.ors.sessions import ToolSession
from api.ors.streaming import encode_event, stream_call
from api.ors.tools import list_tools, text_block
from api.tasks.store import Tasks

KEY_HEADER = "x-api-key"
WAIT_MS = 45_000
"""How long a call waits by default until its step's reward is sealed."""
OPERATIONS = frozenset(
    (
        *("tools", "splits", "tasks", "num_tasks", "task", "task_range"),
        *("prompt", "messages", "task_tools", "call", "score_group"),
    )
)
STREAMED: dict[str, Any] = {
    "response_class": StreamingResponse,
    "responses": {
        200: {
            "content": {"text/event-stream": {}},
            "description": "Events named task_id, chunk, end, error.",
        },
        **problems(400, 401, 403, 404, 413, 422),
    },
}
_JSON: dict[str, Any] = {"responses": problems(400, 401, 403, 404, 413, 422)}

router = APIRouter(prefix="/ors", tags=["adapters"], route_class=JsonRoute)
Reader = Annotated[Principal, requires(READ, key_header=KEY_HEADER)]
Trainer = Annotated[Principal, requires(TRAINER, key_header=KEY_HEADER)]


async def _keyed_stream(request: Request, authenticator: AuthenticatorPart) -> AuthorizedStream:
    return AuthorizedStream(authenticator, token_of(authorization_of(request, KEY_HEADER)))


KeyedStream = Annotated[AuthorizedStream, Depends(_keyed_stream)]
"""A stream that ends with the token of the call, in either of its headers."""
Index = Annotated[int, Field(ge=-(2**31), lt=2**31)]
Split = Annotated[str, Field(max_length=256)]


class Ignored(BaseModel):
    """Whatever a client sends along: it changes nothing."""

    model_config = ConfigDict(extra="ignore")


class OfSplit(Body):
    """A split."""

    split: Split


class OfIndex(OfSplit):
    """A task of a split."""

    index: Index


class OfRange(OfSplit):
    """Tasks of a split, as a slice of Python's."""

    start: Index | None = None
    stop: Index | None = None


class TaskSpec(Body):
    """What a session works on: a task, of which an episode is opened, or an episode that is open.

    ``sandbox``: which sandbox of the fleet is asked for; `none`: nothing is observed, and the final
    answer alone is scored. ``mask_causes``: what failed for one of these causes is null.
    """

    task: Annotated[str, Field(min_length=1, max_length=512)] | None = None
    version: Annotated[str, Field(max_length=256)] | None = None
    episode: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    labels: Annotated[dict[LabelName, Label], Field(default_factory=dict, max_length=64)]
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    sandbox: (
        Literal["any", "none"]
        | Annotated[dict[Name, Annotated[str, Field(max_length=256)]], Field(max_length=32)]
        | None
    ) = None
    mask_causes: MaskCauses = ()
    wait_ms: Annotated[int, Field(ge=0, le=50_000)] = WAIT_MS

    @model_validator(mode="after")
    def _check_source(self) -> TaskSpec:
        if (self.task is None) == (self.episode is None):
            raise ValueError("expected either task or episode")
        return self


class CreateSession(Body):
    """A session's beginning: a task's specification, or its split and index."""

    env_name: Annotated[str, Field(max_length=512)] | None = None
    task_spec: TaskSpec | None = None
    split: Split | None = None
    index: Index | None = None
    toolset_name: Annotated[str, Field(max_length=256)] | None = None
    secrets: Annotated[
        dict[str, str] | None, Field(description="Not read: no sandbox is given any.")
    ] = None

    @model_validator(mode="after")
    def _check_source(self) -> CreateSession:
        """Refuse a session that names its task in both ways, or in half of one."""
        is_indexed = self.split is not None and self.index is not None
        if (self.task_spec is not None) == is_indexed or (self.split is None) != (
            self.index is None
        ):
            raise ValueError("expected either task_spec, or both split and index")
        return self


class ToolCallBody(Body):
    """A tool call, or (``task_id``) the stream of one that began before."""

    name: Annotated[str, Field(max_length=256)]
    input: dict[str, object]
    task_id: Annotated[str, Field(max_length=64)] | None = None


@dataclass(frozen=True, slots=True)
class SessionOpening:
    """What creating a session uses of the service beyond the standard's own parts."""

    opening: OpeningParts
    tasks: Tasks
    episodes: Episodes


async def _creation_parts(
    request: Request, opening: Annotated[OpeningParts, Depends(opening_parts)]
) -> SessionOpening:
    return SessionOpening(opening, opening.tasks, opening.episodes)


async def _open_reward(request: Request) -> OpenReward:
    return parts_of(request).open_reward


OpenRewardPart = Annotated[OpenReward, Depends(_open_reward)]


async def _session_id(
    sid: Annotated[
        str | None, Header(alias="X-Session-ID", description="The session's id.")
    ] = None,
) -> str:
    """Return the id that the client gave its session. Raises `BadRequestError`."""
    text = (sid or "").strip()
    if not (text.isascii() and text.isprintable() and 0 < len(text) <= 128):
        got = "none" if not text else repr(text[:80])
        raise BadRequestError(
            f"X-Session-ID: expected a session's id of at most 128 printable characters, got {got}"
        )
    return text


SessionId = Annotated[str, Depends(_session_id)]


async def _deployment(
    deployment: Annotated[
        str,
        Header(alias="X-Deployment", description="Its last part may name the default environment."),
    ] = "",
) -> str:
    return deployment.rpartition("/")[2]


Deployment = Annotated[str, Depends(_deployment)]


async def _environment(who: Reader, environment: str, parts: OpenRewardPart) -> TaskEnvironment:
    return await parts.environments.find(who.tenant, environment)


EnvironmentPart = Annotated[TaskEnvironment, Depends(_environment)]


async def _session(
    who: Trainer, sid: SessionId, environment: str, parts: OpenRewardPart, owners: OwnersPart
) -> ToolSession:
    """Return the caller's session, which has to be one of the environment in the path."""
    session = await parts.sessions.get(who.tenant, sid)
    owners.hear(who, (session.episode,))
    if session.environment.lower() != environment.lower():
        raise BadRequestError(
            f"environment: expected {session.environment!r}, which the session was created for,"
            f" got {environment[:80]!r}"
        )
    return session


SessionPart = Annotated[ToolSession, Depends(_session)]


async def _started(session: SessionPart, parts: OpenRewardPart) -> ToolSession:
    await parts.lifecycle.wait_until_started(session)
    return session


StartedPart = Annotated[ToolSession, Depends(_started)]


@router.get("/health", summary="Open Reward Standard: health")
async def health() -> Response:
    """Answer that the process is healthy, while it answers at all."""
    return answer({"status": "ok"})


@router.get("/version", summary="Open Reward Standard: version")
async def server_version() -> Response:
    """Answer with the version of milestoned."""
    return answer({"version": version("milestoned"), "build_sha": None})


@router.get("/list_environments", summary="Open Reward Standard: environments", **_JSON)
async def list_environments(who: Reader, parts: OpenRewardPart) -> Response:
    """The first parts of the ids of the registered tasks."""
    return answer(list(await parts.environments.list(who.tenant)))


@router.get("/{environment}/tools", summary="Open Reward Standard: tools", **_JSON)
async def tools(environment: EnvironmentPart) -> Response:
    """The tools `step` and `end_step`, and the terminal tool `answer`."""
    return answer(list_tools())


@router.get("/{environment}/splits", summary="Open Reward Standard: splits", **_JSON)
async def splits(environment: EnvironmentPart) -> Response:
    """One split: a task file names none."""
    return answer([{"name": SPLIT, "type": SPLIT}])


@router.post("/{environment}/tasks", summary="Open Reward Standard: all tasks", **_JSON)
async def tasks(_who: Reader, environment: EnvironmentPart, sent: OfSplit) -> Response:
    """The tasks of the environment, each as a session's `task_spec`."""
    environment.check_split(sent.split)
    specs = [name._asdict() for name in environment.tasks]
    return answer({"tasks": specs, "env_name": environment.name})


@router.post("/{environment}/num_tasks", summary="Open Reward Standard: number of tasks", **_JSON)
async def num_tasks(_who: Reader, environment: EnvironmentPart, sent: OfSplit) -> Response:
    """How many tasks the environment has."""
    environment.check_split(sent.split)
    return answer({"num_tasks": len(environment.tasks)})


@router.post("/{environment}/task", summary="Open Reward Standard: a task", **_JSON)
async def task(_who: Reader, environment: EnvironmentPart, sent: OfIndex) -> Response:
    """One task, by its index from 0."""
    spec = environment.task(sent.split, sent.index)._asdict()
    return answer({"task": spec, "env_name": environment.name})


@router.post("/{environment}/task_range", summary="Open Reward Standard: some tasks", **_JSON)
async def task_range(_who: Reader, environment: EnvironmentPart, sent: OfRange) -> Response:
    """The tasks from `start` up to `stop`, as Python slices."""
    environment.check_split(sent.split)
    chosen = environment.tasks[sent.start : sent.stop]
    specs = [name._asdict() for name in chosen]
    return answer({"tasks": specs, "env_name": environment.name})


@router.post("/create_session", summary="Open Reward Standard: a session's id", **STREAMED)
async def create_session(_who: Trainer, _sent: Ignored, stream: KeyedStream) -> Response:
    """A new id, as a stream; nothing is kept of it until `/create`."""

    async def body() -> AsyncIterator[bytes]:
        yield encode_event("task_id", str(uuid.uuid4()))
        yield encode_event("end", "")

    return stream.response(body())


@router.post("/create", summary="Open Reward Standard: create a session", **_JSON)
async def create(
    who: Trainer,
    sid: SessionId,
    deployment: Deployment,
    parts: OpenRewardPart,
    creation: Annotated[SessionOpening, Depends(_creation_parts)],
    sent: CreateSession,
) -> Response:
    """Open the episode of the session, or take up the one that `task_spec` names.

    `/prompt` and `/call` wait for its daemon.
    """
    await parts.sessions.refuse_existing(who.tenant, sid)
    if sent.toolset_name is not None:
        raise BadRequestError(f"toolset_name: expected none, got {sent.toolset_name!r}")
    named = None
    if sent.env_name is not None:
        named = await parts.environments.find(who.tenant, sent.env_name)
    spec = sent.task_spec
    if spec is None:
        environment = named or await parts.environments.default(who.tenant, deployment)
        assert sent.split is not None
        assert sent.index is not None
        chosen = environment.task(sent.split, sent.index)
        spec = TaskSpec(task=chosen.task, version=chosen.version, labels={})
    if spec.episode is not None:
        session = await _take_up(who, creation, sid, spec)
    else:
        session = await _open(who, creation, sid, spec, named)
    _check_environment(session, named)
    await parts.sessions.create(session)
    return answer({"sid": sid})


def _check_environment(session: ToolSession, named: TaskEnvironment | None) -> None:
    """Raise `BadRequestError` where a call names another environment than its session's."""
    if named is not None and named.name != session.environment:
        raise BadRequestError(
            f"env_name: expected {session.environment!r}, the environment of {session.task!r}, got"
            f" {named.name!r}"
        )


async def _take_up(
    who: Principal, creation: SessionOpening, sid: str, spec: TaskSpec
) -> ToolSession:
    """Return a session of an open episode of the caller's; it is not closed with the session."""
    assert spec.episode is not None
    await creation.episodes.owned(who.tenant, spec.episode)
    row = await creation.episodes.get(spec.episode)
    if row.status != "open":
        raise BadRequestError(
            f"task_spec.episode: expected an open episode, got {row.id}, which is {row.status}"
        )
    environment = environment_of(row.task)
    return ToolSession(
        who.tenant,
        sid,
        environment,
        row.task,
        row.version,
        row.id,
        False,
        spec.wait_ms,
        mask_causes=",".join(spec.mask_causes) or None,
    )


async def _open(
    who: Principal,
    creation: SessionOpening,
    sid: str,
    spec: TaskSpec,
    named: TaskEnvironment | None,
) -> ToolSession:
    """Return a session of a new episode, or of none where no sandbox is wanted."""
    assert spec.task is not None
    name = await _registered(who, creation.tasks, spec)
    session = ToolSession(
        who.tenant,
        sid,
        environment_of(name.task),
        *name,
        None,
        False,
        spec.wait_ms,
        mask_causes=",".join(spec.mask_causes) or None,
    )
    _check_environment(session, named)
    sandbox = spec.sandbox
    if sandbox is None:
        row = await creation.tasks.find(who.tenant, *name)
        sandbox = "none" if is_answer_alone(await creation.tasks.ruleset(row.number)) else "any"
    if sandbox == "none":
        return session
    opening = OpenEpisode(
        task=name.task,
        version=name.version,
        labels=spec.labels,
        seed=spec.seed,
        sandbox=sandbox,
    )
    document = await answer_opened(creation.opening, who, opening, None)
    return replace(session, episode=document["episode"], opened=True)


async def _registered(who: Principal, tasks: Tasks, spec: TaskSpec) -> TaskName:
    task = await tasks.find(who.tenant, spec.task or "", spec.version)
    return TaskName(task.id, task.version)


@router.post("/ping", summary="Open Reward Standard: keep a session", **_JSON)
async def ping(
    who: Trainer, sid: SessionId, parts: OpenRewardPart, owners: OwnersPart, _sent: Ignored
) -> Response:
    """Let the session live: one that is not heard of for 900 s is deleted."""
    session = await parts.sessions.get(who.tenant, sid)
    owners.hear(who, (session.episode,))
    return answer({"status": "ok"})


@router.post("/delete", summary="Open Reward Standard: delete a session", **_JSON)
async def delete(who: Trainer, sid: SessionId, parts: OpenRewardPart, _sent: Ignored) -> Response:
    """Delete the session, and close the episode if the session opened it; unknown ones succeed."""
    await parts.lifecycle.end(who.tenant, sid)
    return answer({"sid": sid})


@router.post("/delete_session", summary="Open Reward Standard: give an id back", **_JSON)
async def delete_session(_who: Trainer, sid: SessionId, _sent: Ignored) -> Response:
    """Nothing is kept of an id without a session."""
    return answer({"sid": sid})


@router.get("/{environment}/task_tools", summary="Open Reward Standard: a session's tools", **_JSON)
async def task_tools(session: SessionPart) -> Response:
    """The tools of the session; without an episode `answer` alone."""
    return answer(list_tools(session.episode is not None))


@router.get("/{environment}/prompt", summary="Open Reward Standard: a session's prompt", **_JSON)
async def prompt(session: StartedPart, tasks: TasksPart) -> Response:
    """The instruction of the session's task, as one block of text."""
    return answer([text_block(await _instruction(session, tasks))])


@router.get(
    "/{environment}/messages", summary="Open Reward Standard: the prompt as messages", **_JSON
)
async def messages(session: StartedPart, tasks: TasksPart) -> Response:
    """The task's instruction, as one message of the user."""
    blocks = [text_block(await _instruction(session, tasks))]
    return answer([{"role": "user", "blocks": blocks, "detail": None}])


async def _instruction(session: ToolSession, tasks: Tasks) -> str:
    row = await tasks.find(session.tenant, session.task, session.version)
    return (await tasks.ruleset(row.number)).task.instruction


@router.post("/{environment}/call", summary="Open Reward Standard: call a tool", **STREAMED)
async def call(
    _who: Trainer,
    session: StartedPart,
    parts: OpenRewardPart,
    sent: ToolCallBody,
    stream: KeyedStream,
) -> Response:
    """The tool's answer, as a stream. Its `reward` is the sealed reward of the step that it
    completes, or null, and `metadata` says why."""
    id = sent.task_id
    if id is None:
        id = await parts.calls.start(session, sent.name, sent.input)
    return stream.response(stream_call(id, await parts.calls.result(session, id)))


@router.api_route(
    "/{operation}", methods=["GET", "POST"], include_in_schema=False, response_model=None
)
async def redirect(
    who: Reader,
    operation: str,
    deployment: Deployment,
    parts: OpenRewardPart,
    request: Request,
) -> Response:
    """Send a path that names no environment to the default one's."""
    if operation not in OPERATIONS:
        raise NotFoundError(f"{request.method} {request.url.path}: there is no such path")
    environment = await parts.environments.default(who.tenant, deployment)
    query = f"?{request.url.query}" if request.url.query else ""
    # Relative: the same below /ors and at the root of a port.
    return RedirectResponse(f"{quote(environment.name, safe='')}/{operation}{query}", 308)

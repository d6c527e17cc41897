"""The control port: where the harness beside the daemon reports what it does, a request each.

127.0.0.1 only, or a Unix socket that its owner alone may open; and only with the control token,
which lies in the state directory for the owner alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import socket
import stat
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import orjson
import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agentd.core.errors import UsageError
from agentd.core.problems import ControlProblemError, answer, body_of, field_problem, on_problem
from agentd.core.secret_file import read_or_make_secret
from agentd.core.settings import BODY_S
from agentd.session.step_controller import Conductor, NotKeptError, Said
from agentd.session.step_state import StepError
from agentd.session.step_stream import (
    BEGIN_FIELDS,
    CALL_FIELDS,
    CALL_NEEDED,
    RETURN_FIELDS,
    RETURN_NEEDED,
    StepStream,
    StepStreams,
    checked_begin,
    full_problem,
    step_problem,
)
from agentd.session.waiting import BACKLOG, QUEUE, protocol_for

WAIT_MS = 60_000
"""The longest that one question for readiness may wait, in milliseconds."""
STEP_DIGITS = 10
"""How many digits a step's number in a path may have."""
SOCKET_PATH = 107
"""How many bytes the kernel takes of a Unix socket's path."""

log = structlog.get_logger(__name__)


class DaemonReadiness(Protocol):
    """What the port asks of the supervisor: see there."""

    changed: asyncio.Event

    @property
    def ready(self) -> bool: ...

    @property
    def awaited(self) -> dict[str, str]: ...

    @property
    def lacking(self) -> list[str]: ...


class Health(NamedTuple):
    """``facts``: what /healthz says; ``sources``: what /v1/ready says and waits for."""

    facts: Callable[[], dict[str, Any]]
    sources: DaemonReadiness


def make_app(conductor: Conductor, token: str, health: Health) -> Starlette:
    """Make the port's application; every route but the bare health check needs ``token``."""
    routes = _Routes(conductor, token, health)
    return Starlette(
        routes=[
            Route("/v1/steps", routes.begin, methods=["POST"]),
            Route("/v1/steps/{step}:end", routes.end, methods=["POST"]),
            Route("/v1/answers", routes.answered, methods=["POST"]),
            Route("/v1/tools:call", routes.tool_called, methods=["POST"]),
            Route("/v1/tools:return", routes.tool_returned, methods=["POST"]),
            Route("/v1/close", routes.close, methods=["POST"]),
            Route("/v1/ready", routes.ready, methods=["GET"]),
            Route("/healthz", routes.healthz, methods=["GET"]),
        ],
        exception_handlers={
            ControlProblemError: on_problem,
            StepError: _on_step,
            NotKeptError: _on_full,
        },
    )


class _Routes:
    """The handlers of the port's routes."""

    def __init__(self, conductor: Conductor, token: str, health: Health) -> None:
        self._conductor = conductor
        self._expected = f"Bearer {token}".encode()
        self._health = health

    def _has_token(self, request: Request) -> bool:
        given = request.headers.get("authorization", "").encode()
        return hmac.compare_digest(given, self._expected)

    def _authorize(self, request: Request) -> None:
        """Raise `ControlProblemError`, 401, for a request without the control token."""
        if not self._has_token(request):
            raise ControlProblemError(
                401,
                "Not authorized",
                "wanted the bearer token that lies in control.token in --state",
            )

    async def begin(self, request: Request) -> Response:
        self._authorize(request)
        body = checked_begin(await body_of(request, BEGIN_FIELDS))
        return _as_response(await self._conductor.begin(**body))

    async def end(self, request: Request) -> Response:
        """End a step; with `wait=seal` answer once it is sealed, with what sealed it."""
        self._authorize(request)
        await body_of(request, {})
        wait = request.query_params.get("wait")
        if wait not in (None, "seal"):
            raise field_problem("wait", wait, "seal, or no such parameter")
        step = _step_of(request)
        said = await self._conductor.end(step)
        if wait is None:
            return _as_response(said)
        return answer({**said._asdict(), "sealed": await self._conductor.wait_sealed(step)})

    async def answered(self, request: Request) -> Response:
        self._authorize(request)
        body = await body_of(request, {"text": (str,)}, ("text",))
        return _as_response(await self._conductor.say("agent.answered", body))

    async def tool_called(self, request: Request) -> Response:
        self._authorize(request)
        body = await body_of(request, CALL_FIELDS, CALL_NEEDED)
        body.setdefault("arguments", {})
        return _as_response(await self._conductor.say("agent.tool_called", body))

    async def tool_returned(self, request: Request) -> Response:
        self._authorize(request)
        body = await body_of(request, RETURN_FIELDS, RETURN_NEEDED)
        return _as_response(await self._conductor.say("agent.tool_returned", body))

    async def close(self, request: Request) -> Response:
        self._authorize(request)
        body = await body_of(request, {"reason": (str,), "truncated": (bool,)})
        reason = body.get("reason", "closed by the harness")
        truncated = body.get("truncated", False)
        return _as_response(await self._conductor.close(reason, truncated=truncated))

    async def ready(self, request: Request) -> Response:
        """Answer which sources see, after at most `wait_ms` milliseconds of waiting for all of
        them."""
        self._authorize(request)
        wait_ms = _parse_wait(request.query_params.get("wait_ms", "0"))
        sources = self._health.sources
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_ms / 1000):
                while not (sources.ready or self._conductor.closed.is_set()):
                    await sources.changed.wait()
        return answer(
            {"ready": sources.ready, "waiting": sources.awaited, "lacking": sources.lacking}
        )

    async def healthz(self, request: Request) -> Response:
        """Answer that the daemon lives, and who has the token also how it does."""
        return answer(self._health.facts() if self._has_token(request) else {"status": "ok"})


def _step_of(request: Request) -> int:
    """Return the step that the path names.

    Not by Starlette's ``int``: Python makes no number of any number of digits.
    """
    text = request.path_params["step"]
    if not (text.isascii() and text.isdecimal() and len(text) <= STEP_DIGITS):
        raise field_problem("step", text, f"a whole number of at most {STEP_DIGITS} digits")
    return int(text)


def _parse_wait(text: str) -> int:
    """Read the milliseconds of `wait_ms`. Raises a problem, 422, for what is none, or too many."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= 9
    if not is_number or int(text) > WAIT_MS:
        raise field_problem("wait_ms", text, f"milliseconds from 0 to {WAIT_MS}")
    return int(text)


def _as_response(said: Said) -> Response:
    return answer(said._asdict())


async def _on_step(request: Request, error: Exception) -> Response:
    assert isinstance(error, StepError)
    return await on_problem(request, step_problem(error))


async def _on_full(request: Request, error: Exception) -> Response:
    assert isinstance(error, NotKeptError)
    return await on_problem(request, full_problem(error))


class _ControlServer(uvicorn.Server):
    """uvicorn inside our loop: signals are the daemon's, not the server's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen with a longer queue than asyncio, which accepts as many at a time as its queue is
        long."""
        await super().startup(sockets)
        for socket_ in sockets or ():
            socket_.listen(QUEUE)


class ControlPort:
    """Listens at ``where``: a port's number (0: any free one) or a Unix socket's path.

    ``body_s``: how long a request's body may take to come, in seconds; ``conductor``: whose steps a
    connection may become a stream of, None for no such connections; ``beside``: the path of a Unix
    socket to listen on, too, where ``where`` is a port. Raises `UsageError` where ``where`` is
    taken.
    """

    def __init__(
        self,
        app: Starlette,
        token: str,
        where: int | Path,
        body_s: float = BODY_S,
        conductor: Conductor | None = None,
        beside: Path | None = None,
    ) -> None:
        self._streams = None if conductor is None else StepStreams(conductor)
        self._socket = _listener(where) if isinstance(where, int) else _unix_listener(where)
        self.where: int | Path = where if isinstance(where, Path) else self._socket.getsockname()[1]
        self._beside = None if isinstance(where, Path) or beside is None else _listen_beside(beside)
        self.beside = beside if self._beside is not None else None
        config = uvicorn.Config(
            app,
            http=protocol_for(token, body_s, self._make_stream if conductor else None),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=1,
        )
        self._server = _ControlServer(config)
        self._task: asyncio.Task[None] | None = None

    def _make_stream(self) -> StepStream:
        assert self._streams is not None
        return StepStream(self._streams)

    @property
    def address(self) -> str:
        """Where it listens, for people: an address or a socket's path."""
        if isinstance(self.where, Path):
            return f"unix:{self.where}"
        return f"http://127.0.0.1:{self.where}"

    def start(self) -> None:
        """Serve from now on; requests that came before wait in the listening socket."""
        sockets = [self._socket] if self._beside is None else [self._socket, self._beside]
        self._task = asyncio.create_task(self._server.serve(sockets), name="control port")

    async def stop(self) -> None:
        """Let running requests finish (at most a second) and close the port."""
        self._server.should_exit = True
        if self._streams is not None:
            self._streams.close()
        if self._task is not None:
            await self._task
        self._socket.close()
        if isinstance(self.where, Path):
            self.where.unlink(missing_ok=True)
        if self._beside is not None and self.beside is not None:
            self._beside.close()
            self.beside.unlink(missing_ok=True)


def _listener(port: int) -> socket.socket:
    """Return a socket that listens on loopback. Raises `UsageError` where the port is taken."""
    # The protocol by name: asyncio turns Nagle's delay off only on sockets that say that they are
    # TCP, and without that an answer in two writes waits 40 ms for the other side's
    # acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise UsageError(
            f"--port {port}: {error.strerror}; wanted a free port, or 0 for any"
        ) from None
    listener.listen(QUEUE)
    return listener


def _listen_beside(path: Path) -> socket.socket | None:
    """Return a socket at ``path`` that is convenient and no more: None where there can be none."""
    try:
        return _unix_listener(path)
    except UsageError as error:
        log.warning("Tool calls behind agentd mcp wait for their steps.", why=str(error))
        return None


def _unix_listener(path: Path) -> socket.socket:
    """Return a socket that listens under a path, for its owner alone. Raises `UsageError` where it
    can't be made."""
    _remove_left(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(listener.fileno(), 0o600)  # before there is a name by which others could open it
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        why = f"{error.strerror}; wanted the path of a socket that can be made there"
        raise UsageError(f"--socket {path}: {why}") from None
    listener.listen(QUEUE)
    return listener


def _remove_left(path: Path) -> None:
    """Remove a socket on which nobody listens. Raises `UsageError` for what else there is at
    ``path``."""
    if len(os.fsencode(path)) > SOCKET_PATH:
        raise UsageError(
            f"--socket {path}: {len(os.fsencode(path))} bytes, wanted a path of at most"
            f" {SOCKET_PATH}"
        )
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise UsageError(
                f"--socket {path}: there is something else; wanted the path of a new socket"
            )
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        try:
            caller.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)
        else:
            raise UsageError(
                f"--socket {path}: another program listens there; wanted a socket of its own"
            )


def control_token(state: Path) -> str:
    """Return the token of ``state``'s control port.

    It is made on the first start, readable by the owner alone. Raises `UsageError` where the file
    holds none.
    """
    return read_or_make_secret(state / "control.token")


def announce(state: Path, where: int | Path, episode: str, beside: Path | None = None) -> None:
    """Write agentd.json, whole or not at all: {port or socket, pid, episode}, and of a socket
    ``beside`` the port its path as ``steps``."""
    announced: dict[str, object] = {}
    if isinstance(where, int):
        announced["port"] = where
    else:
        announced["socket"] = str(where.absolute())
    if beside is not None:
        announced["steps"] = str(beside.absolute())
    announced |= {"pid": os.getpid(), "episode": episode}
    fresh = state / "agentd.json.new"
    fresh.write_bytes(orjson.dumps(announced))
    fresh.replace(state / "agentd.json")

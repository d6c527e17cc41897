"""A small service for the daemon's tests: real HTTP, the real chain check, and told to fail at
will."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Generator
from functools import partial
from types import TracebackType
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from api.core.errors import TooLargeError
from api.core.frames import open_frame
from api.core.settings import Limits
from common.frames import dictionary_number
from detectors.model.codec import GENESIS, decode_segment
from detectors.model.types import Event
from tests.support.ports import free_port

PLAN = {
    "hears": [],
    "quiet_ms": 0,
    "settle_ms": 1000,
    "text": False,
    "request_bodies": [],
    "origin": None,
}


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class Peer:
    """One episode, ``E``, with token ``secret``. ``fail`` holds statuses to answer segments with
    first."""

    def __init__(self, **plan: Any) -> None:
        self.plan = {"episode": "E", "task": "t", "digest": "d", **PLAN, **plan}
        self.texts: list[bytes] = []
        self.events: list[Event] = []
        self.head = GENESIS
        self.token = "secret"
        self.fail: list[int] = []
        self.headers: dict[str, str] = {}
        self.swallow = 0
        """How many segments to take and then answer 500 to, as a lost answer would be."""
        self.strange = 0
        """How many requests something else answers in the service's place, as a network's sign-in page does."""
        self.strange_status = 200
        self.unreadable: str | None = None
        """What it calls a frame with a dictionary, where it has none."""
        self.tells_at = True
        """Whether it says the time of its last event, as services do by now."""
        self.followed = True
        self.holds_streams = False
        """Whether something on the way keeps an answer until it is whole."""
        self.strange_questions = 0
        """How many questions for commands something else answers."""
        self.streams = 0
        """How many streams of commands were asked for."""
        self.posts = 0
        self.connections: set[Any] = set()
        self.commands: list[dict[str, Any]] = []
        self.changed = asyncio.Condition()
        self._port = free_port()
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def through(self) -> int:
        return self.events[-1].seq if self.events else 0

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def data(self, kind: str) -> list[dict[str, Any]]:
        return [dict(event.data) for event in self.events if event.kind == kind]

    async def until(self, condition: Callable[[], object], seconds: float = 60.0) -> None:
        """Wait until ``condition`` holds; looked at after every segment and command."""
        async with asyncio.timeout(seconds), self.changed:
            await self.changed.wait_for(lambda: bool(condition()))

    async def command(self, kind: str, **data: Any) -> None:
        async with self.changed:
            self.commands.append({"command": len(self.commands) + 1, "kind": kind, "data": data})
            self.changed.notify_all()

    # -- the routes

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/episodes/{id}", self._episode),
                Route("/v1/episodes/{id}/plan", self._plan),
                Route("/v1/episodes/{id}/commands/stream", self._commands),
                Route("/v1/episodes/{id}/commands", self._next_commands),
                Route("/v1/episodes/{id}/events", self._events, methods=["POST"]),
            ]
        )

    def _refusal(self, request: Request) -> Response | None:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return problem(401, "no such token")
        if request.path_params["id"] != "E":
            return problem(404, "no such episode")
        if self.strange:
            self.strange -= 1
            return Response(
                "<html>Sign in to the guest network", self.strange_status, media_type="text/html"
            )
        return None

    async def _episode(self, request: Request) -> Response:
        return self._refusal(request) or JSONResponse(
            self._state()
            | {"status": "open", "step": self._step()}
            | ({"at": self.events[-1].at if self.events else 0} if self.tells_at else {})
        )

    async def _plan(self, request: Request) -> Response:
        return self._refusal(request) or JSONResponse(self.plan)

    async def _commands(self, request: Request) -> Response:
        if refusal := self._refusal(request):
            return refusal
        self.streams += 1
        if self.holds_streams:
            async with self.changed:
                await self.changed.wait_for(self._stopping)
        lines = self._lines(int(request.query_params["after"]))
        return StreamingResponse(lines, media_type="application/x-ndjson")

    async def _next_commands(self, request: Request) -> Response:
        if refusal := self._refusal(request):
            return refusal
        if self.strange_questions:
            self.strange_questions -= 1
            return Response("<html>Sign in to the guest network", media_type="text/html")
        after = int(request.query_params["after"])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(int(request.query_params["wait_ms"]) / 1000), self.changed:
                await self.changed.wait_for(partial(self._has_beyond, after))
        return JSONResponse({"commands": self.commands[after:]})

    async def _lines(self, after: int) -> AsyncIterator[bytes]:
        while not self._stopping():
            new = self.commands[after:]
            yield orjson.dumps({"commands": new}) + b"\n"
            after += len(new)
            async with self.changed:
                await self.changed.wait_for(partial(self._has_beyond, after))

    def _has_beyond(self, after: int) -> bool:
        return len(self.commands) > after or self._stopping()

    def _stopping(self) -> bool:
        return self._server is None or self._server.should_exit

    async def _events(self, request: Request) -> Response:
        self.posts += 1
        self.connections.add(request.client)
        if refusal := self._refusal(request):
            return refusal
        if self.fail:
            refusal = problem(self.fail.pop(0), "as the test has it")
            refusal.headers.update(self.headers)
            return refusal
        frame = await request.body()
        if self.unreadable is not None and dictionary_number(frame):
            return problem(422, "unreadable", type=f"urn:milestoned:problem:{self.unreadable}")
        try:
            text = open_frame(frame, Limits())
        except TooLargeError as error:
            return problem(413, str(error))
        answer = self._take(text)
        async with self.changed:
            self.changed.notify_all()
        if self.swallow:
            self.swallow -= 1
            return Response(status_code=500)
        return answer

    def _take(self, text: bytes) -> Response:
        segment = decode_segment(text)
        if text in self.texts:
            return JSONResponse(self._state())
        if segment.first > self.through + 1:
            return problem(409, "a gap", wanted=self.through + 1, **self._state())
        if segment.first != self.through + 1 or segment.prev != self.head:
            return problem(409, "a fork")
        self.texts.append(text)
        self.events.extend(segment.events)
        self.head = segment.digest
        return JSONResponse({**self._state(), "followed": self.followed})

    def _state(self) -> dict[str, Any]:
        return {"through": self.through, "head": self.head}

    def _step(self) -> int | None:
        return max((data["step"] for data in self.data("step.began")), default=None)

    def forget(self, segments: int) -> None:
        """Lose the last ``segments`` segments, as a service restored from a backup has."""
        kept = self.texts[: len(self.texts) - segments]
        self.texts, self.events, self.head = [], [], GENESIS
        for text in kept:
            self._take(text)

    # -- its life

    async def start(self) -> None:
        """Listen; after `stop` on the same port again."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        listener.listen()
        config = uvicorn.Config(
            self.app(), lifespan="off", ws="none", log_config=None, timeout_graceful_shutdown=1
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve([listener]))

    async def stop(self) -> None:
        assert self._server is not None
        assert self._task is not None
        self._server.should_exit = True
        async with self.changed:
            self.changed.notify_all()
        await self._task

    async def __aenter__(self) -> Peer:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()


def problem(status: int, detail: str, **members: Any) -> Response:
    body = {"type": "about:blank", "title": detail, "status": status, "detail": detail, **members}
    return JSONResponse(body, status, media_type="application/problem+json")

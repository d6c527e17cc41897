"""A network that delivers every request twice and out of order, and loses some of the answers.

``with Twice(url, seed) as network``: clients are told ``network.url``. Each request waits a moment
of its own before it is delivered, so that those sent together overtake each other; a copy is
delivered again after a few later ones.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from collections.abc import MutableMapping
from types import TracebackType
from typing import Any

import httpx
import uvicorn
from starlette.requests import Request
from starlette.responses import Response

from tests.support.beside import Beside

LOST = 0.1
"""The part of answers that never come back: a 502, though the request was carried out."""
LATEST = 4
"""How many later requests are answered before a copy is delivered, at most."""
_HOP = frozenset(("host", "connection", "content-length", "transfer-encoding", "content-encoding"))


class Twice(Beside):
    """``again``: the statuses that second deliveries were answered with."""

    def __init__(self, server: str, seed: int) -> None:
        self._server, self._chance = server, random.Random(seed)
        self._later: dict[asyncio.Task[None], str] = {}
        self._delivered = 0
        self._moved = asyncio.Event()
        self.again: list[int] = []
        self.lost = 0

    def __enter__(self) -> Twice:
        super().__enter__()
        self.do(self._listen())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.do(self._close())
        super().__exit__(kind, error, trace)

    def settle(self) -> None:
        """Wait until the copy of every request that may change something was delivered."""
        self.do(self._settle())

    async def _settle(self) -> None:
        self._delivered += LATEST
        self._move()
        while waiting := [copy for copy, method in self._later.items() if method != "GET"]:
            await asyncio.wait(waiting)

    async def _listen(self) -> None:
        self._http = httpx.AsyncClient(base_url=self._server, timeout=90.0, trust_env=False)
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            self._app,
            interface="asgi3",
            lifespan="off",
            ws="none",
            log_config=None,
            timeout_graceful_shutdown=1,
        )
        self._uvicorn = _Server(config)
        self._task = asyncio.create_task(self._uvicorn.serve([listener]))

    async def _close(self) -> None:
        self._uvicorn.should_exit = True
        await self._task
        await self._http.aclose()

    async def _app(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        content = await request.body()
        headers = {name: value for name, value in request.headers.items() if name not in _HOP}
        what = self._http.build_request(
            request.method,
            request.url.path,
            params=request.query_params,
            headers=headers,
            content=content,
        )
        await asyncio.sleep(self._chance.uniform(0, 0.03))
        copy = asyncio.create_task(
            self._deliver_again(what, self._delivered + self._chance.randint(1, LATEST))
        )
        self._later[copy] = what.method
        copy.add_done_callback(self._later.pop)
        await (await self._deliver(what))(scope, receive, send)

    async def _deliver(self, what: httpx.Request) -> Response:
        try:
            answer = await self._http.send(what)
        except httpx.TransportError as error:
            return Response(str(error), 502)
        self._delivered += 1
        self._move()
        if self._chance.random() < LOST:
            self.lost += 1
            return Response("the answer is lost", 502)
        kept = {name: value for name, value in answer.headers.items() if name not in _HOP}
        return Response(answer.content, answer.status_code, kept)

    async def _deliver_again(self, what: httpx.Request, after: int) -> None:
        while self._delivered < after:
            await self._moved.wait()
        with contextlib.suppress(httpx.TransportError):
            self.again.append((await self._http.send(what)).status_code)

    def _move(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()


class _Server(uvicorn.Server):
    """uvicorn beside a test: signals are the test's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield

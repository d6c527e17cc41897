"""A service in a thread, on a real socket, that answers as told and remembers what it was asked."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


class Asked(NamedTuple):
    """One request, as it came in."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


class Peer:
    """Answers in the order told; a path without an answer left is the test's mistake and gives
    599."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Asked] = []
        self._answers: dict[str, deque[Response]] = {}

    def answer(
        self, path: str, body: Any = None, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        """Queue one answer for ``path``: bytes and text go as they are, the rest as JSON."""
        content = body if isinstance(body, bytes | str) else json.dumps(body)
        self._answers.setdefault(path, deque()).append(Response(content, status, headers))

    async def _handle(self, request: Request) -> Response:
        raw = await request.body()
        kind = request.headers.get("content-type", "")
        body = json.loads(raw) if raw and kind == "application/json" else raw.decode()
        self.asked.append(
            Asked(
                request.method,
                request.url.path,
                dict(request.query_params),
                dict(request.headers),
                body,
            )
        )
        answers = self._answers.get(request.url.path)
        return (
            answers.popleft()
            if answers
            else Response(f"no answer left for {request.url.path}", 599)
        )

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self._handle, methods=["GET", "POST"])])


@contextmanager
def serving(peer: Peer) -> Iterator[Peer]:
    """Serve ``peer`` on a free port of loopback."""
    listener = socket.create_server(("127.0.0.1", 0))
    peer.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(peer.app(), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield peer
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()

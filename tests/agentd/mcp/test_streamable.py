"""The gateway before a server that speaks HTTP: what passes, and what the journal has of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from agentd.masking.masker import Masker
from agentd.mcp.brackets import CallBrackets
from agentd.mcp.streamable import HttpGateway, run_http
from agentd.mcp.upstream import DirectUpstream, TransportUpstream
from tests.agentd.mcp.support import Beside
from tests.agentd.mcp.test_upstream import before
from tests.support.ports import free_port


def request(number: int, tool: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool}}


def answer(number: int, text: str) -> bytes:
    result = {"content": [{"type": "text", "text": text}]}
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()


def event(data: bytes, id: str = "") -> bytes:
    return (f"id: {id}\n".encode() if id else b"") + b"event: message\ndata: " + data + b"\n\n"


PROGRESS = event(b'{"jsonrpc":"2.0","method":"notifications/progress"}') + b": ping\n\n\n"


class HttpServer:
    """A server whose tools answer in the ways that there are."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        app = Starlette(routes=[Route("/mcp", self._answer, methods=["GET", "POST", "DELETE"])])
        self.transport = httpx.ASGITransport(app)

    async def _answer(self, request: Request) -> Response:
        body = await request.body()
        self.heard.append(body)
        if request.method == "GET":
            return _stream(PROGRESS + event(answer(1, "later"), "2"))
        if request.method == "DELETE" or b"notifications/" in body:
            return Response(status_code=202)
        tool = json.loads(body)["params"]["name"]
        answers: dict[str, Response] = {
            "json": Response(answer(1, "at once"), media_type="application/json"),
            "stream": _stream(PROGRESS + event(answer(1, "streamed"))),
            "resumable": _stream(event(b"", "1")),
            "cut": _stream(PROGRESS),
            "refused": Response("no such session", status_code=404),
            "elsewhere": Response(status_code=202),
        }
        return answers[tool]


def _stream(content: bytes) -> Response:
    async def parts() -> AsyncIterator[bytes]:
        for start in range(0, len(content), 7):
            yield content[start : start + 7]

    return StreamingResponse(parts(), media_type="text/event-stream")


class Both:
    """The server bare and behind the gateway, and what is asked of each."""

    def __init__(self, beside: Beside, server: HttpServer | None = None) -> None:
        server = server or HttpServer()
        self.heard = server.heard
        self.bare = httpx.AsyncClient(transport=server.transport, base_url="http://localhost")
        upstream = TransportUpstream(server.transport, "http://upstream")
        app = HttpGateway(upstream, beside.brackets, is_local=True)
        self.gateway = httpx.AsyncClient(
            transport=httpx.ASGITransport(app),  # type: ignore[arg-type]
            base_url="http://localhost",
        )

    async def ask(self, method: str = "POST", **more: Any) -> None:
        """Ask both the same: bytes, status and headers are the same."""
        alone = await self.bare.request(method, "/mcp", **more)
        through = await self.gateway.request(method, "/mcp", **more)
        assert (through.status_code, through.content) == (alone.status_code, alone.content)
        assert through.headers.raw == alone.headers.raw
        assert self.heard[-1] == self.heard[-2]


SESSION = {"mcp-session-id": "S"}


async def call(both: Both, tool: str, **headers: str) -> None:
    await both.ask(json=request(1, tool), headers=headers)


async def without_a_session(both: Both) -> None:
    await call(both, "json")
    await call(both, "stream")


async def in_a_session(both: Both) -> None:
    await call(both, "json", **SESSION)
    await call(both, "stream", **SESSION)


async def answered_by_a_later_stream(both: Both) -> None:
    await call(both, "resumable", **SESSION)
    await both.ask("GET", headers={**SESSION, "last-event-id": "1"})


async def answered_beside_as_before(both: Both) -> None:
    await call(both, "elsewhere")
    await both.ask("GET")


async def cut(both: Both) -> None:
    await call(both, "cut")


async def refused(both: Both) -> None:
    await call(both, "refused", **SESSION)


async def cancelled(both: Both) -> None:
    await call(both, "resumable", **SESSION)
    about = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    await both.ask(json=about, headers=SESSION)


async def deleted(both: Both) -> None:
    await call(both, "resumable", **SESSION)
    await both.ask("DELETE", headers=SESSION)


async def not_json(both: Both) -> None:
    await both.ask(content=b'{"half notifications/')


STORIES: dict[Callable[[Both], Awaitable[None]], str] = {
    without_a_session: (
        "began 0, called json, returned at once, ended 0, "
        "began 1, called stream, returned streamed, ended 1"
    ),
    in_a_session: (
        "began 0, called json, returned at once, ended 0, "
        "began 1, called stream, returned streamed, ended 1"
    ),
    answered_by_a_later_stream: "began 0, called resumable, returned later, ended 0",
    answered_beside_as_before: "began 0, called elsewhere, returned later, ended 0",
    cut: "began 0, called cut, returned the server's stream ended without an answer, ended 0",
    refused: "began 0, called refused, returned the server answered 404: no such session, ended 0",
    cancelled: "began 0, called resumable, returned cancelled by the client, ended 0",
    deleted: "began 0, called resumable, returned the session was deleted, ended 0",
    not_json: "",
}


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
async def test_all_passes_and_the_journal_is_of(
    tmp_path: Path, story: Callable[[Both], Awaitable[None]]
) -> None:
    async with Beside(tmp_path) as beside:
        await story(Both(beside))
        assert ", ".join(await beside.told()) == STORIES[story]


async def test_a_gateway_that_was_killed_loses_no_answer_of_the_server(tmp_path: Path) -> None:
    """Its successor knows nothing of the call, and passes the stream that the client resumes; the
    next call is a step of its own."""
    server = HttpServer()
    async with Beside(tmp_path) as beside:
        await call(Both(beside, server), "resumable", **SESSION)
        await beside.brackets.settle()
        await beside.brackets.drain()
        beside.brackets = CallBrackets(beside.port, Masker(), begin_wait_s=5.0)
        successor = Both(beside, server)
        await successor.ask("GET", headers={**SESSION, "last-event-id": "1"})
        await call(successor, "json", **SESSION)
        assert await beside.told() == [
            *("began 0", "called resumable"),
            *("began 1", "called json", "returned at once", "ended 1"),
        ]


@pytest.mark.parametrize("host", ["evil.test", "127.0.0.1.evil.test", "", "[", "a]b", "[::1"])
async def test_a_page_that_lets_its_name_point_here_is_refused(tmp_path: Path, host: str) -> None:
    """The server sees its own name behind the gateway, so the gateway looks at the client's."""
    both = Both(Beside(tmp_path))
    said = await both.gateway.post("/mcp", json=request(1, "json"), headers={"host": host})
    assert said.status_code == 403
    assert both.heard == []


async def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    async with Beside(tmp_path) as beside:
        app = HttpGateway(DirectUpstream("http://127.0.0.1:9"), beside.brackets, is_local=True)
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app),  # type: ignore[arg-type]
            base_url="http://localhost",
        )
        said = await client.post("/mcp", json=request(1, "json"))
        assert said.status_code == 502
        (began, called, returned, ended) = await beside.told()
        assert (began, called, ended) == ("began 0", "called json", "ended 0")
        assert returned.startswith("returned the server did not answer: no connection: ")


async def test_a_client_that_goes_away_goes_away_from_the_server(tmp_path: Path) -> None:
    """Its call comes back with the reason, and the step ends."""
    asked, left = asyncio.Event(), asyncio.Event()

    class Silent(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                left.set()
            raise AssertionError

    messages = [{"body": json.dumps(request(1, "slow")).encode()}]

    async def receive() -> dict[str, Any]:
        if messages:
            return {"type": "http.request", **messages.pop()}
        await asked.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        raise AssertionError(message)

    async with Beside(tmp_path) as beside:
        upstream = TransportUpstream(Silent(), "http://upstream")
        headers = [(b"host", b"localhost:1")]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b""}
        async with asyncio.timeout(20):
            app = HttpGateway(upstream, beside.brackets, is_local=True)
            await app({**scope, "headers": headers}, receive, send)
        assert left.is_set()
        assert await beside.told() == [
            *("began 0", "called slow", "returned the client went away", "ended 0")
        ]


async def test_over_the_wire_the_answer_is_the_server_s_own(tmp_path: Path) -> None:
    """To the byte, but for the headers that are between two neighbours."""
    head = b"HTTP/1.1 200 OK\r\ndate: then\r\nserver: theirs\r\ncontent-type: application/json\r\n"
    body = answer(1, "at once")
    whole = head + b"content-length: %d\r\n\r\n" % len(body) + body
    chunked = (
        head.replace(b"json", b"text") + b"transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
    )
    async with Beside(tmp_path) as beside, before([whole], [chunked]) as (_, raw):
        port = free_port()
        serving = asyncio.create_task(
            run_http(raw.url + "/mcp", ("127.0.0.1", port), beside.brackets)
        )
        reader, writer = await connected(port)
        for wanted in (whole, chunked):
            content = json.dumps(request(1, "json")).encode()
            writer.write(
                b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n"
                % len(content)
                + content
            )
            async with asyncio.timeout(20):
                assert await reader.readexactly(len(wanted)) == wanted
        writer.close()
        os.kill(os.getpid(), signal.SIGTERM)  # the gateway takes it: it ends by it
        await serving
        assert len(await beside.told()) == 8


async def connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the port, as soon as something listens there."""
    async with asyncio.timeout(20):
        while True:
            with suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", port)
            await asyncio.sleep(0.01)

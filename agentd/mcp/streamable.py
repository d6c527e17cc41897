"""The gateway before a server that speaks HTTP (streamable HTTP, or HTTP with SSE before it)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator, MutableMapping
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from itertools import count
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx
import structlog
import uvicorn

from agentd.core.errors import UsageError
from agentd.mcp.brackets import CallBrackets
from agentd.mcp.framing import MAX_MESSAGE_BYTES, EventSplitter
from agentd.mcp.messages import Cancellation, ToolRequest, ToolReturn, read_messages
from common.plain_answers import refuse_packed

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
CONNECT_S = 30.0
"""How long connecting to the server may take; its answers may take as long as they take."""
SHUTDOWN_S = 5
"""How long answers that are under way may take as the gateway ends, in seconds."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_OLD_SESSION = "no session"
"""The scope of calls that are answered in a stream which names no session."""
_HOP_BY_HOP = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te"),
        *(b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
log = structlog.get_logger(__name__)


class Upstream:
    """The server at ``base``, asked over ``transport`` itself: a client of httpx would keep cookies
    of one session for another, and take as long again as the request."""

    def __init__(self, transport: httpx.AsyncBaseTransport, base: str) -> None:
        self._transport, self._base = transport, base

    @asynccontextmanager
    async def ask(self, exchange: _Exchange) -> AsyncIterator[httpx.Response]:
        """Pass a request on; its answer is read while this is open. Raises `httpx.HTTPError`."""
        request = httpx.Request(
            exchange.method,
            self._base + exchange.path,
            headers=exchange.upstream_headers(),
            content=exchange.content(),
            extensions={"timeout": {"connect": CONNECT_S}},
        )
        answer = await self._transport.handle_async_request(request)
        answer.request = request
        try:
            refuse_packed(answer)
            yield answer
        finally:
            await answer.aclose()


class HttpGateway:
    """The gateway as an ASGI application before the server that ``upstream`` asks.

    With ``is_local`` it answers those only who name this machine: the server's own check of the
    name, against pages that let theirs point here, sees its own.
    """

    def __init__(self, upstream: Upstream, brackets: CallBrackets, *, is_local: bool) -> None:
        self._upstream, self._brackets, self._is_local = upstream, brackets, is_local
        self._posts = count()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"scope: expected http, got {scope['type']}")
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if self._is_local and urlsplit(f"//{host}").hostname not in LOOPBACK:
            await _refuse(send, 403, f"host: expected a name of this machine, got {host[:80]}")
            return
        body, rest = await _read(receive)
        exchange = _Exchange(scope, headers, body, rest, send)
        work = asyncio.create_task(self._pass(exchange))
        leaving = asyncio.create_task(_wait_disconnected(receive)) if rest is None else None
        try:
            await asyncio.wait(
                {work, leaving} if leaving else {work}, return_when=asyncio.FIRST_COMPLETED
            )
            if not work.done():
                work.cancel()  # the client went away: the server is to see it
            with suppress(asyncio.CancelledError):
                await work
        finally:
            work.cancel()
            if leaving is not None:
                leaving.cancel()

    async def _pass(self, exchange: _Exchange) -> None:
        session: Hashable = exchange.session or f"post {next(self._posts)}"
        if exchange.method == "POST":
            await self._read_post(exchange, session)
        elif exchange.session is None:
            session = _OLD_SESSION
        try:
            await self._forward(exchange, session)
        except httpx.HTTPError as error:
            why = f"the server did not answer: {type(error).__name__} {error}".strip()
            log.warning("The server did not answer.", path=exchange.path, why=why)
            self._lose_post(exchange, session, why)
            if exchange.is_started:
                raise  # the connection is cut: half an answer does not pass for a whole one
            await _refuse(exchange.send, 502, why)
        except asyncio.CancelledError:
            self._lose_post(exchange, session, "the client went away")
            raise

    async def _read_post(self, exchange: _Exchange, session: Hashable) -> None:
        """Begin the step of the tool calls that a request has, and take up its cancellations."""
        messages = read_messages(exchange.body) if exchange.rest is None else []
        calls = [message for message in messages if isinstance(message, ToolRequest)]
        exchange.calls.extend(call.request for call in calls)
        if calls:
            await self._brackets.begin(session, calls)
        for message in messages:
            if isinstance(message, Cancellation):
                self._brackets.cancel(session, message.request, message.reason)

    async def _forward(self, exchange: _Exchange, session: Hashable) -> None:
        async with self._upstream.ask(exchange) as answer:
            await exchange.start(answer)
            kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "text/event-stream":
                await self._pass_stream(exchange, answer, session)
                return
            body = bytearray()
            async for part in answer.aiter_raw():
                await exchange.write(part)
                if len(body) <= MAX_MESSAGE_BYTES:
                    body += part
            self._note_answer(exchange, answer.status_code, bytes(body), session)
            await exchange.end()

    async def _pass_stream(
        self, exchange: _Exchange, answer: httpx.Response, session: Hashable
    ) -> None:
        events = EventSplitter()
        async for part in answer.aiter_raw():
            # Read first: what the client does next comes after the answers in it.
            for event in events.feed(part):
                exchange.is_resumable |= event.has_id
                if event.data is None:
                    self._brackets.lose_sight(session)
                elif self._brackets.is_running():
                    self._note(event.data, session)
            await exchange.write(part)
        await exchange.end()
        self._lose_post(exchange, session, "the server's stream ended without an answer")

    def _note_answer(
        self, exchange: _Exchange, status: int, body: bytes, session: Hashable
    ) -> None:
        """Note what an answer that is no stream says of the calls of its request."""
        if exchange.method == "DELETE" and exchange.session is not None:
            self._brackets.lose(session, "the session was deleted")
        elif exchange.method != "POST":
            return
        elif status == httpx.codes.ACCEPTED:
            # The answers come in the stream that is open beside, as before streamable HTTP.
            if exchange.session is None:
                self._brackets.move(session, _OLD_SESSION)
        elif len(body) > MAX_MESSAGE_BYTES:
            self._brackets.lose_sight(session)
        else:
            self._note(body, session)
            why = f"the server answered {status}: {body[:300].decode(errors='replace')}"
            self._lose_post(exchange, session, why)

    def _note(self, raw: bytes, session: Hashable) -> None:
        for message in read_messages(raw):
            if isinstance(message, ToolReturn):
                self._brackets.finish(session, message)

    def _lose_post(self, exchange: _Exchange, session: Hashable, why: str) -> None:
        """Note that no answer to the calls of a request comes in its own answer any more. Where
        the client can go on with the stream, it comes there."""
        if exchange.method == "POST" and not (exchange.is_resumable and exchange.session):
            for request in exchange.calls:
                self._brackets.lose(session, why, request)


class _Exchange:
    """A request of the client and the answer to it. ``rest``: what comes of a body that is too long
    to be read."""

    def __init__(
        self,
        scope: dict[str, Any],
        headers: dict[bytes, bytes],
        body: bytes,
        rest: AsyncIterator[bytes] | None,
        send: Send,
    ) -> None:
        self._scope, self.body, self.rest, self.send = scope, body, rest, send
        session = headers.get(b"mcp-session-id", b"").decode("latin-1").strip()
        self.session: str | None = session or None
        self.method: str = scope["method"]
        path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
        query = scope["query_string"].decode("latin-1")
        self.path = f"{path}?{query}" if query else path
        self.calls: list[str] = []
        self.is_started = False
        self.is_resumable = False

    def upstream_headers(self) -> list[tuple[bytes, bytes]]:
        """Return the request's headers for the server."""
        dropped = _HOP_BY_HOP | {b"host", b"accept-encoding"}
        headers = [(name, value) for name, value in self._scope["headers"] if name not in dropped]
        return [*headers, (b"accept-encoding", b"identity")]

    def content(self) -> bytes | AsyncIterator[bytes]:
        if self.rest is None:
            return self.body
        return _chain(self.body, self.rest)

    async def start(self, answer: httpx.Response) -> None:
        self.is_started = True
        headers = [
            (name.lower(), value)
            for name, value in answer.headers.raw
            if name.lower() not in _HOP_BY_HOP
        ]
        await self.send(
            {"type": "http.response.start", "status": answer.status_code, "headers": headers}
        )

    async def write(self, part: bytes) -> None:
        await self.send({"type": "http.response.body", "body": part, "more_body": True})

    async def end(self) -> None:
        await self.send({"type": "http.response.body", "body": b""})


async def _chain(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for part in rest:
        yield part


async def _read(receive: Receive) -> tuple[bytes, AsyncIterator[bytes] | None]:
    """Return a request's body; of one longer than `MAX_MESSAGE_BYTES` the begin and the rest."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(body), None
        if len(body) > MAX_MESSAGE_BYTES:
            return bytes(body), _read_on(receive)


async def _read_on(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        yield message.get("body", b"")
        if not message.get("more_body"):
            return


async def _wait_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _refuse(send: Send, status: int, why: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": why.encode()})


class _GatewayServer(uvicorn.Server):
    """Says where it listens, once it does."""

    def __init__(self, config: uvicorn.Config, path: str) -> None:
        super().__init__(config)
        self._path = path

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on TERM and INT as a daemon does: with exit status 0."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, partial(setattr, self, "should_exit", True))
        yield

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            log.info("The gateway listens.", url=f"http://{host}:{port}{self._path}")


async def run_http(url: str, listen: tuple[str, int], brackets: CallBrackets) -> None:
    """Serve the gateway before ``url`` until TERM or INT. Raises `UsageError` where it cannot
    listen."""
    parts = urlsplit(url)
    host, port = listen
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
    proxy = None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)
    async with httpx.AsyncHTTPTransport(limits=limits, proxy=proxy) as transport:
        upstream = Upstream(transport, f"{parts.scheme}://{parts.netloc}")
        app = HttpGateway(upstream, brackets, is_local=host in LOOPBACK)
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=SHUTDOWN_S,
        )
        server = _GatewayServer(config, parts.path)
        try:
            await server.serve()
        except SystemExit:
            raise UsageError(
                f"--listen {host}:{port}: expected an address that is free here"
            ) from None
        finally:
            await brackets.drain()

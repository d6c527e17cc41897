"""The gateway before a server that speaks HTTP (streamable HTTP, or HTTP with SSE before it)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator, MutableMapping
from contextlib import asynccontextmanager, contextmanager
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
from agentd.mcp.upstream import (
    MAX_KEPT,
    DirectUpstream,
    TransportUpstream,
    Upstream,
    UpstreamAnswer,
    UpstreamError,
    UpstreamRequest,
)

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
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


class HttpGateway:
    """The gateway as an ASGI application before the server that ``upstream`` asks.

    With ``is_local`` it answers those only who name this machine: the server's own check of the
    name, against pages that let theirs point here, sees its own.
    """

    def __init__(self, upstream: Upstream, brackets: CallBrackets, *, is_local: bool) -> None:
        self._upstream, self._brackets, self._is_local = upstream, brackets, is_local
        self._posts = count()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Pass one request on, and stop when its client goes away; names of other machines are
        refused."""
        if scope["type"] != "http":
            raise RuntimeError(f"scope: expected http, got {scope['type']}")
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if self._is_local and _host_name(host) not in LOOPBACK:
            await _refuse(send, 403, f"host: expected a name of this machine, got {host[:80]}")
            return
        body, rest = await _read(receive)
        exchange = _Exchange(scope, headers, body, rest, send)
        if rest is not None:
            await self._pass(exchange)
            return
        work = asyncio.current_task()
        assert work is not None
        leaving = asyncio.create_task(_wait_disconnected(receive))
        leaving.add_done_callback(partial(_stop_passing, work))
        try:
            await self._pass(exchange)
        except asyncio.CancelledError:
            if leaving.cancelled() or not leaving.done():
                raise
            work.uncancel()  # the client went away, and the server has seen it
        finally:
            leaving.cancel()

    async def _pass(self, exchange: _Exchange) -> None:
        """Pass a request on under its session; without an answer its calls are lost, and 502 says
        so."""
        session: Hashable = exchange.session or f"post {next(self._posts)}"
        if exchange.method == "POST":
            await self._read_post(exchange, session)
        elif exchange.session is None:
            session = _OLD_SESSION
        try:
            await self._forward(exchange, session)
        except UpstreamError as error:
            why = f"the server did not answer: {error}"
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
        """Pass the answer on part by part, and read it: whole where it is one message, event by
        event where it is a stream."""
        async with self._upstream.ask(exchange.for_server()) as answer:
            await exchange.start(answer)
            kind = answer.header(b"content-type").partition(";")[0].strip().lower()
            if kind == "text/event-stream":
                await self._pass_stream(exchange, answer, session)
                return
            body = bytearray()
            async for part in answer.parts:
                await exchange.write(part)
                if len(body) <= MAX_MESSAGE_BYTES:
                    body += part
            self._note_answer(exchange, answer.status, bytes(body), session)
            await exchange.end()

    async def _pass_stream(
        self, exchange: _Exchange, answer: UpstreamAnswer, session: Hashable
    ) -> None:
        """Pass a stream of events on, each read before the client gets it."""
        events = EventSplitter()
        async for part in answer.parts:
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
        """Finish the calls that these messages answer."""
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

    def for_server(self) -> UpstreamRequest:
        """Return the request as the server is asked it."""
        dropped = _HOP_BY_HOP | {b"host", b"accept-encoding"}
        headers = [one for one in self._scope["headers"] if one[0] not in dropped]
        headers.append((b"accept-encoding", b"identity"))
        return UpstreamRequest(self.method, self.path, headers, self.body, self.rest)

    async def start(self, answer: UpstreamAnswer) -> None:
        """Send the head of the server's answer, without what is said of that connection alone."""
        self.is_started = True
        headers = [one for one in answer.headers if one[0] not in _HOP_BY_HOP]
        await self.send(
            {"type": "http.response.start", "status": answer.status, "headers": headers}
        )

    async def write(self, part: bytes) -> None:
        await self.send({"type": "http.response.body", "body": part, "more_body": True})

    async def end(self) -> None:
        await self.send({"type": "http.response.body", "body": b""})


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
    """Yield the rest of a body that was not read at once."""
    while True:
        message = await receive()
        yield message.get("body", b"")
        if not message.get("more_body"):
            return


def _stop_passing(work: asyncio.Task[Any], leaving: asyncio.Task[None]) -> None:
    """Call off what is under way for a client that went away: the server is to see it."""
    if not leaving.cancelled():
        work.cancel()


async def _wait_disconnected(receive: Receive) -> None:
    """Return when the client has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _host_name(host: str) -> str | None:
    """Return the name in a `Host` header, without its port; None for what is no name."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


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
        """Listen, and log the address once a free port is known."""
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            log.info("The gateway listens.", url=f"http://{host}:{port}{self._path}")


async def run_http(url: str, listen: tuple[str, int], brackets: CallBrackets) -> None:
    """Serve the gateway before ``url`` until TERM or INT. Raises `UsageError` where it cannot
    listen."""
    host, port = listen
    async with _upstream_of(url) as upstream:
        app = HttpGateway(upstream, brackets, is_local=host in LOOPBACK)
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,  # the server's own pass
            timeout_graceful_shutdown=SHUTDOWN_S,
        )
        server = _GatewayServer(config, urlsplit(url).path)
        try:
            await server.serve()
        except SystemExit:
            raise UsageError(
                f"--listen {host}:{port}: expected an address that is free here"
            ) from None
        finally:
            await brackets.drain()


@asynccontextmanager
async def _upstream_of(url: str) -> AsyncIterator[Upstream]:
    """Open the way to the server: over the proxy that the environment names for it, else
    directly."""
    parts = urlsplit(url)
    proxy = None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)
    if proxy is None:
        direct = DirectUpstream(url)
        try:
            yield direct
        finally:
            direct.close()
        return
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=MAX_KEPT)
    async with httpx.AsyncHTTPTransport(limits=limits, proxy=proxy) as transport:
        yield TransportUpstream(transport, f"{parts.scheme}://{parts.netloc}")

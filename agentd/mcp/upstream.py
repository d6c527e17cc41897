"""The server that a gateway asks: directly, over connections that are kept, or over a transport of
httpx.

Directly a request and its answer take a tenth of the time that a general client takes for them, and
a tool call waits for it.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple, Protocol

import httptools
import httpx

from common.plain_answers import refuse_packed

CONNECT_S = 30.0
"""How long connecting to the server may take; its answers may take as long as they take."""
KEPT_S = 4.0
"""How long a connection is kept for the next request: shorter than servers keep theirs, for a call
that a server may have taken cannot be sent again."""
MAX_KEPT = 100
MAX_WAITING = 1 << 20
"""Bytes of an answer that may wait to be passed on before the server has to wait."""
Header = tuple[bytes, bytes]


class UpstreamError(Exception):
    """The server did not answer, or not as HTTP has it."""


class UpstreamRequest(NamedTuple):
    """What the server is asked. ``rest``: what comes of a body after ``body``."""

    method: str
    path: str
    headers: Sequence[Header]
    body: bytes
    rest: AsyncIterator[bytes] | None = None


class UpstreamAnswer(NamedTuple):
    """What the server answers; ``parts`` are the bytes of its body as they come."""

    status: int
    headers: Sequence[Header]
    parts: AsyncIterator[bytes]

    def header(self, name: bytes) -> str:
        """Return a header's first value, "" where there is none."""
        return next((value for key, value in self.headers if key == name), b"").decode("latin-1")


class Upstream(Protocol):
    """A server that can be asked."""

    def ask(self, request: UpstreamRequest) -> AbstractAsyncContextManager[UpstreamAnswer]:
        """Pass a request on; its answer is read while this is open. Raises `UpstreamError`, as
        reading does."""
        ...


class TransportUpstream:
    """The server at ``base``, asked over ``transport`` itself: a client of httpx would keep cookies
    of one session for another."""

    def __init__(self, transport: httpx.AsyncBaseTransport, base: str) -> None:
        self._transport, self._base = transport, base

    @asynccontextmanager
    async def ask(self, request: UpstreamRequest) -> AsyncIterator[UpstreamAnswer]:
        """Send a request and give its answer while it comes. Raises `UpstreamError` for a server
        that does not answer."""
        asked = httpx.Request(
            request.method,
            self._base + request.path,
            headers=list(request.headers),
            content=request.body if request.rest is None else _chain(request.body, request.rest),
            extensions={"timeout": {"connect": CONNECT_S}},
        )
        try:
            answer = await self._transport.handle_async_request(asked)
            answer.request = asked
            try:
                refuse_packed(answer)
                headers = [(name.lower(), value) for name, value in answer.headers.raw]
                yield UpstreamAnswer(answer.status_code, headers, answer.aiter_raw())
            finally:
                await answer.aclose()
        except httpx.HTTPError as error:
            raise UpstreamError(f"{type(error).__name__} {error}".strip()) from error


class DirectUpstream:
    """The server at ``url``, over connections of its own. ``close`` ends them."""

    def __init__(self, url: str) -> None:
        parts = httpx.URL(url)
        self._host = parts.host
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._tls = httpx.create_ssl_context() if parts.scheme == "https" else None
        self._name = parts.netloc
        self._kept: list[_ServerConnection] = []

    @asynccontextmanager
    async def ask(self, request: UpstreamRequest) -> AsyncIterator[UpstreamAnswer]:
        connection = await self._connect()
        try:
            connection.start(request.method)
            await connection.send(_head_of(request, self._name), request)
            await connection.wait_head()
            answer = UpstreamAnswer(connection.status, connection.headers, connection.parts())
            _check_plain(answer)
            yield answer
        finally:
            self._give_back(connection)

    def close(self) -> None:
        """Close the connections that are kept, if there are any."""
        while self._kept:
            self._kept.pop().close()

    async def _connect(self) -> _ServerConnection:
        """Return a connection on which nothing is under way. Raises `UpstreamError`."""
        loop = asyncio.get_running_loop()
        while self._kept:
            kept = self._kept.pop()
            if kept.is_usable and loop.time() - kept.kept_at < KEPT_S:
                return kept
            kept.close()
        try:
            async with asyncio.timeout(CONNECT_S):
                _, made = await loop.create_connection(
                    _ServerConnection, self._host, self._port, ssl=self._tls
                )
        except TimeoutError:
            raise UpstreamError(f"no connection within {CONNECT_S:g} s") from None
        except (OSError, ssl.SSLError) as error:
            raise UpstreamError(f"no connection: {error}") from error
        return made

    def _give_back(self, connection: _ServerConnection) -> None:
        """Keep a connection whose answer has come whole; another is closed, so that the server
        sees that nobody waits."""
        if connection.is_usable and len(self._kept) < MAX_KEPT:
            connection.kept_at = asyncio.get_running_loop().time()
            self._kept.append(connection)
        else:
            connection.close()


class _ServerConnection(asyncio.Protocol):
    """A connection to the server: one request at a time, and its answer as it comes."""

    def __init__(self) -> None:
        self.kept_at = 0.0
        self.status = 0
        self.headers: list[Header] = []
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._is_head = False
        self._has_head = False
        self._is_done = True
        self._can_be_kept = True
        self._is_cut = False
        """Whether an answer came before the whole request was sent."""
        self._error: UpstreamError | None = None
        self._parts: deque[bytes] = deque()
        self._waiting = 0
        self._is_paused = False
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self._is_full = False

    @property
    def is_usable(self) -> bool:
        """Whether the next request can be sent."""
        is_open = self._transport is not None and not self._transport.is_closing()
        is_whole = self._is_done and not self._is_cut and self._error is None
        return is_open and is_whole and self._can_be_kept

    def start(self, method: str) -> None:
        """Expect the answer to a request."""
        self.status, self.headers = 0, []
        self._parser = httptools.HttpResponseParser(self)
        self._is_head = method == "HEAD"
        self._has_head = self._is_done = False
        self._parts.clear()
        self._waiting = 0

    async def send(self, head: bytes, request: UpstreamRequest) -> None:
        """Send head and body of a request. Raises `UpstreamError`."""
        await self._write(head + request.body if request.rest is None else head)
        if request.rest is None:
            return
        is_chunked = head.endswith(_CHUNKED)
        async for part in _chain(request.body, request.rest):
            if part:
                await self._write(b"%x\r\n%b\r\n" % (len(part), part) if is_chunked else part)
        if is_chunked:
            await self._write(b"0\r\n\r\n")

    async def wait_head(self) -> None:
        """Return once status and headers are known. Raises `UpstreamError`."""
        while not self._has_head:
            await self._wait()

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the answer's body as it comes. Raises `UpstreamError`."""
        while True:
            while self._parts:
                part = self._parts.popleft()
                self._waiting -= len(part)
                if self._is_paused and self._waiting < MAX_WAITING and self._transport is not None:
                    self._is_paused = False
                    self._transport.resume_reading()
                yield part
            if self._is_done:
                return
            await self._wait()

    def close(self) -> None:
        """Close the connection, whatever is under way on it."""
        if self._transport is not None:
            self._transport.close()

    # -- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Parse what came, and pause reading while too much of it waits to be passed on."""
        if self._parser is None or self._is_done:
            self._fail("it sent more than its answer")
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(f"no answer of HTTP: {error}")
            return
        if self._waiting >= MAX_WAITING and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """The server sends no more: the end of an answer that says nothing of its length."""
        if self._is_done:
            self._can_be_kept = False
        elif self._has_head and not any(name in _FRAMING for name, _ in self.headers):
            self._can_be_kept, self._is_done = False, True
            self._wake()
        else:
            self._fail("it closed the connection")

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail an answer that is not whole, and let go who waits to write."""
        self._transport = None
        if not self._is_done:
            self._fail(str(exc) if exc is not None else "it closed the connection")
        self.resume_writing()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        """Let go who waits until the server takes more."""
        self._is_full = False
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)

    # -- what the parser calls

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header of the answer. Raises `UpstreamError` behind a whole answer."""
        if self._is_done:
            raise UpstreamError("it sent more than its answer")
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Note the answer's status; one below 200 is followed by another answer."""
        assert self._parser is not None
        self.status = self._parser.get_status_code()
        if self.status < httpx.codes.OK:
            return  # another answer follows
        self._has_head = True
        if self._is_head:
            self._is_done, self._can_be_kept = True, False

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body until it is passed on."""
        if self._is_done:
            return  # of an answer to HEAD, which has none
        self._parts.append(body)
        self._waiting += len(body)

    def on_message_complete(self) -> None:
        """Note that the answer is whole, and whether another request may follow on this
        connection."""
        assert self._parser is not None
        if not self._has_head:
            self.headers = []
            return
        self._is_done = True
        self._can_be_kept = self._parser.should_keep_alive() and not self._is_head

    # -- the rest

    async def _write(self, data: bytes) -> None:
        """Write a part of the request, and wait while the server takes no more. Raises what
        failed."""
        if self._error is not None:
            raise self._error
        if self._transport is None or self._has_head:
            self._is_cut = True  # the answer says why the server reads no more
            return
        self._transport.write(data)
        if self._is_full:
            self._writer = asyncio.get_running_loop().create_future()
            await self._writer

    async def _wait(self) -> None:
        """Wait until something comes. Raises what failed once all that came was passed on."""
        if self._error is not None:
            raise self._error
        self._reader = asyncio.get_running_loop().create_future()
        await self._reader
        if self._error is not None and not self._parts:
            raise self._error

    def _wake(self) -> None:
        """Let go who waits for something to come."""
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _fail(self, why: str) -> None:
        """Note the first reason why the connection is of no use any more, and close it."""
        self._error = self._error or UpstreamError(why)
        self._wake()
        self.close()


_CHUNKED = b"transfer-encoding: chunked\r\n\r\n"
_FRAMING = (b"content-length", b"transfer-encoding")


def _head_of(request: UpstreamRequest, host: bytes) -> bytes:
    """Return a request's first line and headers."""
    lines = [b"%b %b HTTP/1.1" % (request.method.encode(), request.path.encode("latin-1"))]
    lines.append(b"host: " + host)
    lengths = [value for name, value in request.headers if name == b"content-length"]
    others = (one for one in request.headers if one[0] != b"content-length")
    lines += [b"%b: %b" % one for one in others]
    if request.rest is None:
        if request.body or lengths:
            lines.append(b"content-length: %d" % len(request.body))
    elif lengths:
        lines.append(b"content-length: " + lengths[0])
    else:
        return b"\r\n".join(lines) + b"\r\n" + _CHUNKED
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _check_plain(answer: UpstreamAnswer) -> None:
    """Raises `UpstreamError` for an answer that is packed though none was asked for."""
    packing = answer.header(b"content-encoding").strip().lower()
    if packing not in ("", "identity"):
        raise UpstreamError(f"content-encoding: expected none, got {packing[:40]!r}")


async def _chain(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the part of a body that was read, then the rest of it."""
    yield first
    async for part in rest:
        yield part

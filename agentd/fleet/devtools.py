"""`agentd devtools`: the door to a sandbox's browser for its trainer, and for nobody else.

Chromium's DevTools know no password: who reaches the port has the browser. In a fleet the sandboxes
share a network, so Chromium listens on loopback and this proxy listens for the harness. It wants a
token, as the first part of the path (``http://HOST:9223/TOKEN``, which is how an address carries
one) or as ``Authorization: Bearer``. What Chromium answers about itself names its WebSockets; there
the proxy puts its own address and the token. A WebSocket is passed on byte by byte once it is open.
"""

from __future__ import annotations

import asyncio
import hmac
import signal
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import h11
import structlog

from agentd.core.errors import UsageError
from agentd.core.settings import DevtoolsSettings
from common.regular_file import read_regular

MAX_HEAD_BYTES = 16 << 10
"""The longest request line and headers."""
MAX_BODY_BYTES = 8 << 20
"""The longest answer about itself that Chromium may give, as /json/list with many tabs."""
HEAD_S = 10.0
"""How long a caller may take to say what it wants, in seconds."""
MAX_CONNECTIONS = 256
"""How many calls are served at a time; one more is refused with 503."""
CHUNK_BYTES = 256 << 10
MAX_TOKEN = 4096
MIN_TOKEN_LENGTH = 16

log = structlog.get_logger(__name__)

_Headers = list[tuple[bytes, bytes]]


class RefusedRequestError(Exception):
    """A request that is not passed on: the status and the sentence of its answer."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def read_devtools_token(path: Path) -> str:
    """Return the token in ``path``; raises `UsageError` where it can't be read or is too short to
    be a secret."""
    try:
        token = read_regular(path, MAX_TOKEN).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: expected a file that holds DevTools' token ({error})") from None
    if len(token) < MIN_TOKEN_LENGTH or not token.replace("-", "").replace("_", "").isalnum():
        raise UsageError(
            f"{path}: expected a token of {MIN_TOKEN_LENGTH} or more letters, digits, '-' and '_',"
            f" got {len(token)} characters"
        )
    return token


async def serve_devtools(settings: DevtoolsSettings) -> None:
    """Serve the proxy until TERM or INT. Raises `UsageError` where it can't listen or has no usable
    token."""
    proxy = DevtoolsProxy(settings.cdp, read_devtools_token(settings.token_file))
    host, port = settings.listen
    try:
        server = await asyncio.start_server(proxy.handle, host, port, limit=CHUNK_BYTES)
    except OSError as error:
        raise UsageError(
            f"--listen {host}:{port}: expected an address that is free here ({error})"
        ) from None
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, stop.set)
    async with server:
        log.info(
            "DevTools are served to who has the token.",
            listen=f"{host}:{port}",
            browser=settings.cdp,
        )
        await stop.wait()
        server.close()
        proxy.close()


class DevtoolsProxy:
    """Passes requests with the token on to the browser at ``cdp``, as in
    ``http://127.0.0.1:9222``."""

    def __init__(self, cdp: str, token: str) -> None:
        where = urlsplit(cdp)
        self._host = where.hostname or "127.0.0.1"
        self._port = where.port or 80
        self._token = token
        self._tasks: set[asyncio.Task[None]] = set()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection: one request, or one WebSocket until either side ends it."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if len(self._tasks) > MAX_CONNECTIONS:
                raise RefusedRequestError(
                    503, f"At most {MAX_CONNECTIONS} connections are served at a time."
                )
            await self._serve(reader, writer)
        except RefusedRequestError as refused:
            await _send(
                writer, refused.status, [(b"content-type", b"text/plain")], refused.reason.encode()
            )
        except (
            ConnectionError,
            TimeoutError,
            h11.RemoteProtocolError,
            asyncio.CancelledError,
        ) as error:
            log.debug("A connection to DevTools ended.", reason=repr(error))
        finally:
            self._tasks.discard(task)
            writer.close()

    def close(self) -> None:
        """Cancel every open connection; the server itself is closed by `serve_devtools`."""
        for task in tuple(self._tasks):
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one request on to the browser, and its answer back; an upgraded connection is passed
        on both ways. Raises `RefusedRequestError`."""
        request, rest = await _read_request(reader)
        target = self._authorized_target(request)
        upgrade = any(name == b"upgrade" for name, _ in request.headers)
        host = next((value for name, value in request.headers if name == b"host"), b"")
        try:
            browser_reader, browser_writer = await asyncio.open_connection(
                self._host, self._port, limit=CHUNK_BYTES
            )
        except OSError as error:
            raise RefusedRequestError(502, f"The browser does not answer: {error}.") from None
        try:
            browser_writer.write(self._head_for_browser(request, target, upgrade=upgrade) + rest)
            await browser_writer.drain()
            if upgrade:
                await _pump_both((reader, writer), (browser_reader, browser_writer))
            else:
                await self._answer(browser_reader, writer, host)
        finally:
            browser_writer.close()

    def _authorized_target(self, request: h11.Request) -> bytes:
        """Return the path as the browser knows it; raises `RefusedRequestError` (401) without the
        token."""
        given, slash, path = request.target.removeprefix(b"/").partition(b"/")
        if hmac.compare_digest(given, self._token.encode()):
            return b"/" + path if slash else b"/"
        header = next((value for name, value in request.headers if name == b"authorization"), b"")
        if hmac.compare_digest(header, b"Bearer " + self._token.encode()):
            return request.target
        raise RefusedRequestError(
            401,
            "DevTools want the sandbox's token: http://HOST:PORT/TOKEN, or Authorization: Bearer"
            " TOKEN.",
        )

    def _head_for_browser(self, request: h11.Request, target: bytes, *, upgrade: bool) -> bytes:
        """Return the request's head with the browser's own host, without the token, and closed
        after its answer unless it is an upgrade."""
        dropped = {b"host", b"authorization"} | (set() if upgrade else {b"connection"})
        headers: _Headers = [
            (name, value) for name, value in request.headers if name not in dropped
        ]
        headers.append((b"host", f"{self._host}:{self._port}".encode()))
        if not upgrade:
            headers.append((b"connection", b"close"))
        return _head(b"%s %s HTTP/1.1" % (request.method, target), headers)

    async def _answer(
        self, browser: asyncio.StreamReader, writer: asyncio.StreamWriter, host: bytes
    ) -> None:
        """Read the browser's whole answer and send it with the WebSockets' addresses as the caller
        reaches them."""
        parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        parser.send(h11.Request(method="GET", target="/", headers=[("host", "browser")]))
        parser.send(h11.EndOfMessage())
        status, headers, body = 502, [], bytearray()
        async with asyncio.timeout(HEAD_S):
            while True:
                event = parser.next_event()
                if event is h11.NEED_DATA:
                    parser.receive_data(await browser.read(CHUNK_BYTES))
                elif isinstance(event, h11.Response):
                    status, headers = event.status_code, list(event.headers)
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
                    break
                if len(body) > MAX_BODY_BYTES:
                    raise RefusedRequestError(
                        502, f"The browser's answer is longer than {MAX_BODY_BYTES} bytes."
                    )
        own = f"{self._host}:{self._port}/".encode()
        text = bytes(body).replace(own, host + b"/" + self._token.encode() + b"/")
        kept = [
            (name, value)
            for name, value in headers
            if name not in (b"content-length", b"connection")
        ]
        await _send(writer, status, kept, text)


async def _read_request(reader: asyncio.StreamReader) -> tuple[h11.Request, bytes]:
    """Read one request's head; returns it and what came after it. Raises `RefusedRequestError`
    (400, 408)."""
    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
    try:
        async with asyncio.timeout(HEAD_S):
            while (event := parser.next_event()) is h11.NEED_DATA:
                parser.receive_data(await reader.read(MAX_HEAD_BYTES))
    except h11.RemoteProtocolError as error:
        raise RefusedRequestError(400, f"Expected an HTTP/1.1 request: {error}.") from None
    except TimeoutError:
        raise RefusedRequestError(408, f"Expected a whole request within {HEAD_S:g} s.") from None
    if not isinstance(event, h11.Request):
        raise ConnectionResetError("the caller ended the connection before its request")
    return event, parser.trailing_data[0]


async def _pump_both(
    caller: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    browser: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    """Copy bytes both ways until either side ends."""
    pumps = [
        asyncio.create_task(_pump(caller[0], browser[1])),
        asyncio.create_task(_pump(browser[0], caller[1])),
    ]
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on all that comes, as fast as the other side takes it."""
    while chunk := await reader.read(CHUNK_BYTES):
        writer.write(chunk)
        await writer.drain()


async def _send(
    writer: asyncio.StreamWriter, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes
) -> None:
    """Answer a caller and be done with it; one that went away is no error."""
    length: _Headers = [(b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    try:
        writer.write(_head(b"HTTP/1.1 %d " % status, [*headers, *length]) + body)
        await writer.drain()
    except ConnectionError as error:
        log.debug("A caller of DevTools went before its answer.", reason=repr(error))


def _head(first_line: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the head of a message of HTTP/1.1 as bytes."""
    lines = [first_line, *(name + b": " + value for name, value in headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n"

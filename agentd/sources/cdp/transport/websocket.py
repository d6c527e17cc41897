"""The browser's own websocket, as the debugging port offers it.

With websockets 10 too, whose client stands elsewhere: pyppeteer holds it there, and a harness that
uses pyppeteer is to have the daemon in the same environment.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Protocol

import orjson
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.version import version

from agentd.core.source import SourceLostError
from common.devtools_messages import Message, decode_message

OPEN_S = 10.0
MAX_MESSAGE = 100 << 20
"""Bytes of one message of the browser. A page can make some as large as it likes, such as what it
sends over a socket; beyond, the connection is lost and made anew, which is a gap."""


class _Socket(Protocol):
    """What both generations of clients offer."""

    async def send(self, message: str) -> None: ...

    def __aiter__(self) -> AsyncIterator[str | bytes]: ...

    async def close(self) -> None: ...


class WebSocketWire:
    """An open socket. Made by `open`."""

    def __init__(self, socket: _Socket) -> None:
        self._socket = socket
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue()

    @classmethod
    async def open(cls, address: str) -> WebSocketWire:
        """Connect to the browser's own websocket address; raises SourceLostError if nobody
        answers."""
        try:
            return cls(await _connect(address))
        except (OSError, TimeoutError, WebSocketException) as error:
            raise SourceLostError(f"cannot reach the browser at {address}: {error}") from None

    def send(self, message: Message) -> None:
        self._outbox.put_nowait(orjson.dumps(message))

    async def messages(self) -> AsyncIterator[Message]:
        """Yield what the browser sends until it closes, and write meanwhile what is queued."""
        writer = asyncio.create_task(self._write())
        try:
            async for raw in self._socket:
                yield decode_message(raw)
        except ConnectionClosed:
            pass
        finally:
            writer.cancel()

    async def close(self) -> None:
        with contextlib.suppress(OSError, WebSocketException):
            await self._socket.close()

    async def _write(self) -> None:
        """Write what is queued, in its order, until the browser closes."""
        with contextlib.suppress(ConnectionClosed):  # the reader sees it too, and says so
            while True:
                await self._socket.send((await self._outbox.get()).decode())


async def _connect(address: str) -> _Socket:
    """Connect by the library that is installed; old versions have another way."""
    # No pings: a browser that is stopped for a while is not lost.
    options: dict[str, Any] = {
        "max_size": MAX_MESSAGE,
        "compression": None,
        "open_timeout": OPEN_S,
        "ping_interval": None,
    }
    if int(version.partition(".")[0]) >= 15:
        from websockets.asyncio.client import connect

        socket: _Socket = await connect(address, proxy=None, **options)
    else:  # knows no proxies
        import importlib

        socket = await importlib.import_module("websockets.legacy.client").connect(
            address, **options
        )
    return socket

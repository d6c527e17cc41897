"""One websocket to the browser: numbers commands, hands replies and events over in the order they came."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from agentd.sources.base import SourceLostError

Params = Mapping[str, Any]
OnEvent = Callable[[str, str, Params], None]
"""Called with (session id or "", method, params)."""
OnReply = Callable[[Params], None]
"""Called with a command's result when it arrives, before any later message is looked at."""
Reply = asyncio.Future[Params]

OPEN_S = 10.0


class CdpError(Exception):
    """The browser refused a command; carries its words."""


class Connection:
    """A connection that never reconnects by itself: when the socket closes, `run` raises SourceLostError."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._last = 0
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._waiting: dict[int, tuple[Reply, OnReply | None]] = {}

    @classmethod
    async def open(cls, address: str) -> Connection:
        """Connect to the browser's own websocket address; raises SourceLostError if nobody answers."""
        try:
            # No proxy, no limit on a message: the browser is on this machine, and a page's text can be long.
            # No pings: a browser that is stopped for a while is not lost.
            socket = await connect(
                address, max_size=None, proxy=None, compression=None, open_timeout=OPEN_S, ping_interval=None
            )
        except (OSError, TimeoutError, WebSocketException) as error:
            raise SourceLostError(f"cannot reach the browser at {address}: {error}") from None
        return cls(socket)

    def send(
        self, method: str, params: Params | None = None, session: str = "", on_reply: OnReply | None = None
    ) -> Reply:
        """Send a command; the future holds its result, CdpError, or SourceLostError if the socket closes."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        reply: Reply = asyncio.get_running_loop().create_future()
        reply.add_done_callback(_forgive)
        self._waiting[self._last] = (reply, on_reply)
        self._outbox.put_nowait(orjson.dumps(message))
        return reply

    async def run(self, on_event: OnEvent) -> None:
        """Write what is sent and hand over what comes, until cancelled; raises SourceLostError at the end."""
        writer = asyncio.create_task(self._write())
        try:
            async for raw in self._socket:
                self._take(decode(raw), on_event)
        except ConnectionClosed:
            pass
        finally:
            writer.cancel()
            self._fail_waiting()
        raise SourceLostError("the browser closed the connection")

    async def close(self) -> None:
        """Close the socket; the browser detaches every target by itself."""
        self._fail_waiting()
        with contextlib.suppress(OSError, WebSocketException):
            await self._socket.close()

    async def _write(self) -> None:
        with contextlib.suppress(ConnectionClosed):  # the reader sees it too, and says so
            while True:
                await self._socket.send((await self._outbox.get()).decode())

    def _take(self, message: dict[str, Any], on_event: OnEvent) -> None:
        number = message.get("id")
        if number is None:
            on_event(message.get("sessionId", ""), message["method"], message.get("params", {}))
            return
        reply, on_reply = self._waiting.pop(number, (None, None))
        if reply is None or reply.done():
            return
        if "error" in message:
            reply.set_exception(CdpError(str(message["error"].get("message", message["error"]))))
            return
        result = message.get("result", {})
        if on_reply is not None:
            on_reply(result)
        reply.set_result(result)

    def _fail_waiting(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for reply, _ in waiting.values():
            if not reply.done():
                reply.set_exception(SourceLostError("the browser closed the connection"))


def _forgive(reply: Reply) -> None:
    # A failure that nobody waits for is no news: a target may go away before it answers.
    if not reply.cancelled():
        reply.exception()


def decode(raw: str | bytes) -> dict[str, Any]:
    """One message; halves of characters (lone surrogates), which a page may put into a dialog or an address, become
    U+FFFD instead of losing the message."""
    try:
        message: dict[str, Any] = orjson.loads(raw)
    except orjson.JSONDecodeError:
        text = raw if isinstance(raw, str) else raw.decode("utf-8", "replace")
        halves = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-16-le", "surrogatepass")
        message = orjson.loads(halves.decode("utf-16-le", "replace"))
    return message

"""The conversation with the browser: numbers commands, hands replies and events over in the order
they came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from agentd.core.source import SourceLostError
from agentd.sources.cdp.transport.explicit_attach import ByHand
from agentd.sources.cdp.transport.wire import DevToolsWire
from common.devtools_messages import Message

Params = Mapping[str, Any]
OnEvent = Callable[[str, str, Params], None]
"""Called with (session id or "", method, params)."""
OnReply = Callable[[Params], None]
"""Called with a command's result when it arrives, before any later message is looked at."""
Reply = asyncio.Future[Params]


class CdpError(Exception):
    """The browser refused a command; carries its words."""


class Connection:
    """A conversation that never reconnects by itself: when the wire ends, `run` raises
    SourceLostError."""

    def __init__(self, wire: DevToolsWire) -> None:
        self._wire = wire
        self._last = 0
        self._waiting: dict[int, tuple[Reply, OnReply | None]] = {}

    @classmethod
    async def open(cls, address: str) -> Connection:
        """Connect to the browser's own websocket address; raises SourceLostError if nobody
        answers."""
        from agentd.sources.cdp.transport.websocket import WebSocketWire

        return cls(ByHand(await WebSocketWire.open(address)))

    def send(
        self,
        method: str,
        params: Params | None = None,
        session: str = "",
        on_reply: OnReply | None = None,
    ) -> Reply:
        """Send a command; the future holds its result, CdpError, or SourceLostError if the wire
        ends."""
        self._last += 1
        message: Message = {"id": self._last, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        reply: Reply = asyncio.get_running_loop().create_future()
        reply.add_done_callback(_forgive)
        self._waiting[self._last] = (reply, on_reply)
        self._wire.send(message)
        return reply

    async def run(self, on_event: OnEvent) -> None:
        """Hand over what comes, until cancelled; raises SourceLostError at the end."""
        try:
            async for message in self._wire.messages():
                self._take(message, on_event)
        finally:
            self._fail_waiting()
        raise SourceLostError("the browser closed the connection")

    async def close(self) -> None:
        """Close the wire; the browser detaches every target by itself."""
        self._fail_waiting()
        await self._wire.close()

    def _take(self, message: Message, on_event: OnEvent) -> None:
        """Hand an event on, or a reply to who waits for it."""
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
        """Fail everybody who waits for a reply."""
        waiting, self._waiting = self._waiting, {}
        for reply, _ in waiting.values():
            if not reply.done():
                reply.set_exception(SourceLostError("the browser closed the connection"))
                _forgive(reply)  # at once: the loop may end before its callbacks run


def _forgive(reply: Reply) -> None:
    """Look at a failure that nobody waits for, so that asyncio does not warn of it."""
    # A failure that nobody waits for is no news: a target may go away before it answers.
    if not reply.cancelled():
        reply.exception()


__all__ = ["CdpError", "Connection", "OnEvent", "OnReply", "Params", "Reply"]

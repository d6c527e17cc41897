"""Connections to the control port: few at a time that have not shown the token, and none that keeps
it waiting.

Everybody in the sandbox can open them, and each takes a file descriptor that the daemon's sources
want.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from agentd.session.step_stream import ACCEPTED, UPGRADE

MAX_WAITING = 256
"""How many connections wait without having shown the token; one more closes the oldest."""
BACKLOG = 64
"""How many connections are accepted at a time: a request that comes with its connection is read
before `MAX_WAITING` others are accepted."""
QUEUE = 1024
"""How many connections wait to be accepted; one more is tried again after a second by its sender's
kernel."""
TOKEN_S = 10.0
"""Seconds from a connection's begin to its first request's head with the token."""
_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class WaitingProtocol(H11Protocol):
    """uvicorn's, which closes what does not show ``bearer`` and what sends half a request only.

    `protocol_for` makes the class for one port. ``body_s``: seconds for the rest of a request that
    has begun, once the token was shown; ``stream`` makes what a connection becomes by an upgrade.
    """

    bearer: bytes
    body_s: float
    stream: Callable[[], asyncio.Protocol] | None
    waiting: dict[WaitingProtocol, asyncio.TimerHandle]
    _half_sent: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the token, and close the connection that has waited longest where there are too
        many."""
        super().connection_made(transport)
        self.waiting[self] = self.loop.call_later(TOKEN_S, self._leave)
        if len(self.waiting) > MAX_WAITING:
            next(iter(self.waiting))._leave()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers of the connection."""
        self._stop_waiting()
        self._stop_body()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Look for the token in a head that is whole, and for what is still to come of the
        request."""
        super().data_received(data)
        if self.transport.get_protocol() is not self:
            return
        if self in self.waiting and self._is_known():
            self._stop_waiting()
        self._watch_body()

    def _should_upgrade(self) -> bool:
        """Whether the request asks for a stream of steps, with the token; asked by uvicorn."""
        asked = [value.lower() for name, value in self.headers if name == b"upgrade"]
        return asked == [UPGRADE] and self.stream is not None and self._is_known()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Make a stream of steps of the connection; the name is uvicorn's, for its one upgrade."""
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.write(ACCEPTED)
        assert self.stream is not None
        stream = self.stream()
        stream.connection_made(self.transport)
        self.transport.set_protocol(stream)
        rest, _ = self.conn.trailing_data
        if rest:
            stream.data_received(rest)

    def on_response_complete(self) -> None:
        """Watch the next request, which may be there by half already."""
        super().on_response_complete()
        self._watch_body()

    def _watch_body(self) -> None:
        """Give a request that is there by half its time; it begins once, however often a little
        more of it comes."""
        begun = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if self in self.waiting or not (begun or self.conn.their_state is h11.SEND_BODY):
            self._stop_body()
        elif self._half_sent is None:
            self._half_sent = self.loop.call_later(self.body_s, self._late)

    def _stop_body(self) -> None:
        """Cancel the timer of a body that is half sent."""
        if self._half_sent is not None:
            self._half_sent.cancel()
            self._half_sent = None

    def _late(self) -> None:
        """Refuse a request whose body did not come in time, and close its connection."""
        self._half_sent = None
        if self.transport.is_closing():
            return
        refused_before = self.conn.their_state is h11.SEND_BODY and self.cycle.response_started
        if not refused_before:
            self.transport.write(_LATE)
        self.transport.close()

    def _is_known(self) -> bool:
        """Whether the request has the control token, once, as its only authorization."""
        # None before a connection's first request.
        headers: list[tuple[bytes, bytes]] | None = self.headers
        given = [value for name, value in headers or () if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self.bearer)

    def _stop_waiting(self) -> None:
        """Count this connection no more among those without a token."""
        timer = self.waiting.pop(self, None)
        if timer is not None:
            timer.cancel()

    def _leave(self) -> None:
        self._stop_waiting()
        self.transport.abort()


def protocol_for(
    token: str, body_s: float, stream: Callable[[], asyncio.Protocol] | None = None
) -> type[WaitingProtocol]:
    """Make the protocol class of a port.

    ``token``: the port's; ``body_s``: how long a request's body may take, in seconds; ``stream``
    makes what a connection becomes by an upgrade, None where there are none.
    """
    members: dict[str, object] = {
        "bearer": f"Bearer {token}".encode(),
        "body_s": body_s,
        "stream": stream and staticmethod(stream),
        "waiting": {},
    }
    return type("PortProtocol", (WaitingProtocol,), members)

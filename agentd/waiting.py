"""Connections to the control port that have not shown the token: few at a time, and none for long.

Everybody in the sandbox can open them, and each takes a file descriptor that the daemon's sources want.
"""

from __future__ import annotations

import asyncio
import hmac
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_WAITING = 256
"""How many connections wait without having shown the token; one more closes the oldest."""
BACKLOG = 64
"""How many connections are accepted at a time: a request that comes with its connection is read before
`MAX_WAITING` others are accepted."""
QUEUE = 1024
"""How many connections wait to be accepted; for one more, its sender's kernel tries again after a second."""
TOKEN_S = 10.0
"""Seconds from a connection's begin to its first request's head with the token."""


class WaitingProtocol(H11Protocol):
    """uvicorn's, which closes what does not show ``bearer``. `protocol_for` makes the class for one port."""

    bearer: bytes
    waiting: dict[WaitingProtocol, asyncio.TimerHandle]

    def connection_made(self, transport: Any) -> None:
        """Wait for the token, and close the connection that has waited longest where there are too many."""
        super().connection_made(transport)
        self.waiting[self] = self.loop.call_later(TOKEN_S, self._leave)
        if len(self.waiting) > MAX_WAITING:
            next(iter(self.waiting))._leave()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Look for the token in a head that is whole."""
        super().data_received(data)
        if self in self.waiting and self._is_known():
            self._stop_waiting()

    def _is_known(self) -> bool:
        headers: list[tuple[bytes, bytes]] | None = self.headers  # None before a connection's first request
        given = [value for name, value in headers or () if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self.bearer)

    def _stop_waiting(self) -> None:
        timer = self.waiting.pop(self, None)
        if timer is not None:
            timer.cancel()

    def _leave(self) -> None:
        self._stop_waiting()
        self.transport.abort()


def protocol_for(token: str) -> type[WaitingProtocol]:
    """The protocol of a port whose token is ``token``."""
    members = {"bearer": f"Bearer {token}".encode(), "waiting": {}}
    return type("PortProtocol", (WaitingProtocol,), members)

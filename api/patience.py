"""HTTP connections that do not wait for ever for what was only half sent: neither for a request's head nor its body."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_S = 15.0
"""Seconds from a connection's begin, or a request's first byte, to the end of the request's head."""
BODY_IDLE_S = 20.0
"""Seconds within which more of a body comes, where the service is ready to take it."""
BODY_S = 300.0
"""Seconds for a whole body."""
_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class PatientProtocol(HttpToolsProtocol):
    """uvicorn's, with deadlines."""

    _timer: asyncio.TimerHandle | None = None
    _ends = 0.0

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait(HEAD_S, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request's first byte is there."""
        self._wait(HEAD_S, self._late)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is there; its body may follow."""
        self._ends = self.loop.time() + BODY_S
        self._wait(BODY_IDLE_S, self._body_late)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """More of its body is there."""
        self._wait(min(BODY_IDLE_S, max(0.0, self._ends - self.loop.time())), self._body_late)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """It is there as a whole."""
        self._stop()
        super().on_message_complete()

    def _wait(self, seconds: float, then: Any) -> None:
        self._stop()
        self._timer = self.loop.call_later(seconds, then)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _body_late(self) -> None:
        # Where the service itself does not take more for now, nothing comes through no fault of the sender's.
        if self.flow.read_paused and self.loop.time() < self._ends:
            self._wait(BODY_IDLE_S, self._body_late)
        else:
            self._late()

    def _late(self) -> None:
        self._stop()
        if not self.transport.is_closing():
            cycle: Any = self.cycle  # None before a connection's first request
            if cycle is None or cycle.response_complete or not cycle.response_started:
                self.transport.write(_LATE)
            self.transport.close()

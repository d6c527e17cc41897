"""HTTP connections that do not wait for ever for what was only half sent: neither for a request's
head nor its body."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.core.settings import Limits

_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class PatientProtocol(HttpToolsProtocol):
    """uvicorn's, with the deadlines of ``limits``, for every client. `patient` makes the class for
    one service."""

    limits: Limits
    _timer: asyncio.TimerHandle | None = None
    _ends = 0.0

    def connection_made(self, transport: Any) -> None:
        """Start the time that the first request may take."""
        super().connection_made(transport)
        self._wait(self.limits.head_s, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer: no request can come any more."""
        self._stop()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request's first byte is there."""
        self._wait(self.limits.head_s, self._late)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is there; its body may follow."""
        self._ends = self.loop.time() + self.limits.body_s
        self._wait(self.limits.body_idle_s, self._body_late)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """More of its body is there."""
        self._wait(
            min(self.limits.body_idle_s, max(0.0, self._ends - self.loop.time())), self._body_late
        )
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
        """Refuse a body that comes too slowly, unless the service itself takes no more for now."""
        # Where the service itself does not take more for now, nothing comes through no fault of the
        # sender's.
        if self.flow.read_paused and self.loop.time() < self._ends:
            self._wait(self.limits.body_idle_s, self._body_late)
        else:
            self._late()

    def _late(self) -> None:
        """Refuse what is late, unless its answer has begun, and close the connection."""
        self._stop()
        if not self.transport.is_closing():
            cycle: Any = self.cycle  # None before a connection's first request
            if cycle is None or cycle.response_complete or not cycle.response_started:
                self.transport.write(_LATE)
            self.transport.close()


def patient(limits: Limits) -> type[PatientProtocol]:
    """The protocol of a service with these limits."""
    return type("LimitedProtocol", (PatientProtocol,), {"limits": limits})

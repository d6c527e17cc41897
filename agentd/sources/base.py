"""What a source is: something that reports observations until it is told to stop, and fails alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class SourceLostError(Exception):
    """The source sees nothing any more (browser gone, folder removed); its supervisor records a gap and retries."""


class Sink(Protocol):
    """Where observations go; called on the event loop's thread, never blocks, stamps the time itself."""

    def __call__(self, kind: str, data: Mapping[str, Any]) -> None: ...


class Source(Protocol):
    """One sense of the daemon.

    ``run`` attaches, reports what is already so with ``baseline: true``, calls ``ready()`` once, then reports
    what happens until cancelled. It returns never; it raises `SourceLostError` when it can see no longer.
    The supervisor calls ``run`` again later: a fresh attachment, with its own baseline.
    ``fence`` returns once everything that happened before the call has reached the sink, at the latest
    after ``timeout_s`` seconds.
    """

    name: str

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None: ...

    async def fence(self, timeout_s: float) -> None: ...

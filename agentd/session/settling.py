"""When a step is complete: its sources are fenced, then no event came for ``quiet_ms``, at most
``settle_ms``.

One timer, moved on when it finds that an event came meanwhile; events themselves only note the
time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Literal

Why = Literal["quiet", "settle_ms"]
Seal = Callable[[Why], Awaitable[None]]

OWN = ("journal", "steps", "screen", "visual")
"""Sources whose events come of the harness and the daemon themselves, not of an action."""


class StepSealer:
    """Waits for the quiet after a step's end. ``hears``: kinds that disturb it, None for every
    kind."""

    def __init__(self, hears: Collection[str] | None, quiet_ms: int, settle_ms: int) -> None:
        self._hears = None if hears is None else frozenset(hears)
        self._quiet_s = quiet_ms / 1000
        self._settle_s = settle_ms / 1000
        self._heard_at = float("-inf")
        self._task: asyncio.Task[None] | None = None

    def on_event(self, source: str, kind: str) -> None:
        """Note the time of an event that disturbs the quiet; a listener of the recorder's."""
        if source not in OWN and (self._hears is None or kind in self._hears):
            self._heard_at = asyncio.get_running_loop().time()

    def start(
        self, fence: Callable[[], Awaitable[None]], last: Callable[[], Awaitable[None]], seal: Seal
    ) -> None:
        """Wait for the quiet in a task, then for ``last``, and call ``seal`` once, unless `stop`
        comes first."""
        self.stop()
        self._task = asyncio.create_task(self._settle(fence, last, seal), name="seal")

    async def _settle(
        self, fence: Callable[[], Awaitable[None]], last: Callable[[], Awaitable[None]], seal: Seal
    ) -> None:
        """Wait until the sources are through and quiet, let them look a last time, and seal with
        the reason."""
        ended = asyncio.get_running_loop().time()
        await fence()
        why: Why = "quiet" if self._quiet_s == 0 else await self._wait_quiet(ended)
        await last()
        await seal(why)

    async def _wait_quiet(self, ended: float) -> Why:
        """Wait for the quiet of a step that ended at ``ended``, or for the end of patience."""
        loop = asyncio.get_running_loop()
        settled_at = ended + self._settle_s
        while True:
            quiet_at = max(ended, self._heard_at) + self._quiet_s
            due = min(quiet_at, settled_at)
            if loop.time() >= due:
                return "quiet" if loop.time() >= quiet_at else "settle_ms"
            await asyncio.sleep(due - loop.time())

    @property
    def waiting(self) -> bool:
        """Whether a step's quiet is awaited now."""
        return self._task is not None and not self._task.done()

    def stop(self) -> None:
        """Wait no longer; the step goes unsealed, or is sealed by whoever calls this."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

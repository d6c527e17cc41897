"""Runs a CdpSource beside a test, and asks what it said of a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from agentd.sources.cdp import CdpSource
from tests.support import watching as support
from tests.support.chromium import Chromium
from tests.support.watching import PATIENCE_S, Data, running

__all__ = ["PATIENCE_S", "Data", "Watch", "watching"]


class Watch(support.Watch[CdpSource]):
    """What the source said of ``browser``."""

    def __init__(self, source: CdpSource, browser: Chromium) -> None:
        super().__init__(source)
        self.browser = browser

    def all(self, kind: str, **wanted: Any) -> list[Data]:
        """The observations of ``kind`` whose fields are as wanted; baseline ones only if asked
        for."""
        return super().all(kind, **{"baseline": None} | wanted)

    def clicked(self, name: str) -> bool:
        """Whether the last click was on the element of this name."""
        clicks = self.all("element.clicked")
        return bool(clicks) and clicks[-1]["element"]["name"] == name

    async def catch_up(self) -> None:
        """Fence, then wait for pages that have more to tell than they could at once, as the daemon
        does before a seal: a busy machine may take the processor from a page as it answers a
        fence."""
        await self.fence()
        await self.source.before_seal(0, closing=False)

    def count(self) -> int:
        """How much was said so far."""
        return len(self.seen)


@asynccontextmanager
async def watching(
    browser: Chromium, plan: Mapping[str, Any] | None = None, source: CdpSource | None = None
) -> AsyncIterator[Watch]:
    """A source attached to ``browser`` and ready."""
    async with running(
        Watch(source or CdpSource(browser.endpoint, None, plan or {}), browser)
    ) as watch:
        yield watch

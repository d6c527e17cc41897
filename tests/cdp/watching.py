"""Runs a CdpSource beside a test and lets it wait for what the source says, never for time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from agentd.sources.cdp import CdpSource
from tests.support.chromium import Chromium

PATIENCE_S = 20.0
Data = Mapping[str, Any]


class Watch:
    """What a source said, in order: ``seen`` holds (kind, data)."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Any]]] = []
        self.ready = asyncio.Event()
        self._news = asyncio.Event()
        self.source: CdpSource | None = None
        self.browser: Chromium | None = None
        self.task: asyncio.Task[None] | None = None

    def sink(self, kind: str, data: Data) -> None:
        self.seen.append((kind, dict(data)))
        self._news.set()

    def wake(self) -> None:
        self._news.set()

    def all(self, kind: str, **wanted: Any) -> list[dict[str, Any]]:
        """Every observation of ``kind`` whose data has the ``wanted`` fields; baseline ones only if asked for."""
        wanted = {"baseline": None} | wanted
        return [data for name, data in self.seen if name == kind and all(data.get(k) == v for k, v in wanted.items())]

    def clicked(self, name: str) -> bool:
        """Whether the last click was on the element of this name."""
        clicks = self.all("element.clicked")
        return bool(clicks) and clicks[-1]["element"]["name"] == name

    def count(self) -> int:
        return len(self.seen)

    async def until(self, question: Callable[[], Any]) -> Any:
        """Wait until ``question()`` has an answer that is true, and return it."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not (answer := question()):
                    self._news.clear()
                    if self.task is not None and self.task.done():
                        self.task.result()
                    await self._news.wait()
        except TimeoutError:
            said = "\n".join(f"{kind} {data}" for kind, data in self.seen[-60:])
            raise AssertionError(f"not seen within {PATIENCE_S} s; the last observations were:\n{said}") from None
        return answer

    async def one(self, kind: str, **wanted: Any) -> dict[str, Any]:
        """Wait for the first observation of ``kind`` with the ``wanted`` fields."""
        found: list[dict[str, Any]] = await self.until(lambda: self.all(kind, **wanted))
        return found[0]

    async def fence(self, patience_s: float = PATIENCE_S) -> None:
        """Everything that happened before has been said; or time is up, where a page stands still."""
        assert self.source is not None
        await self.source.fence(patience_s)


@asynccontextmanager
async def watching(
    browser: Chromium, plan: Data | None = None, source: CdpSource | None = None
) -> AsyncIterator[Watch]:
    """A source attached to ``browser`` and ready."""
    watch = Watch()
    watch.browser = browser
    watch.source = source or CdpSource(browser.endpoint, None, plan or {})
    task = watch.task = asyncio.create_task(watch.source.run(watch.sink, watch.ready.set))
    task.add_done_callback(lambda _: watch.wake())
    ready = asyncio.create_task(watch.ready.wait())
    try:
        await asyncio.wait((task, ready), timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        assert watch.ready.is_set(), "the source did not become ready"
        yield watch
    finally:
        ready.cancel()
        task.cancel()
        await asyncio.gather(task, ready, return_exceptions=True)

"""A source under test, run as the supervisor runs it; waits are for what it says, never for
time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

from agentd.core.source import Source
from tests.support.golden import has_the_fields_of_its_kind

PATIENCE_S = 60.0
Data = dict[str, Any]
S = TypeVar("S", bound=Source)
T = TypeVar("T")


class Watch(Generic[S]):
    """What the source said, in order: ``seen`` holds (kind, data)."""

    def __init__(self, source: S) -> None:
        self.source = source
        self.seen: list[tuple[str, Data]] = []
        self.ready = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    def sink(self, kind: str, data: Mapping[str, Any]) -> None:
        """Takes one observation; its fields must be those of its kind."""
        has_the_fields_of_its_kind(kind, data)
        self.seen.append((kind, dict(data)))
        self._news.set()

    def wake(self) -> None:
        """Look again at what is waited for."""
        self._news.set()

    def all(self, kind: str, **wanted: Any) -> list[Data]:
        """The observations of ``kind`` whose fields are as wanted."""
        return [
            data
            for one, data in self.seen
            if one == kind and all(data.get(name) == value for name, value in wanted.items())
        ]

    async def until(self, question: Callable[[], T]) -> T:
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
            raise AssertionError(
                f"not seen within {PATIENCE_S} s; the last observations were:\n{said}"
            ) from None
        return answer

    async def one(self, kind: str, **wanted: Any) -> Data:
        """Wait for the first such observation."""
        return (await self.until(lambda: self.all(kind, **wanted)))[0]

    async def fence(self, patience_s: float = PATIENCE_S) -> None:
        """Everything that happened before has been said; or time is up."""
        await self.source.fence(patience_s)


W = TypeVar("W", bound=Watch[Any])


@asynccontextmanager
async def running(watch: W) -> AsyncIterator[W]:
    """The watch, its source ready."""
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

"""A source of the machine under test, run as the supervisor runs it; waits are for what it says, never for time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from agentd.sources.base import Source
from detectors.kinds import KINDS

PATIENCE_S = 60.0
Data = dict[str, Any]
T = TypeVar("T")


class Watch:
    """What the source said: ``seen`` is a list of (kind, data)."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.seen: list[tuple[str, Data]] = []
        self.ready = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    def sink(self, kind: str, data: Mapping[str, Any]) -> None:
        """Takes one observation; its fields must be those of its kind."""
        fields = KINDS[kind].fields
        assert set(data) <= {field.rstrip("?") for field in fields}, f"{kind} has fields beside its own: {data}"
        lacking = {field for field in fields if not field.endswith("?")} - set(data)
        assert not lacking, f"{kind} lacks {lacking}: {data}"
        self.seen.append((kind, dict(data)))
        self._news.set()

    def all(self, kind: str, **wanted: Any) -> list[Data]:
        """The observations of a kind whose fields are as wanted."""
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
                    assert self.task is not None
                    self._news.clear()
                    if self.task.done():
                        self.task.result()
                    await self._news.wait()
        except TimeoutError:
            said = "\n".join(f"{kind} {data}" for kind, data in self.seen[-40:])
            raise AssertionError(f"not seen within {PATIENCE_S} s; the last observations were:\n{said}") from None
        return answer

    async def one(self, kind: str, **wanted: Any) -> Data:
        """Wait for the first such observation."""
        return (await self.until(lambda: self.all(kind, **wanted)))[0]

    async def fence(self) -> None:
        """Everything that happened before has been said."""
        await self.source.fence(PATIENCE_S)

    def wake(self) -> None:
        """Look again at what is waited for."""
        self._news.set()


@asynccontextmanager
async def watching(source: Source) -> AsyncIterator[Watch]:
    """The source, ready."""
    watch = Watch(source)
    task = watch.task = asyncio.create_task(source.run(watch.sink, watch.ready.set))
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

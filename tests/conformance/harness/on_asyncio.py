"""What harnesses on asyncio have in common."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import agentd
from agentd.inprocess import AsyncWatch
from tests.conformance.harness.listening import listen
from tests.conformance.outcome import outcome
from tests.conformance.scene import Hands, scene


class Steps(Protocol):
    """Where the harness says its steps."""

    async def begin_step(self, action: str) -> object: ...

    async def end_step(self) -> object: ...


class AsyncHands(Hands):
    """``session``: a DevTools session of the library; ``crash`` and ``saved`` are done as the
    library can."""

    def __init__(
        self,
        session: Any,
        crash: Callable[[], Awaitable[None]],
        saved: Callable[[], Awaitable[list[list[str]]]],
        steps: Steps | None = None,
    ) -> None:
        super().__init__()
        self.steps = steps
        self._session = session
        self._crash = crash
        self._saved = saved

    async def begin(self, action: str) -> None:
        if self.steps is not None:
            await self.steps.begin_step(action)

    async def end(self) -> None:
        if self.steps is not None:
            await self.steps.end_step()

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = await self._session.send(method, params)
        return answer

    async def crash(self) -> None:
        await self._crash()

    async def downloads(self) -> list[list[str]]:
        while not (saved := await self._saved()):
            await self.rest()
        return saved

    async def rest(self, seconds: float = 0.01) -> None:
        await asyncio.sleep(seconds)


@asynccontextmanager
async def _watching(page: Any, mode: str, folder: Path) -> AsyncIterator[AsyncWatch | None]:
    if mode.startswith("alone"):
        yield None
        return
    async with agentd.attach(page, out=folder / "session.mrec") as watch:
        yield watch


async def go(hands: AsyncHands, page: Any, mode: str, site: str, folder: Path) -> None:
    """Do what ``mode`` asks for with a page of any library."""
    async with _watching(page, mode, folder) as watch:
        if watch is not None:
            hands.steps = watch
            listen(watch, hands)
        if mode == "scene":
            await scene(hands, site)
        else:
            print(await outcome(hands, site))

"""Hands for harnesses on asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from tests.conformance.scene import Hands


class Steps(Protocol):
    """Where the harness says its steps."""

    async def begin_step(self, action: str) -> object: ...

    async def end_step(self) -> object: ...


class AsyncHands(Hands):
    def __init__(self, steps: Steps, session: Any, crash: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self._steps = steps
        self._session = session
        self._crash = crash

    async def begin(self, action: str) -> None:
        await self._steps.begin_step(action)

    async def end(self) -> None:
        await self._steps.end_step()

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = await self._session.send(method, params)
        return answer

    async def crash(self) -> None:
        await self._crash()

    async def rest(self) -> None:
        await asyncio.sleep(0.01)

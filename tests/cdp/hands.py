"""A hand at the browser over a connection of its own: opens tabs, clicks, answers, as any other
client would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agentd.sources.cdp.transport.address import websocket_address
from agentd.sources.cdp.transport.connection import Connection, Params
from tests.support.chromium import Chromium


class Hand:
    """Every call is one DevTools command; ``heard`` keeps what came of a method that was asked
    for."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.heard: list[tuple[str, str, Params]] = []
        self._news = asyncio.Event()

    async def open(self, url: str, **more: Any) -> str:
        """A new tab; gives its target."""
        return str(
            (await self._connection.send("Target.createTarget", {"url": url, **more}))["targetId"]
        )

    async def session(self, tab: str) -> str:
        attached = await self._connection.send(
            "Target.attachToTarget", {"targetId": tab, "flatten": True}
        )
        return str(attached["sessionId"])

    async def close(self, tab: str) -> None:
        await self._connection.send("Target.closeTarget", {"targetId": tab})

    async def call(self, session: str, method: str, **params: Any) -> Any:
        return await self._connection.send(method, params, session)

    def soon(self, session: str, method: str, **params: Any) -> asyncio.Future[Params]:
        """Send a command whose answer is to be waited for later."""
        return self._connection.send(method, params, session)

    async def crash(self, session: str) -> None:
        """Let the session's renderer crash; the command itself is never answered."""
        self._connection.send("Page.crash", {}, session)

    async def evaluate(self, session: str, expression: str) -> Any:
        """The value of an expression in the page, its promise awaited, with a user's gesture."""
        asked = {
            "expression": expression,
            "awaitPromise": True,
            "userGesture": True,
            "returnByValue": True,
        }
        return (await self._connection.send("Runtime.evaluate", asked, session))["result"].get(
            "value"
        )

    async def click(self, session: str, selector: str, modifiers: int = 0) -> None:
        """A real click in the middle of the first element; ``modifiers``: 2 for Ctrl."""
        find = f"(() => {{ const r = document.querySelector({selector!r}).getBoundingClientRect(); " \
            "return [r.x + r.width / 2, r.y + r.height / 2] })()"  # fmt: skip
        x, y = await self.evaluate(session, find)
        for kind in ("mousePressed", "mouseReleased"):
            about = {
                "type": kind,
                "x": x,
                "y": y,
                "button": "left",
                "clickCount": 1,
                "modifiers": modifiers,
            }
            await self._connection.send("Input.dispatchMouseEvent", about, session)

    async def hears(self, method: str) -> Params:
        """Wait for the next message of a method that was not taken yet."""
        async with asyncio.timeout(20):
            while True:
                for one in self.heard:
                    if one[1] == method:
                        self.heard.remove(one)
                        return one[2]
                self._news.clear()
                await self._news.wait()

    def take(self, session: str, method: str, params: Params) -> None:
        self.heard.append((session, method, params))
        self._news.set()


@asynccontextmanager
async def hand(browser: Chromium) -> AsyncIterator[Hand]:
    """One hand, until the end of the block."""
    connection = await Connection.open(await websocket_address(browser.endpoint, None))
    one = Hand(connection)
    reading = asyncio.create_task(connection.run(one.take))
    try:
        yield one
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await connection.close()

"""The scene: what the agent does, told once. Every hand sends the same input over a DevTools
session of its library.

Imports nothing that is not there in every environment.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

PATIENCE_S = 20.0
NAVIGATED = "Inspected target navigated or closed"
"""CDP's answer where a document was asked that gave way to the next."""


class Hands:
    """What a harness lends to the scene. Without asyncio its methods never suspend, see
    `plainly`."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        """How often each kind was journalled; filled from the daemon's thread."""

    async def begin(self, action: str) -> None:
        raise NotImplementedError

    async def end(self) -> None:
        raise NotImplementedError

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a command over the page's own DevTools session."""
        raise NotImplementedError

    async def crash(self) -> None:
        """Send the page to chrome://crash and do not mind that it crashes."""
        raise NotImplementedError

    async def downloads(self) -> list[list[str]]:
        """Wait for one download; gives every download's name and content."""
        raise NotImplementedError

    async def rest(self) -> None:
        """Give everybody a turn."""
        raise NotImplementedError

    # -- made of the above

    async def value(self, expression: str) -> Any:
        answer = await self.call(
            "Runtime.evaluate", {"expression": expression, "returnByValue": True}
        )
        return answer["result"].get("value")

    async def until(self, expression: str) -> Any:
        """Wait until the page gives something that is true."""
        deadline = time.monotonic() + PATIENCE_S
        while not (
            value := await self._said(f"(() => {{ try {{ return {expression} }} catch {{}} }})()")
        ):
            assert time.monotonic() < deadline, f"the page never said {expression}"
            await self.rest()
        return value

    async def _said(self, expression: str) -> Any:
        try:
            return await self.value(expression)
        except Exception as error:
            if NAVIGATED not in str(error):
                raise
            return None

    async def until_seen(self, **kinds: int) -> None:
        """Wait until these kinds were journalled that often; ``page__loaded=2`` is page.loaded,
        twice."""
        wanted = {kind.replace("__", "."): count for kind, count in kinds.items()}
        deadline = time.monotonic() + PATIENCE_S
        while any(self.seen[kind] < count for kind, count in wanted.items()):
            assert time.monotonic() < deadline, f"wanted {wanted}, seen {dict(self.seen)}"
            await self.rest()

    async def click(self, selector: str, *, x: float = 0.5, y: float = 0.5) -> None:
        """Press and release the left button over an element, as far across it as ``x`` and ``y``
        say."""
        box = await self.until(
            f"(box => box.width && [box.x + box.width * {x}, box.y + box.height * {y}])"
            f"(document.querySelector({selector!r}).getBoundingClientRect())"
        )
        where = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
        await self.call(
            "Input.dispatchMouseEvent", {"type": "mouseMoved", "x": box[0], "y": box[1]}
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", {"type": kind, **where})


def plainly(doing: Any) -> Any:
    """Run a coroutine that never suspends."""
    try:
        doing.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("a hand without asyncio waited for something")


async def scene(hands: Hands, site: str) -> None:
    """Navigation, form, dialog, frame of another process, popup, route, WebSocket, download,
    crash."""
    await hands.begin("open")
    await hands.call("Page.navigate", {"url": f"{site}/"})
    await hands.until("document.readyState === 'complete' && location.pathname === '/'")
    await hands.until_seen(page__loaded=2)
    await hands.end()

    await hands.begin("order")
    await hands.click("[name=who]")
    await hands.call("Input.insertText", {"text": "Ada"})
    await hands.until_seen(field__filled=1)  # before it is left: a field left at once is told once
    await hands.click("[name=express]")
    await hands.click("form button")
    await hands.until(
        "location.pathname === '/done' && document.readyState === 'complete' && window.framed"
    )
    await hands.until_seen(page__loaded=4)
    await hands.end()

    await hands.begin("confirm")
    await hands.click("#ask")
    await hands.until("document.title === 'true'")
    await hands.until_seen(dialog__closed=1)
    await hands.end()

    await hands.begin("frame")
    await hands.click("iframe")
    await hands.until("window.rated")
    await hands.end()

    await hands.begin("popup")
    await hands.click("#open")
    await hands.until("window.popped")
    await hands.until_seen(tab__opened=2, page__loaded=5)
    await hands.click("#shut")
    await hands.until_seen(tab__closed=1)
    await hands.end()

    await hands.begin("route")
    await hands.click("#route")
    await hands.until("location.pathname === '/route'")
    await hands.end()

    await hands.begin("talk")
    await hands.click("#talk")
    await hands.until("window.echo === 'hello'")
    await hands.end()

    await hands.begin("save")
    await hands.click("#save")
    await hands.until_seen(download__finished=1)
    await hands.end()

    await hands.begin("crash")
    await hands.crash()
    await hands.until_seen(tab__crashed=1)
    await hands.end()

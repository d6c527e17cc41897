"""pyppeteer: a browser-level session of our own on the connection that the harness's pyppeteer has.

pyppeteer 2.0.0 is its last version and has no public way to a session above pages, so its
connection is asked.
"""

from __future__ import annotations

import asyncio
from typing import Any

from pyppeteer.browser import Browser, BrowserContext
from pyppeteer.errors import NetworkError
from pyppeteer.page import Page

from agentd.core.errors import UsageError
from agentd.inprocess.harness import EVENTS, Errors, LoopCarrier, on_loop, telling
from agentd.sources.cdp.transport.carrier import Carrier, Inbox

ERRORS: Errors = (NetworkError, ConnectionError)


class Pyppeteer:
    """A `Harness`. Made by `of`, on the harness's loop."""

    def __init__(self, browser: Any, scope: str | None) -> None:
        self.browser: object = browser
        self.scope = scope
        self._browser = browser
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def from_object(cls, given: object) -> Pyppeteer:
        """The browser that ``given`` belongs to, and the context that it stands for."""
        if isinstance(given, Browser):
            return cls(given, None)
        if isinstance(given, BrowserContext):
            targets = [target for target in given.targets() if target.type == "page"]
            if not targets:
                raise UsageError(
                    "attach: the context has no page yet; wanted one with a page, or the browser"
                )
            browser, target = given.browser, targets[0]
        else:
            assert isinstance(given, Page)
            browser, target = given.browser, given.target
        session = await target.createCDPSession()
        info = (await session.send("Target.getTargetInfo", {}))["targetInfo"]
        await session.detach()
        return cls(browser, info["browserContextId"])

    async def carry(self, inbox: Inbox) -> Carrier:
        session = await on_loop(self._loop, self._open(inbox), ERRORS)
        return LoopCarrier(self._loop, session, inbox, ERRORS)

    async def _open(self, inbox: Inbox) -> Any:
        """Open a DevTools session of the browser whose events, and whose end, go into the inbox."""
        connection = self._browser._connection
        info = (await connection.send("Target.getTargetInfo"))["targetInfo"]
        session = await connection.createSession(info)
        for method in EVENTS:
            session.on(method, telling(inbox, method))
        # Its reader ends with the browser, and with any error of a listener: a crashed page is one
        # where the harness does not listen for the page's "error". From then on nobody hears
        # anything.
        connection._recv_fut.add_done_callback(lambda _: inbox.put(None))
        return session

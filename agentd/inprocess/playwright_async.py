"""Playwright on asyncio: a browser-level session of our own on the connection that the harness's
Playwright has."""

from __future__ import annotations

import asyncio
from typing import Any

from playwright.async_api import Browser, BrowserContext, Error, Page

from agentd.core.errors import UsageError
from agentd.inprocess.harness import EVENTS, LoopCarrier, on_loop, telling
from agentd.sources.cdp.transport.carrier import Carrier, Inbox


class AsyncPlaywright:
    """A `Harness`. Made by `of`, on the harness's loop."""

    def __init__(self, browser: Browser, scope: str | None) -> None:
        self.browser: object = browser
        self.scope = scope
        self._browser = browser
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def from_object(cls, given: Page | BrowserContext | Browser) -> AsyncPlaywright:
        """The browser that ``given`` belongs to, and the context that it stands for."""
        if isinstance(given, Browser):
            return cls(given, None)
        context = given.context if isinstance(given, Page) else given
        if context.browser is None:
            raise UsageError(
                "attach: Playwright names no browser for this context; wanted a context of a"
                " Browser"
            )
        if not context.pages:
            raise UsageError(
                "attach: the context has no page yet; wanted one with a page, or the browser"
            )
        session = await context.new_cdp_session(context.pages[0])
        info = (await session.send("Target.getTargetInfo"))["targetInfo"]
        await session.detach()
        return cls(context.browser, info["browserContextId"])

    async def carry(self, inbox: Inbox) -> Carrier:
        session = await on_loop(self._loop, self._open(inbox), (Error,))
        return LoopCarrier(self._loop, session, inbox, (Error,))

    async def _open(self, inbox: Inbox) -> Any:
        """Open a DevTools session of the browser whose events, and whose end, go into the inbox."""
        session = await self._browser.new_browser_cdp_session()
        for method in EVENTS:
            session.on(method, telling(inbox, method))
        self._browser.once("disconnected", lambda _: inbox.put(None))
        return session

"""Playwright without asyncio: it moves messages only while the harness waits in one of its calls,
on its thread.

So everything is queued for that thread's loop and runs there in a greenlet of its own, as
Playwright's own event handlers do; `pump` gives it a turn when the harness calls nothing else.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future

from greenlet import greenlet
from playwright.sync_api import Browser, BrowserContext, CDPSession, Error, Page

from agentd.core.errors import UsageError
from agentd.core.source import SourceLostError
from agentd.inprocess.harness import EVENTS, telling
from agentd.sources.cdp.transport.carrier import Carrier, Inbox
from common.devtools_messages import Message


class SyncPlaywright:
    """A `Harness`. Made on the harness's thread; raises `UsageError` for what cannot be watched."""

    def __init__(self, given: Page | BrowserContext | Browser) -> None:
        browser = given if isinstance(given, Browser) else _browser_of(given)
        self.browser: object = browser
        self.scope = None if isinstance(given, Browser) else _scope_of(given)
        self._browser = browser
        self._thread = threading.get_ident()
        self._loop = asyncio.get_running_loop()
        # For round trips only: where it is answered, all that came before has been handed over.
        self._ours: CDPSession = browser.new_browser_cdp_session()

    def pump(self) -> bool:
        """Hand over everything that has come; False: the browser is gone. Only on the harness's
        thread."""
        if threading.get_ident() != self._thread:
            raise UsageError("pump: wanted the thread that attached, which is Playwright's")
        try:
            self._ours.send("Browser.getVersion")
        except Error:
            return False
        return True

    def leave(self) -> None:
        """Detach the session that gives Playwright its turns."""
        try:
            self._ours.detach()
        except Error:
            return  # gone with its browser

    async def carry(self, inbox: Inbox) -> Carrier:
        """Open a DevTools session in the harness's own greenlet. Raises `SourceLostError` where it
        opens none."""
        opened: Future[CDPSession] = Future()

        def open_it() -> None:
            """Open the session, and hand it or its error to who waits."""
            try:
                opened.set_result(self._open(inbox))
            except Error as error:
                opened.set_exception(
                    SourceLostError(f"the harness's library opens no DevTools session: {error}")
                )

        if not self.later(open_it):
            raise SourceLostError("the harness's Playwright is stopped")
        return GreenletCarrier(self, await asyncio.wrap_future(opened), inbox)

    def _open(self, inbox: Inbox) -> CDPSession:
        """Open a DevTools session of the browser whose events, and whose end, go into the inbox."""
        session = self._browser.new_browser_cdp_session()
        for method in EVENTS:
            session.on(method, telling(inbox, method))
        self._browser.once("disconnected", lambda _: inbox.put(None))
        return session

    def later(self, what: Callable[[], None]) -> bool:
        """Run ``what`` on the harness's thread when that is in Playwright next; False: Playwright
        is stopped."""
        try:
            self._loop.call_soon_threadsafe(_in_greenlet, what)
        except RuntimeError:
            return False
        return True


class GreenletCarrier:
    """A `Carrier` over a session that lives on the harness's thread."""

    def __init__(self, harness: SyncPlaywright, session: CDPSession, inbox: Inbox) -> None:
        self._harness = harness
        self._session = session
        self._inbox = inbox

    def send(self, number: int, method: str, params: Message) -> None:
        self._later(number, lambda: self._session.send(method, params))

    def close(self) -> None:
        self._later(0, self._session.detach)

    def _later(self, number: int, what: Callable[[], object]) -> None:
        """Let the harness run ``what`` when it next can; its result goes into the inbox under the
        command's number."""

        def reply() -> None:
            """Run the command, and put its result or its error into the inbox."""
            try:
                result = what()
            except Error as error:
                self._inbox.put({"id": number, "error": {"message": str(error)}})
            else:
                self._inbox.put({"id": number, "result": result or {}})

        if not self._harness.later(reply):
            self._inbox.put(None)


def _in_greenlet(what: Callable[[], None]) -> None:
    greenlet(what).switch()


def _browser_of(given: Page | BrowserContext) -> Browser:
    """Return the browser that a page or context is of. Raises `UsageError` for a persistent
    context."""
    context = given.context if isinstance(given, Page) else given
    if context.browser is None:
        raise UsageError(
            "attach: Playwright names no browser for this context; wanted a context of a Browser"
        )
    return context.browser


def _scope_of(given: Page | BrowserContext) -> str:
    """Return the id by which DevTools knows a context. Raises `UsageError` where it has no page to
    ask by."""
    context = given.context if isinstance(given, Page) else given
    if not context.pages:
        raise UsageError(
            "attach: the context has no page yet; wanted one with a page, or the browser"
        )
    session = context.new_cdp_session(context.pages[0])
    info = session.send("Target.getTargetInfo")["targetInfo"]
    session.detach()
    return str(info["browserContextId"])

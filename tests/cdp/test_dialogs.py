"""Dialogs stay with whoever uses the page: the source sees them, answers none, and is never held up
by one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Dialog, Page

from agentd.sources.cdp.transport.address import websocket_address
from agentd.sources.cdp.transport.connection import Connection
from tests.cdp.site import Answer, Asked, Site
from tests.cdp.watching import PATIENCE_S, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.display import Display, needs_display

pytestmark = [pytest.mark.browser, needs_chromium, pytest.mark.slow_where("headful")]


@pytest.mark.parametrize("accept", [True, False], ids=["yes", "no"])
async def test_a_confirm_is_answered_by_the_agent(
    browser: Chromium, page: Page, site: Site, accept: bool
) -> None:
    url = site.page("/", "<button onclick=\"document.title = confirm('Really?')\">Delete</button>")

    async def answer(dialog: Dialog) -> None:
        await (dialog.accept() if accept else dialog.dismiss())

    page.on("dialog", answer)
    async with watching(browser) as watch:
        await page.goto(url)
        await page.click("button")
        await watch.one("page.title_changed", title=str(accept).lower())
        opened = await watch.one("dialog.opened")
        closed = await watch.one("dialog.closed")
    assert (opened["type"], opened["message"], opened["url"]) == ("confirm", "Really?", url)
    assert (closed["accepted"], closed["input"], closed["type"]) == (accept, "", "confirm")
    assert [kind for kind, _ in watch.seen].index("element.clicked") < [
        kind for kind, _ in watch.seen
    ].index("dialog.opened")


async def test_a_prompt_tells_what_was_typed(browser: Chromium, page: Page, site: Site) -> None:
    url = site.page("/", "<button onclick=\"document.title = prompt('Name?', 'x')\">Ask</button>")
    page.on("dialog", lambda dialog: asyncio.ensure_future(dialog.accept("Ada")))
    async with watching(browser) as watch:
        await page.goto(url)
        await page.click("button")
        closed = await watch.one("dialog.closed")
        await watch.one("page.title_changed", title="Ada")
    assert (closed["accepted"], closed["input"]) == (True, "Ada")


@asynccontextmanager
async def user(browser: Chromium) -> AsyncIterator[User]:
    """A hand at the browser over a connection of its own, opened only when it acts."""
    connection = await Connection.open(await websocket_address(browser.endpoint, None))
    reading = asyncio.create_task(connection.run(lambda *_: None))
    try:
        yield User(connection)
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await connection.close()


class User:
    """Opens tabs and answers dialogs."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def open(self, url: str) -> str:
        return str((await self._connection.send("Target.createTarget", {"url": url}))["targetId"])

    async def session(self, tab: str) -> str:
        attached = await self._connection.send(
            "Target.attachToTarget", {"targetId": tab, "flatten": True}
        )
        return str(attached["sessionId"])

    async def close(self, tab: str) -> None:
        await self._connection.send("Target.closeTarget", {"targetId": tab})

    async def call(self, session: str, method: str, **params: Any) -> Any:
        return await self._connection.send(method, params, session)


BLOCKING = {
    "alert": "alert('hello'); document.title = 'after undefined'",
    "confirm": "document.title = 'after ' + confirm('hello')",
    "prompt": "document.title = 'after ' + prompt('hello')",
}


def asks_when_told(site: Site, kind: str) -> tuple[str, threading.Event]:
    """A page that opens its dialog once the event is set."""
    go = threading.Event()

    def wait(_: Asked) -> Answer:
        assert go.wait(20)
        return Answer("go")

    site.page("/go", wait)
    script = f"addEventListener('load', () => fetch('/go').then(() => {{ {BLOCKING[kind]} }}))"
    return site.page("/", f"<title>b</title><script>{script}</script>"), go


@pytest.fixture(scope="module", params=["headless", "headful"])
def shown(request: pytest.FixtureRequest) -> Any:
    """A browser without any agent, headless or on a display of its own."""
    if request.param == "headless":
        with Chromium() as chromium:
            yield chromium
        return
    if needs_display.args[0]:
        pytest.skip(needs_display.kwargs["reason"])
    with Display() as display, Chromium(headless=False, display=display.name) as chromium:
        yield chromium


@pytest.mark.parametrize("kind", BLOCKING)
@pytest.mark.parametrize("second", [False, True], ids=["alone", "with another client"])
async def test_a_dialog_stays_open_for_its_user(
    shown: Chromium, site: Site, kind: str, second: bool
) -> None:
    url, go = asks_when_told(site, kind)
    quiet = site.page("/quiet", "<title>quiet</title>")
    async with watching(shown) as watch, user(shown) as hand:
        # The other client is there before the dialog: one that comes later could not answer it.
        tab = await hand.open("about:blank" if second else url)
        session = await hand.session(tab) if second else ""
        if second:
            await hand.call(session, "Page.enable")
            await hand.call(session, "Page.navigate", url=url)
        await watch.one("page.loaded", tab=tab, url=url)
        go.set()
        opened = await watch.one("dialog.opened", tab=tab)
        assert (opened["type"], opened["message"]) == (kind, "hello")
        # The source goes on: another tab opens and loads, a fence comes back though one page stands
        # still.
        other = await hand.open(quiet)
        await watch.one("page.loaded", tab=other)
        await watch.fence()
        assert not watch.all("dialog.closed", tab=tab), "nobody answered, so it is still open"
        if not second:  # there is nobody who could answer; the tab is closed with its question
            await hand.close(tab)
            await watch.one("tab.closed", tab=tab)
            return
        await hand.call(session, "Page.handleJavaScriptDialog", accept=True, promptText="typed")
        closed = await watch.one("dialog.closed", tab=tab)
        outcome = {"alert": "undefined", "confirm": "true", "prompt": "typed"}[kind]
        await watch.one("page.title_changed", tab=tab, title=f"after {outcome}")
        await hand.close(tab)
    assert closed["accepted"] is True


async def test_leaving_a_page_with_beforeunload_is_the_users_to_decide(
    shown: Chromium, site: Site
) -> None:
    url = site.page(
        "/",
        "<button>Edit</button><script>onbeforeunload = (event) => event.preventDefault()</script>",
    )
    there = site.page("/there", "<title>there</title>")
    async with watching(shown) as watch, user(shown) as hand:
        tab = await hand.open(url)
        await watch.one("page.loaded", tab=tab)
        session = await hand.session(tab)
        await hand.call(session, "Page.bringToFront")
        await hand.call(session, "Page.enable")
        for kind in ("mousePressed", "mouseReleased"):
            await hand.call(
                session,
                "Input.dispatchMouseEvent",
                type=kind,
                x=20,
                y=20,
                button="left",
                clickCount=1,
            )
        await watch.one("element.clicked", tab=tab)
        going = asyncio.ensure_future(
            hand.call(session, "Runtime.evaluate", expression=f"location = '{there}'; 0")
        )
        opened = await watch.one("dialog.opened", tab=tab)
        assert opened["type"] == "beforeunload"
        await hand.call(session, "Page.handleJavaScriptDialog", accept=True)
        await watch.one("dialog.closed", tab=tab, accepted=True)
        await watch.one("page.navigated", tab=tab, url=there)
        await asyncio.gather(going, return_exceptions=True)
        await hand.close(tab)


async def test_attaching_to_a_page_that_stands_in_a_dialog_does_not_hold_up_the_rest(
    shown: Chromium, site: Site
) -> None:
    url, go = asks_when_told(site, "confirm")
    async with watching(shown) as first, user(shown) as hand:
        tab = await hand.open("about:blank")
        session = await hand.session(tab)
        await hand.call(session, "Page.enable")
        await hand.call(session, "Page.navigate", url=url)
        await first.one("page.loaded", tab=tab, url=url)
        go.set()
        await first.one("dialog.opened", tab=tab)
        async with watching(shown) as watch:
            quiet = await hand.open(site.page("/quiet", "<title>quiet</title>"))
            await watch.one("page.loaded", tab=quiet)
            await hand.call(session, "Page.handleJavaScriptDialog", accept=False)
            await first.one("page.title_changed", tab=tab, title="after false")
            await watch.one("page.title_changed", tab=tab, title="after false")
        await hand.close(tab)


async def test_a_dialog_that_opens_before_anybody_listens_is_told_or_missed_aloud(
    shown: Chromium, site: Site
) -> None:
    url = site.page("/", "<title>early</title><script>alert('early')</script>")
    async with watching(shown) as watch, user(shown) as hand:
        tab = await hand.open(url)
        await watch.one("tab.opened", tab=tab)
        async with asyncio.timeout(PATIENCE_S):
            # On a busy machine the page has not come to its script yet when a first fence is over.
            while not (
                watch.all("dialog.opened", tab=tab) or watch.all("gap.began", part="dialog")
            ):
                await watch.fence(1.0)
        missed = bool(watch.all("gap.began", part="dialog"))
        await hand.close(tab)
        await watch.one("tab.closed", tab=tab)
        await watch.until(lambda: bool(watch.all("gap.ended", part="dialog")) is missed)

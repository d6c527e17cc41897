"""Where the browser does not count what scripts send: a context of a harness's own, and a tab that a
page closes. A guard is never worth 0 there though the server took a write; a page that cannot have
sent anything is none of its business.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, Playwright

from tests.cdp.site import Site
from tests.cdp.test_immunity import paid
from tests.cdp.test_writes import PATIENCE_S, PENALTY, QUIET, WRITES, Books, do, settle
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import ruleset

pytestmark = [pytest.mark.browser, needs_chromium]


@pytest.fixture
def books(site: Site) -> Iterator[Books]:
    made = Books(site)
    yield made
    made.go.set()


@pytest_asyncio.fixture(loop_scope="session")
async def elsewhere(browser: Chromium, one_playwright: Playwright) -> AsyncIterator[Page]:
    """The agent's page, in a context that its harness made."""
    agent = await one_playwright.chromium.connect_over_cdp(browser.endpoint)
    context = await agent.new_context()
    yield await context.new_page()
    await context.close()
    await agent.close()


OFTEN = {
    "fetch, as a page that fetched before is left, the listener new",
    "fetch, as a page that fetched before is hidden, the listener new",
}


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(how, id=name, marks=() if name in OFTEN else (pytest.mark.slow,))
        for name, how in WRITES.items()
    ],
)
async def test_a_write_in_a_context_of_the_harness_is_fined_or_a_gap(
    browser: Chromium, elsewhere: Page, books: Books, how: str
) -> None:
    fined, gated = await do(browser, elsewhere, books, how)
    assert books.taken
    assert fined in (-PENALTY, None)
    assert gated in (0.0, None)


UNKNOWN = {name for name in QUIET if "read" in name and "that reads" not in name} | {
    "the page is left after a call of an address that is none",
    "the page is left, what is sent may be sent",
    "the page is left after a frame of it",
    "the page is left for one under a service worker that reads",
}
"""A page that has called `fetch` may have called it again as it was left; a worker counts as its page."""


@pytest.mark.parametrize(
    ("how", "is_unknown"),
    [
        pytest.param(how, name in UNKNOWN, id=name, marks=() if n == 0 else (pytest.mark.slow,))
        for n, (name, how) in enumerate(QUIET.items())
    ],
)
async def test_a_page_of_such_a_context_that_called_nothing_is_known(
    browser: Chromium, elsewhere: Page, books: Books, how: str, is_unknown: bool
) -> None:
    fined, _ = await do(browser, elsewhere, books, how, writes=False)
    assert not books.taken
    assert fined == (None if is_unknown else 0.0)


BY = {
    "itself": "opened.onload = () => opened.closeLater()",
    "its opener": "opened.onload = () => setTimeout(() => opened.close(), 300)",
    "the agent": "0",
}
LATE = {
    "fetch, in pagehide": "onpagehide = () => fetch('/write', {method: 'POST'})",
    "fetch, in visibilitychange": (
        "document.onvisibilitychange = () => fetch('/write', {method: 'POST'})"
    ),
    "fetch, in unload": "onunload = () => fetch('/write', {method: 'POST'})",
    "fetch, kept alive, in pagehide": (
        "onpagehide = () => fetch('/write', {method: 'POST', keepalive: true})"
    ),
    "XMLHttpRequest, in pagehide": (
        "onpagehide = () => { const x = new XMLHttpRequest(); x.open('POST', '/write'); x.send() }"
    ),
    "beacon, in pagehide": "onpagehide = () => navigator.sendBeacon('/write')",
}
"""What a tab does as it is closed: its listener comes in the moment before."""
QUIETLY = {"it listens": "onpagehide = () => 0", "it does not listen": "0"}
CLOSED_OFTEN = {("itself", "fetch, in pagehide"), ("its opener", "fetch, in visibilitychange")}


async def close(browser: Chromium, page: Page, books: Books, by: str, late: str) -> float | None:
    """Have a tab opened and closed; return what its step is worth with a guard over writes."""
    site = books.site
    later = "closeLater = () => setTimeout(() => close(), 300)"
    script = f"<script>onbeforeunload = () => {{ {late} }}; {later}</script>"
    site.page("/tab", f"<title>tab</title>{script}")
    opening = f"window.opened = window.open('/tab'); {BY[by]}"
    url = site.page("/", f'<title>shop</title><button onclick="{opening}">Go</button>')
    guard = {"other_request_made": {"url": "/*"}}
    rules = ruleset({"id": "fined", "penalty": PENALTY, "when": guard}, origin=site.url)
    await page.goto(url)
    await page.evaluate("fetch('/is-taken').then(() => 0)")  # the browser has counted a call
    async with watching(browser, rules.plan("e")) as watch:
        async with page.expect_popup() as opened:
            await page.click("button")
        if by == "the agent":
            tab = await opened.value
            await tab.wait_for_load_state()
            for _ in range(2):  # as steps before it do: the observer is there, requests are counted
                await watch.fence()
            await tab.close(run_before_unload=True)
        await watch.one("tab.closed")
        if late not in QUIETLY.values():
            async with asyncio.timeout(PATIENCE_S):
                while not books.taken:  # noqa: ASYNC110 - the server's thread knows no loop
                    await asyncio.sleep(0.02)
        await watch.fence()
        await settle(watch, lambda: paid(rules, watch).reward)
        await watch.source.before_seal(0, closing=True)
        return paid(rules, watch).reward


CLOSED = [
    pytest.param(
        by,
        late,
        id=f"{name}, by {by}",
        marks=() if (by, name) in CLOSED_OFTEN else pytest.mark.slow,
    )
    for by in BY
    for name, late in LATE.items()
]


@pytest.mark.parametrize(("by", "late"), CLOSED)
async def test_a_write_of_a_tab_that_is_closed_is_fined_or_a_gap(
    browser: Chromium, page: Page, books: Books, by: str, late: str
) -> None:
    assert await close(browser, page, books, by, late) in (-PENALTY, None)


@pytest.mark.slow
@pytest.mark.parametrize(("by", "late"), CLOSED)
async def test_a_write_of_a_tab_of_such_a_context_that_is_closed_is_fined_or_a_gap(
    browser: Chromium, elsewhere: Page, books: Books, by: str, late: str
) -> None:
    assert await close(browser, elsewhere, books, by, late) in (-PENALTY, None)


@pytest.mark.parametrize("late", QUIETLY.values(), ids=QUIETLY)
async def test_a_tab_that_the_agent_closes_and_that_sends_nothing_is_known(
    browser: Chromium, page: Page, books: Books, late: str
) -> None:
    assert await close(browser, page, books, "the agent", late) == 0.0

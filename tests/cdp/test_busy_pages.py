"""A page that is busy when its step ends: the seal waits for what it has to tell; what takes too
long is a gap."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page

from agentd.core.source import FenceLateError
from tests.cdp.site import Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

FENCE_S = 0.1
BUSY = "a page was too busy to tell all before the step was sealed"
UNSEEN = ["element", "field", "form", "text"]
BLOCK = """(ms) => { setTimeout(() => {
  console.log("busy"); const end = performance.now() + ms; while (performance.now() < end); }) }"""


async def seal(watch: Watch) -> None:
    """What the daemon does between a step's end and its seal."""
    with contextlib.suppress(FenceLateError):  # it is fenced again: agentd/session/supervisor.py
        await watch.source.fence(FENCE_S)
    await watch.source.before_seal(0, closing=False)


def gaps(watch: Watch) -> list[Any]:
    return [data["part"] for data in watch.all("gap.began", reason=BUSY)]


async def test_what_was_typed_into_a_page_that_is_busy_then_is_of_the_step(
    browser: Chromium, page: Page, site: Site
) -> None:
    block = "const e = performance.now() + 700; while (performance.now() < e);"
    later = f'oninput="clearTimeout(t); t = setTimeout(() => {{ {block} }}, 5)"'
    url = site.page("/", f"<script>let t</script><input id=i name=q {later}>")
    async with watching(browser) as watch:
        await page.goto(url)
        await page.locator("#i").press_sequentially("4711")
        await seal(watch)
        assert watch.all("field.filled", value="4711")
        assert gaps(watch) == []


@pytest_asyncio.fixture(loop_scope="session")
async def button(
    browser: Chromium, page: Page, site: Site, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Watch]:
    """A page with a button, all of its load told; the daemon waits for a busy page but for 0.3
    s."""
    monkeypatch.setattr("agentd.sources.cdp.source.LATE_S", 0.3)
    async with watching(browser) as watch:
        # The last word of a load is that its network is idle.
        await page.goto(site.page("/", "<button>Go</button>"), wait_until="networkidle")
        await watch.fence()
        yield watch


async def block(page: Page, ms: int) -> None:
    """Have the page busy for so long; returns when it has begun to be."""
    async with page.expect_console_message():
        await page.evaluate(BLOCK, ms)


async def test_a_page_that_stays_busy_is_a_gap(button: Watch, page: Page) -> None:
    await page.click("button")
    await button.one("element.clicked")
    await block(page, 2000)
    await seal(button)
    assert gaps(button) == UNSEEN
    assert [data["part"] for data in button.all("gap.ended")][-4:] == UNSEEN
    await button.fence()  # it answers again
    await seal(button)
    assert gaps(button) == UNSEEN


async def test_a_page_that_stands_still_from_seal_to_seal_hides_nothing(
    button: Watch, page: Page
) -> None:
    """A tab that the browser froze never answers; after the first seal nothing can have happened in
    it."""
    await block(page, 3000)
    await seal(button)
    assert gaps(button) == UNSEEN
    began = asyncio.get_running_loop().time()
    await seal(button)
    assert gaps(button) == UNSEEN
    assert asyncio.get_running_loop().time() - began < 1.5, "and is waited for once"


ROWS = "".join(
    f"<tr><td><button>Edit {n}</button></td><td>Customer {n}</td></tr>" for n in range(3000)
)


@pytest.mark.slow
async def test_a_long_page_is_told_to_its_end(browser: Chromium, page: Page, site: Site) -> None:
    url = site.page("/", f"<table>{ROWS}</table><p>Order 4711 placed</p><button>Last</button>")
    hears = ["text.appeared", "element.appeared", "page.navigated"]
    async with watching(browser, {"hears": hears}) as watch:
        await page.goto(url)
        for _ in range(30):  # a slow machine takes more than one
            await seal(watch)
            told = {data["element"]["name"] for data in watch.all("element.appeared")}
            if "Last" in told and any(
                "4711" in data["text"] for data in watch.all("text.appeared")
            ):
                break
        assert {*(f"Edit {n}" for n in range(3000)), "Last"} <= told
        assert any("4711" in data["text"] for data in watch.all("text.appeared"))
        assert not [data for data in watch.all("gap.began") if "went unseen" in data["reason"]]


async def test_a_browser_that_stands_still_is_late_and_no_page_is_blamed(
    browser: Chromium, page: Page, site: Site
) -> None:
    """What it has to tell is not known, whatever it is about; once it goes on, it is told."""
    async with watching(browser) as watch:
        await page.goto(site.url)
        os.kill(browser.pid, signal.SIGSTOP)
        try:
            with pytest.raises(FenceLateError):
                await watch.source.fence(FENCE_S)
        finally:
            os.kill(browser.pid, signal.SIGCONT)
        await watch.source.fence(20)
        assert gaps(watch) == []

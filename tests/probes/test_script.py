"""Expressions beside a real page: read, refused if they change anything, never seen by the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, Playwright

from tests.cdp.site import Site
from tests.probes.asking import asking
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as chromium:
        yield chromium


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as one:
        yield one


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Chromium, one_playwright: Playwright, site: Site) -> AsyncIterator[Page]:
    agent = await one_playwright.chromium.connect_over_cdp(browser.endpoint)
    page = await agent.contexts[0].new_page()
    await page.goto(site.page("/shop", "<title>Shop</title><p id=total>12 €</p><input id=q value=lamp>"))
    yield page
    await page.close()
    await agent.close()


def script(expression: str, url: str = "/shop", **more: Any) -> dict[str, Any]:
    return {"id": "it", "kind": "script", "url": url, "expression": expression, **more}


async def test_what_the_page_shows_is_read(browser: Chromium, site: Site, page: Page) -> None:
    """After a change, after another document, and as any JSON."""
    wanted = "({total: document.querySelector('#total').textContent, q: document.querySelector('#q').value})"
    async with asking(script(wanted), given={"cdp": browser.endpoint}, origin=site.url) as asked:
        assert asked.said[0][1]["value"] == {"total": "12 €", "q": "lamp"}
        await page.fill("#q", "desk")
        assert (await asked.value(0))["q"] == "desk"
        await page.goto(site.page("/shop", "<p id=total>0 €</p><input id=q value=none>"))
        assert await asked.value(1) == {"total": "0 €", "q": "none"}


async def test_the_tab_is_found_again_on_another_site(browser: Chromium, site: Site, page: Page) -> None:
    """In another process of the browser, and back."""
    where = {"origin": site.other, "path": "/there"}
    site.page("/there", "<title>There</title>")
    probes = [{**script("document.title"), "id": "here"}, {**script("document.title"), "id": "there", "url": where}]
    async with asking(*probes, given={"cdp": browser.endpoint}, origin=site.url) as asked:
        for address, told in (("/shop", "Shop"), (site.other + "/there", "There"), ("/shop", "Shop")):
            await page.goto(address if "://" in address else site.url + address)
            assert told in [data.get("value") for _, data in await asked.at(0)]


async def test_a_browser_that_is_started_anew_is_found(tmp_path: Path, site: Site) -> None:
    """Its end is a failure; the next one in the same profile answers."""
    address = site.page("/start", "<title>Start</title>")
    probe = script("document.title", "/start")
    async with asking(probe, given={"profile": tmp_path}, origin=site.url) as asked:
        assert asked.said[1][0] == "probe.failed"
        for step in (0, 2):
            with Chromium(profile=tmp_path, url=address):
                await asked.until("Start", step)
            assert await asked.reason(step + 1)


@pytest.mark.parametrize(
    "expression",
    [
        "document.title = 'changed'",
        "document.body.remove()",
        "document.querySelector('#q').value = ''",
        "document.querySelector('#q').focus()",
        "globalThis.left = 1",
        "localStorage.setItem('a', 'b')",
        "history.pushState(0, '', '/elsewhere')",
        "fetch('/api')",
        "document.cookie = 'a=b'",
        "alert(1)",
    ],
)
async def test_an_expression_that_would_change_anything_is_refused(
    browser: Chromium, site: Site, page: Page, expression: str
) -> None:
    """By V8 itself, before it happened; the page and the site are as they were."""
    state = "[document.documentElement.outerHTML, document.querySelector('#q').value, document.activeElement.id, "
    state += "location.href, localStorage.length, document.cookie, history.length, globalThis.left]"
    before = await page.evaluate(state)
    async with asking(script(expression), given={"cdp": browser.endpoint}, origin=site.url) as asked:
        assert "side-effect" in await asked.reason()
    assert await page.evaluate(state) == before
    assert {one.path for one in site.asked} <= {"/shop", "/favicon.ico"}


async def test_the_page_does_not_see_it_and_can_not_lie_to_it(browser: Chromium, site: Site, page: Page) -> None:
    """Its own globals are not the page's, and what the page puts over the browser's functions is not called."""
    await page.evaluate("window.secret = 1; document.querySelector = () => ({textContent: 'a lie'}); window.before = 1")
    expression = "[typeof secret, document.querySelector('#total').textContent]"
    async with asking(script(expression), given={"cdp": browser.endpoint}, origin=site.url) as asked:
        assert await asked.value() == ["undefined", "12 €"]


async def test_which_tab_is_asked(browser: Chromium, site: Site, page: Page) -> None:
    """None: it fails, until one shows the address; several: they must agree."""
    probe = script("document.title", "/later")
    async with asking(probe, given={"cdp": browser.endpoint}, origin=site.url) as asked:
        assert asked.said[1][1]["reason"] == "no tab shows the address"
        await page.goto(site.page("/later", "<title>Later</title>"))
        assert await asked.value_after_gap() == "Later"
        other = await page.context.new_page()
        await other.goto(site.url + "/later")
        assert await asked.value(1) == "Later"
        await other.evaluate("document.title = 'Else'")
        assert "answer differently" in await asked.reason(2)
        await other.close()


async def test_an_endless_expression_ends_with_its_budget(browser: Chromium, site: Site, page: Page) -> None:
    """And the page goes on."""
    probe = script("(() => { for (;;); })()", budget_ms=200)
    async with asking(probe, given={"cdp": browser.endpoint}, origin=site.url) as asked:
        assert asked.said[1][0] == "probe.failed"
    assert await page.evaluate("1 + 1") == 2


async def test_a_dialog_holds_up_nothing(browser: Chromium, site: Site, page: Page) -> None:
    """While one is open the page can't answer: a failure within the budget; and it is the agent who answers it."""
    opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    page.on("dialog", lambda dialog: opened.set_result(dialog))
    probe = script("document.title", budget_ms=300)
    async with asking(probe, given={"cdp": browser.endpoint}, origin=site.url) as asked:
        click = asyncio.create_task(page.evaluate("document.title = String(confirm('Sure?'))"))
        dialog = await opened
        assert await asked.reason() == "no answer within 300 ms"
        await dialog.accept()
        await click
        assert await asked.value_after_gap(1) == "true"


async def test_without_a_browser_it_fails_and_says_why() -> None:
    async with asking(script("1")) as asked:
        assert asked.said[1][1]["reason"] == "the daemon was given no --cdp or --profile"
    async with asking(script("1"), given={"cdp": "http://127.0.0.1:9"}) as asked:
        assert "does not answer as a browser does" in asked.said[1][1]["reason"]

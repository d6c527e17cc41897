"""How the tests of pages look at them: a tab of somebody who is logged in, and what axe-core says of a page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, async_playwright

from tests.api.processes import Process
from tests.support.chromium import EXECUTABLE


@asynccontextmanager
async def logged_in(service: Process) -> AsyncIterator[Page]:
    """A tab of the service's operator, at the list of episodes."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=EXECUTABLE, args=["--no-sandbox"])
        tab = await browser.new_page(base_url=service.url)
        await tab.goto("/")
        await tab.get_by_label("Token").fill(service.admin)
        await tab.get_by_role("button", name="Log in").click()
        await tab.wait_for_url("**/episodes")
        yield tab
        await browser.close()


async def is_accessible(page: Page) -> None:
    """axe-core finds nothing serious on the page, light and dark, wide and narrow."""
    for scheme, width in (("light", 1280), ("dark", 390)):
        await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        await page.set_viewport_size({"width": width, "height": 800})
        found = (await Axe().run(page)).response["violations"]
        grave = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
        assert grave == [], f"{scheme}, {width} px"
        overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0, f"the page is {overflow} px wider than a window of {width} px"

"""How the tests of pages look at them: a tab of somebody who is logged in, and what axe-core says
of a page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, async_playwright

from tests.api.processes import Process
from tests.api.service import TASK
from tests.support.chromium import LEAN

LOOKS = (("light", 1280), ("dark", 390))
"""Colours and widths (px) in which a page is looked at."""
TOO_WIDE = "document.documentElement.scrollWidth - innerWidth"


@contextmanager
def served(folder: Path) -> Iterator[tuple[Process, httpx.Client]]:
    """A service that knows `TASK`, and a client of its operator."""
    process = Process(folder)
    process.start()
    try:
        with httpx.Client(
            base_url=process.url, headers={"authorization": f"Bearer {process.admin}"}
        ) as http:
            http.post("/v1/tasks", json=TASK).raise_for_status()
            yield process, http
    finally:
        process.stop_if_running()


def grave(found: Any) -> list[tuple[str, str]]:
    """What axe-core calls serious: the rule, and the first element that breaks it."""
    bad = [one for one in found.response["violations"] if one["impact"] in ("serious", "critical")]
    return [(one["id"], one["nodes"][0]["html"]) for one in bad]


@asynccontextmanager
async def logged_in(service: Process) -> AsyncIterator[Page]:
    """A tab of the service's operator, at the list of episodes."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=LEAN, args=["--no-sandbox"])
        tab = await browser.new_page(base_url=service.url)
        await tab.goto("/")
        await tab.get_by_label("Token").fill(service.admin)
        await tab.get_by_role("button", name="Log in").click()
        await tab.wait_for_url("**/episodes")
        yield tab
        await browser.close()


async def is_accessible(page: Page) -> None:
    """axe-core finds nothing serious on the page, light and dark, wide and narrow."""
    for scheme, width in LOOKS:
        await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        await page.set_viewport_size({"width": width, "height": 800})
        assert grave(await Axe().run(page)) == [], f"{scheme}, {width} px"
        overflow = await page.evaluate(TOO_WIDE)
        assert overflow <= 0, f"the page is {overflow} px wider than a window of {width} px"

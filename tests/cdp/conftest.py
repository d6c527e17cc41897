"""One browser and one site for the tests here; each test has a page of its own, driven by Playwright."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Page, async_playwright

from tests.cdp.site import Site
from tests.support.chromium import Chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    """A headless Chromium that puts each host into a process of its own."""
    with Chromium("--site-per-process") as chromium:
        yield chromium


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as one:
        yield one


@pytest.fixture
async def page(browser: Chromium) -> AsyncIterator[Page]:
    """The agent's page: Playwright acts, the source under test only looks."""
    async with async_playwright() as playwright:
        agent = await playwright.chromium.connect_over_cdp(browser.endpoint)
        page = await agent.contexts[0].new_page()
        yield page
        await page.close()
        await agent.close()

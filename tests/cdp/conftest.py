"""One browser and one site for the tests here; each test has a page of its own, driven by
Playwright."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, Playwright

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


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Chromium, one_playwright: Playwright) -> AsyncIterator[Page]:
    """The agent's page: Playwright acts, the source under test only looks."""
    agent = await one_playwright.chromium.connect_over_cdp(browser.endpoint)
    page = await agent.contexts[0].new_page()
    yield page
    await page.close()
    await agent.close()

"""One browser and one site for the tests here; each test has a page of its own, driven by
Playwright."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from zlib import crc32

import pytest
import pytest_asyncio
from playwright.async_api import Page, Playwright

from tests.cdp.site import Site
from tests.support.chromium import Chromium

WHOLE = frozenset(("test_worker_documents.py",))
"""Modules all rows of which stay in `make test`: one row alone would not tell a fold that takes all
documents for a worker's from one that takes none."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Four fifths of the rows of tables that take a browser, always the same ones, are of
    `make test-all` alone: each takes a second, and there are hundreds. The first row of each stays,
    so that no table is without any."""
    begun: set[tuple[Path, str]] = set()
    here = f"{Path(__file__).parent}/"
    for item in items:
        in_a_browser = isinstance(item, pytest.Function) and "page" in item.fixturenames
        is_row = "[" in item.name
        is_ours = in_a_browser and is_row and str(item.path).startswith(here)
        if not is_ours or item.get_closest_marker("slow"):
            continue
        if item.path.name in WHOLE:
            continue
        table = item.path, item.name.partition("[")[0]
        if table in begun and crc32(item.name.encode()) % 5 != 0:
            item.add_marker(pytest.mark.slow)
        begun.add(table)


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

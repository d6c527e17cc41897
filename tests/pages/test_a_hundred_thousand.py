"""The pages of many episodes where there are a hundred thousand, each opened over the wire."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit

import orjson
import pytest
from playwright.async_api import Page, expect

from benchmarks.wire import drive, request
from tests.api.processes import Process
from tests.api.service import TASK
from tests.pages.looking import is_accessible, logged_in, served
from tests.support.chromium import needs_chromium

MANY, POLICIES, CONNECTIONS = 100_000, 50, 16
pytestmark = [pytest.mark.browser, pytest.mark.slow, needs_chromium, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with served(tmp_path_factory.mktemp("many")) as (process, _):
        labels = ({"policy": str(n % POLICIES), "run": str(n)} for n in range(MANY))
        bodies = [orjson.dumps({"task": TASK["id"], "labels": one}) for one in labels]
        asked = [request("POST", "/v1/episodes", process.admin, body) for body in bodies]
        drive(urlsplit(process.url).port or 0, [asked[n::CONNECTIONS] for n in range(CONNECTIONS)])
        yield process


@pytest.fixture
async def page(service: Process) -> AsyncIterator[Page]:
    async with logged_in(service) as tab:
        yield tab


async def test_the_list_is_filtered_and_turned_page_by_page(page: Page) -> None:
    rows = page.locator("tbody tr")
    shown = await rows.count()
    assert 10 <= shown <= 200
    first = await rows.first.get_attribute("id")
    await page.get_by_role("link", name="Next page").click()
    await expect(page.get_by_role("link", name="First page")).to_be_visible()
    assert await rows.first.get_attribute("id") != first
    await expect(rows).to_have_count(shown)
    await page.get_by_role("link", name="First page").click()
    await page.get_by_label("Label").fill("run=77777")
    await page.keyboard.press("Enter")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text(f"policy={77777 % POLICIES}")
    await page.get_by_label("Label").fill("policy=7")
    await page.get_by_label("Sort").select_option("oldest")
    await expect(page).to_have_url(re.compile("policy%3D7&sort=oldest"))
    await expect(rows).to_have_count(shown)
    await expect(rows.first).to_contain_text("run=7")
    await is_accessible(page)


@pytest.mark.parametrize(
    "path", ["/fleet", "/tasks", f"/tasks/{TASK['id']}", "/training", "/label", "/audit"]
)
async def test_the_other_pages_open(page: Page, path: str) -> None:
    await page.goto(path)
    await expect(page.locator("h1")).to_be_visible()
    await is_accessible(page)

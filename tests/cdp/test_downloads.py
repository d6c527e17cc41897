"""Downloads are told as they begin, and go where they would have gone without us."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page

from tests.cdp.site import Answer, Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

CSV = (("content-type", "text/csv"), ("content-disposition", 'attachment; filename="invoice.csv"'))


async def test_a_download_is_told_with_its_name_and_stays_the_agents(
    browser: Chromium, page: Page, site: Site, tmp_path: Path
) -> None:
    site.page("/invoice", Answer("a,b\n1,2\n", headers=CSV))
    url = site.page("/", "<a href=/invoice>Invoice</a>")
    async with watching(browser) as watch:
        await page.goto(url)
        async with page.expect_download() as coming:
            await page.click("a")
        download = await coming.value
        await download.save_as(tmp_path / "invoice.csv")
        began = await watch.one("download.began")
        clicked = await watch.one("element.clicked")
    assert (tmp_path / "invoice.csv").read_text() == "a,b\n1,2\n"
    assert (began["tab"], began["frame"]) == (clicked["tab"], clicked["frame"])
    assert (began["name"], began["url"]) == ("invoice.csv", site.url + "/invoice")
    assert began["download"]

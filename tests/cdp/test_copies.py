"""A page's source and a saved page are copies that anybody can have: at the site's own address, and
nothing in them is the site's."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.test_immunity import paid
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import ruleset

pytestmark = [pytest.mark.browser, needs_chromium]

SHOP = "<title>shop</title><script>const said = 'Order 1 placed'</script><button>Order</button>"
TEXT = {"id": "text", "when": {"text_visible": {"text": {"contains": "Order 1 placed"}}}}
BUTTON = {"id": "button", "when": {"text_visible": {"text": {"contains": "Order"}}}}


def addresses(watch: Watch, **more: object) -> list[str]:
    """Where documents stood, by the order in which they came."""
    return [data["url"] for data in watch.all("page.navigated", **more)]


def in_texts(watch: Watch, words: str, baseline: bool | None) -> bool:
    """Whether the words were seen, in the start state or after it."""
    return any(words in one["text"] for one in watch.all("text.appeared", baseline=baseline))


@pytest.mark.parametrize("when", ["before", "afterwards"])
async def test_what_stands_in_a_page_s_source_is_not_seen_on_the_page(
    browser: Chromium, page: Page, site: Site, when: str
) -> None:
    """Texts of its scripts are shown there. That the site's page was asked for is true."""
    url = site.page("/shop", SHOP)
    rules = ruleset(TEXT, BUTTON, origin=site.url)
    if when == "afterwards":
        await page.goto(f"view-source:{url}")
    async with watching(browser, rules.plan("e")) as watch:
        if when == "before":
            await page.goto(f"view-source:{url}")
        flag = True if when == "afterwards" else None
        await watch.until(lambda: in_texts(watch, "Order 1 placed", flag))
        await watch.fence()
        assert paid(rules, watch).reward == 0.0
        await page.reload()
        await watch.fence()
        assert paid(rules, watch).reward == 0.0
        assert f"view-source:{url}" in addresses(watch, baseline=flag)
        await page.goto(url)
        await watch.until(lambda: addresses(watch)[-1:] == [url])
        await page.click("button")
        await watch.until(lambda: watch.clicked("Order"))
        await watch.fence()
        assert {one.id for one in paid(rules, watch).milestones if one.worth} == {"button"}


SAVED = """From: nobody\r
MIME-Version: 1.0\r
Content-Type: multipart/related; type="text/html"; boundary="B"\r
\r
--B\r
Content-Type: text/html\r
Content-Location: SITE/\r
\r
<iframe src=SITE/shop width=400 height=200></iframe>\r
--B\r
Content-Type: text/html\r
Content-Location: SITE/shop\r
\r
<h1>Order 1 placed</h1><button>Order</button>\r
--B--\r
"""


@pytest.mark.parametrize("when", ["before", "afterwards"])
async def test_a_frame_of_a_saved_page_is_at_the_file_s_address(
    browser: Chromium, page: Page, site: Site, tmp_path: Path, when: str
) -> None:
    """Its frames bear whatever addresses whoever wrote the file gave them."""
    site.page("/shop", SHOP)
    file = tmp_path / "shop.mhtml"
    file.write_text(SAVED.replace("SITE", site.url), newline="")
    rules = ruleset(
        TEXT,
        BUTTON,
        {"id": "there", "when": {"url_reached": {"url": "/shop"}}},
        {"id": "loaded", "when": {"page_loaded": {"url": "/shop"}}},
        origin=site.url,
    )
    if when == "afterwards":
        await page.goto(file.as_uri())
    async with watching(browser, rules.plan("e")) as watch:
        if when == "before":
            await page.goto(file.as_uri())
        flag = True if when == "afterwards" else None
        await watch.catch_up()  # no timer runs in a saved page: what it is behind with waits
        await watch.until(lambda: in_texts(watch, "Order 1 placed", flag))
        await watch.fence()
        assert paid(rules, watch).reward == 0.0
        assert not [url for url in addresses(watch, baseline=flag) if url.startswith("http")]
    assert not site.asked

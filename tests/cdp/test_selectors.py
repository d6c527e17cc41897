"""Which of the task's selectors a click or a field meets, found by the page as it is at that moment."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

BODY = """<ul><li><button class=buy><span>Buy</span><i class=icon>+</i></button></li>
<li><button class=buy onclick="this.className = 'done'">Sell</button></li></ul>
<div class=card><p>Text</p><p class=other>Other</p></div>
<input class=name><select><option>S<option class=middle>M</select>"""
BUY, ICON, SECOND, CARD = ".buy", ".buy > .icon", "li:nth-child(2) > button.buy", ".card"
CLICKS = [
    ("li:nth-child(1) button", [BUY, ICON]),
    ("i", [BUY, ICON]),
    ("li:nth-child(2) button", [BUY, SECOND]),
    (".other", []),
]


def asking(*selectors: str) -> dict[str, Any]:
    return {"selectors": list(selectors)}


async def test_a_click_meets_what_was_hit_and_the_parts_of_a_control(
    browser: Chromium, page: Page, site: Site
) -> None:
    """Before the page's own handlers change it; not what merely contains what was clicked."""
    async with watching(browser, asking(BUY, ICON, SECOND, CARD)) as watch:
        await page.goto(site.page("/", BODY))
        for where, _ in CLICKS:
            await page.click(where)
        await watch.fence()
        told = [one["selectors"] for one in watch.all("element.clicked")]
    assert told == [met for _, met in CLICKS]


async def test_a_field_meets_its_own_and_those_of_its_chosen_options(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser, asking("input.name", "option.middle")) as watch:
        await page.goto(site.page("/", BODY))
        await page.fill("input", "Ada")
        await page.select_option("select", "M")
        await page.select_option("select", "S")
        await watch.fence()
        told = {str(one["value"]): one["selectors"] for one in watch.all("field.filled")}
    assert told["Ada"] == ["input.name"]
    assert (told["S"], told["M"]) == ([], ["option.middle"])


@pytest.mark.parametrize("asked", [asking(), asking(BUY, "button:nosuch")])
async def test_nothing_is_told_where_none_is_named_or_one_is_none(
    asked: dict[str, Any], browser: Chromium, page: Page, site: Site
) -> None:
    """What a selector that the browser can't read would have found, nobody knows."""
    async with watching(browser, asked) as watch:
        await page.goto(site.page("/", BODY))
        await page.click("button")
        await watch.fence()
        [click] = watch.all("element.clicked")
    assert "selectors" not in click

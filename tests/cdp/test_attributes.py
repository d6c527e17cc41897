"""attribute.changed: the attributes that a rule names, each change with what stood before, and no
other."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

PLAN = {"hears": ["attribute.changed"], "attributes": ["aria-expanded", "class", "data-state"]}
PAGE = """<button id=menu aria-expanded=false onclick="this.setAttribute('aria-expanded', 'true')">Menu</button>
<div id=box class=old></div><x-box></x-box>
<script>document.querySelector('x-box').attachShadow({mode: 'open'}).innerHTML = '<i id=in></i>'</script>"""


async def test_named_attributes_are_told_with_what_stood_before(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser, PLAN) as watch:
        await page.goto(site.page("/", PAGE))
        await page.click("#menu")
        opened = await watch.one("attribute.changed")
        await page.evaluate(
            "box.classList.add('new'); box.title = 'not named'; box.id = 'nor this'"
        )
        await page.evaluate(
            "document.querySelector('x-box').shadowRoot.firstChild.dataset.state = 'on'"
        )
        await watch.catch_up()
        rest = [
            (one["attribute"], one["before"], one["value"])
            for one in watch.all("attribute.changed")[1:]
        ]
    assert opened["element"]["name"] == "Menu"
    assert (opened["attribute"], opened["before"], opened["value"]) == (
        "aria-expanded",
        "false",
        "true",
    )
    assert rest == [("class", "old", "old new"), ("data-state", None, "on")]


async def test_a_flicker_is_no_change_and_a_burst_is_one(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser, PLAN) as watch:
        await page.goto(site.page("/", PAGE))
        await page.evaluate("box.className = 'x'; box.className = 'old'")
        await page.evaluate("for (let n = 0; n <= 500; n++) menu.dataset.state = n")
        await watch.catch_up()
        told = [
            (one["attribute"], one["before"], one["value"])
            for one in watch.all("attribute.changed")
        ]
    assert told == [("data-state", None, "500")]


async def test_nobody_asked_nothing_is_told(browser: Chromium, page: Page, site: Site) -> None:
    async with watching(browser, {"attributes": ["class"]}) as watch:
        await page.goto(site.page("/", PAGE))
        await page.evaluate("box.className = 'x'")
        await watch.catch_up()
        assert not watch.all("attribute.changed")


async def test_a_flood_of_changes_is_a_gap_of_this_kind_alone(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser, PLAN) as watch:
        await page.goto(site.page("/", "<div id=box></div>"))
        await page.evaluate("""() => { box.innerHTML = '<i></i>'.repeat(600);
            for (const one of box.children) one.dataset.state = 'on' }""")
        gap = await watch.until(
            lambda: [data for data in watch.all("gap.began") if data["part"] == "attribute.changed"]
        )
        assert len(watch.all("attribute.changed")) == 500
    assert gap[0]["reason"].endswith("100 changes went unseen")

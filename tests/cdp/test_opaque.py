"""What can't be seen into is said once, so that nobody takes silence for emptiness."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]


async def test_a_canvas_is_opaque_once(browser: Chromium, page: Page, site: Site) -> None:
    url = site.page("/", "<canvas id=board></canvas><canvas hidden></canvas><p>seen</p>")
    async with watching(browser) as watch:
        await page.goto(url)
        await page.click("canvas >> nth=0")
        await page.click("canvas >> nth=0")
        await page.evaluate(
            "document.body.append(Object.assign(document.createElement('canvas'), {id: 'late'}))"
        )
        await page.click("#late")
        await watch.fence()
        told = [
            (data["element"]["id"], data["reason"].split(":")[0])
            for data in watch.all("element.unobservable")
        ]
        clicks = [data["element"]["id"] for data in watch.all("element.clicked")]
    assert told == [("board", "a canvas"), ("late", "a canvas")]
    assert clicks == ["board", "board", "late"], "that it was clicked is seen all the same"


SHADOWS = """<x-open></x-open><x-closed>light</x-closed><x-plain>no root</x-plain><div id=bare></div><div id=late></div>
<style>div { width: 50px; height: 50px }</style><script>
for (const [name, mode] of [['x-open', 'open'], ['x-closed', 'closed'], ['x-plain', null]]) {
  customElements.define(name, class extends HTMLElement {
    constructor() { super(); if (mode) this.attachShadow({mode}).innerHTML = '<button>In</button><slot></slot>' }
  });
}
late.attachShadow({mode: 'closed'}).innerHTML = '<button>Hidden</button>';
</script>"""


async def test_a_closed_shadow_root_is_opaque_and_an_open_one_is_not(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", SHADOWS))
        await watch.until(lambda: watch.all("element.unobservable"))
        await page.click("#bare")
        await page.click("#late")
        await watch.until(lambda: len(watch.all("element.unobservable")) == 2)
        await watch.fence()
        told = [
            (data["element"]["tag"], data["reason"]) for data in watch.all("element.unobservable")
        ]
    assert told == [("x-closed", "a closed shadow root"), ("div", "a closed shadow root")]

"""A password's value is in no observation, whatever way a page takes with it."""

from __future__ import annotations

import orjson
import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

SECRET = "korrektPferd9"


async def test_a_password_never_leaves_the_page(browser: Chromium, page: Page, site: Site) -> None:
    site.page("/done", "<title>done</title>")
    url = site.page(
        "/",
        """<form action=/done method=post>
        <label>User <input name=user></label>
        <label>Secret <input type=password name=s3 id=pw><button type=button id=show>Show</button></label>
        <input name=mine autocomplete=new-password aria-label=Again>
        <button id=go>Log in</button></form>
        <script>show.onclick = () => pw.type = 'text';
        show.addEventListener('mouseup', () =>
            fetch('/api', {method: 'POST', body: JSON.stringify({odd: pw.value})}))</script>""",
    )
    async with watching(browser, {"request_bodies": ["/*"], "origin": site.url, "text": True}) as watch:
        await page.goto(url)
        await page.fill("[name=user]", "ada")
        await page.locator("#pw").press_sequentially(SECRET)
        await page.fill("[name=mine]", SECRET)
        await page.click("#show")
        await page.locator("#pw").press("End")
        await page.locator("#pw").press_sequentially("X")
        await page.click("#go")
        finished = await watch.one("request.finished", url=site.url + "/done", method="POST")
        await watch.one("request.finished", url=site.url + "/api")
    everything = orjson.dumps(watch.seen).decode()
    assert SECRET not in everything
    assert "ada" in everything
    assert finished["body"]["text"] == "user=ada&s3=***&mine=***"
    filled = [d for d in watch.all("field.filled") if d["element"].get("attr_name") == "s3"]
    assert filled
    assert all(d["value"] is None and d["filled"] is True for d in filled)
    assert watch.all("form.submitted")[0]["fields"] == [["user", "ada"], ["s3", None], ["mine", None]]


async def test_a_password_in_an_address_is_masked(browser: Chromium, page: Page, site: Site) -> None:
    site.page("/done", "<title>done</title>")
    url = site.page("/", "<form action=/done><input type=password name=geheim><button>Go</button></form>")
    async with watching(browser) as watch:
        await page.goto(url)
        await page.fill("input", SECRET)
        await page.click("button")
        await watch.one("page.navigated", url=f"{site.url}/done?geheim=***")
        await watch.fence()
    assert SECRET not in orjson.dumps(watch.seen).decode()
    assert site.asked[-1].path == f"/done?geheim={SECRET}", "the site itself got what was typed"


async def test_page_script_can_neither_see_nor_call_the_observer(browser: Chromium, page: Page, site: Site) -> None:
    url = site.page(
        "/", "<button>Go</button><script>window.before = Object.getOwnPropertyNames(window).sort()</script>"
    )
    names = "Object.getOwnPropertyNames(window).filter((name) => name !== 'before').sort()"
    await page.goto(url)
    without = await page.evaluate(names)
    async with watching(browser) as watch:
        await page.goto(url)
        await page.click("button")
        await watch.one("element.clicked")
        assert await page.evaluate(names) == without
        assert watch.source is not None
        assert watch.source._live is not None
        script = watch.source._live.attachment._script
        for name in (script.binding, f"{script.binding}_observer", script.world):
            assert await page.evaluate(f"typeof globalThis['{name}']") == "undefined"
            assert await page.evaluate(f"'{name}' in window") is False
        seen_by_page = await page.evaluate(
            """new Promise((done) => { const button = document.querySelector('button');
               button.addEventListener('click', (event) => done([new Error().stack, event.composedPath().length]));
               button.click() })"""
        )
    assert script.binding not in str(seen_by_page)

"""Copied, cut, pasted: the text, the element, and whether it was the agent's hand."""

from __future__ import annotations

import orjson
import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

PAGE = """<textarea aria-label=From>alpha beta</textarea><input aria-label=To><p id=text>plain words</p>"""


async def test_copied_cut_and_pasted(browser: Chromium, page: Page, site: Site) -> None:
    url = site.page("/", PAGE)
    async with watching(browser) as watch:
        await page.goto(url)
        await page.focus("textarea")
        await page.keyboard.press("Control+a")
        await page.keyboard.press("Control+c")
        copied = await watch.one("text.copied")
        await page.keyboard.press("Control+x")
        cut = await watch.one("text.copied", removed=True)
        await page.focus("input")
        await page.keyboard.press("Control+v")
        pasted = await watch.one("text.pasted")
        filled = await watch.one("field.filled", value="alpha beta")
        await page.click("#text", click_count=3)
        await page.keyboard.press("Control+c")
        plain = await watch.until(
            lambda: [d for d in watch.all("text.copied") if "plain" in d["text"]]
        )
    assert (copied["text"], copied["element"]["name"], copied["trusted"]) == (
        "alpha beta",
        "From",
        True,
    )
    assert "removed" not in copied
    assert cut["text"] == "alpha beta"
    assert (pasted["text"], pasted["element"]["name"], pasted["trusted"]) == (
        "alpha beta",
        "To",
        True,
    )
    assert (filled["element"]["name"], filled["trusted"]) == ("To", True)
    assert plain[0]["text"].strip() == "plain words"


async def test_what_the_page_puts_there_instead_is_told(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        "<p>shown</p><script>document.oncopy = (event) => {"
        " event.clipboardData.setData('text/plain', 'instead'); event.preventDefault() }</script>",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await page.click("p", click_count=3)
        await page.keyboard.press("Control+c")
        assert (await watch.one("text.copied"))["text"] == "instead"


async def test_copy_by_script_is_the_agents_only_in_the_turn_of_its_click(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        """<input id=code value=K-77><button onclick="code.select(); document.execCommand('copy')">Copy</button>
        <i onclick="setTimeout(() => { code.select(); document.execCommand('copy') }, 50)">Later</i>""",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await page.click("button")
        first = await watch.one("text.copied")
        await page.click("i")
        await watch.until(lambda: len(watch.all("text.copied")) == 2)
        second = watch.all("text.copied")[1]
    assert (first["text"], first["trusted"]) == ("K-77", True)
    assert (second["text"], second["trusted"]) == ("K-77", False)


async def test_a_paste_that_script_makes_up_is_not_trusted(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", PAGE)
    async with watching(browser) as watch:
        await page.goto(url)
        await page.evaluate(
            """() => { const data = new DataTransfer(); data.setData('text/plain', 'made up');
            document.querySelector('input').dispatchEvent(
                new ClipboardEvent('paste', {bubbles: true, clipboardData: data})) }"""
        )
        pasted = await watch.one("text.pasted")
    assert (pasted["text"], pasted["trusted"]) == ("made up", False)


async def test_no_secret_goes_over_the_clipboard_into_the_log(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        """<input type=password id=pw aria-label=Password><input aria-label=Plain id=plain>
        <script>document.oncopy = (event) => {
            event.clipboardData.setData('text/plain', 'it is ' + pw.value); event.preventDefault() }</script>""",
    )
    async with watching(
        browser, {"also": ["field.typed", "text.selected", "text.appeared"]}
    ) as watch:
        await page.goto(url)
        await page.locator("#pw").press_sequentially("geheimnis9")
        await page.fill("#plain", "x")
        await page.keyboard.press("Control+a")
        await page.keyboard.press("Control+c")
        copied = await watch.one("text.copied")
        await page.fill("#plain", "")
        await page.locator("#plain").press("Control+v")
        await page.locator("#pw").press("Control+v")
        await watch.until(lambda: len(watch.all("text.pasted")) == 2)
        await watch.fence()
    assert copied["text"] == "it is •••"
    assert [data["text"] for data in watch.all("text.pasted")] == ["it is •••", None]
    assert watch.all("field.typed")[0]["text"] is None
    told = orjson.dumps([one for one in watch.seen if one[0] != "field.filled"]).decode()
    assert "geheimnis9" not in told

"""Editable text that is no control, and text that keys put somewhere: what stands there, what was
typed."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

TYPED = {"also": ["field.typed"]}


async def test_an_editable_element_is_a_textbox_with_its_text(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        """<div id=letter contenteditable aria-label=Letter><p>Dear Bob</p></div>
        <div id=shut contenteditable=false>shut</div>
        <button onclick="letter.focus(); document.execCommand('bold'); letter.append('!')">Sign</button>""",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        standing = await watch.one("field.filled", baseline=True)
        await page.locator("#letter").click()
        await page.keyboard.press("End")
        await page.keyboard.type(", hello")
        await page.keyboard.press("Enter")
        await page.keyboard.type("Ada")
        filled = await watch.until(
            lambda: [
                data
                for data in watch.all("field.filled")
                if data["value"].split() == "Dear Bob, hello Ada".split()
            ]
        )
        await page.click("button")
        await watch.fence()
        signed = watch.all("field.filled")[-1]
    assert (standing["element"]["role"], standing["element"]["name"]) == ("textbox", "Letter")
    assert standing["value"] == "Dear Bob"
    assert filled[0]["trusted"] is True
    assert (signed["value"].endswith("!"), signed["trusted"]) == (True, False), "script wrote that"


async def test_a_document_in_design_mode_is_a_textbox(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/inner", "<body>Old<script>document.designMode = 'on'</script>")
    url = site.page("/", "<iframe src=/inner></iframe>")
    async with watching(browser) as watch:
        await page.goto(url)
        await page.frame_locator("iframe").locator("body").click()
        await page.keyboard.press("Control+a")
        await page.keyboard.type("New")
        filled = await watch.one("field.filled", value="New")
    assert (filled["element"]["role"], filled["element"]["tag"], filled["trusted"]) == (
        "textbox",
        "body",
        True,
    )


async def test_what_is_typed_is_told_in_runs(browser: Chromium, page: Page, site: Site) -> None:
    url = site.page(
        "/",
        "<input aria-label=One><textarea aria-label=Two></textarea><input type=password"
        " aria-label=Pw>",
    )
    async with watching(browser, TYPED) as watch:
        await page.goto(url)
        await page.get_by_label("One").press_sequentially("helo")
        await page.keyboard.press("Backspace")
        await page.keyboard.type("lo")
        await page.get_by_label("Two").press_sequentially("a\nb")
        await page.get_by_label("Pw").press_sequentially("geheim")
        await page.get_by_label("One").fill("put there at once")
        await watch.fence()
        runs = [
            (data["element"]["name"], data["text"], data["trusted"])
            for data in watch.all("field.typed")
        ]
    assert runs == [
        ("One", "helo", True),
        ("One", "lo", True),
        ("Two", "a\nb", True),
        ("Pw", None, True),
    ]
    values = [
        data.get("value") for data in watch.all("field.filled") if data["element"]["name"] == "One"
    ]
    assert values[-1] == "put there at once", "of the other fields it may be told again after it"


async def test_a_composed_text_is_typed_once(browser: Chromium, page: Page, site: Site) -> None:
    url = site.page("/", "<input aria-label=One>")
    async with watching(browser, TYPED) as watch:
        await page.goto(url)
        await page.focus("input")
        keyboard = await page.context.new_cdp_session(page)
        for text in ("k", "か", "かn"):
            await keyboard.send(
                "Input.imeSetComposition", {"text": text, "selectionStart": 1, "selectionEnd": 1}
            )
        await keyboard.send("Input.insertText", {"text": "漢"})
        await watch.one("field.filled", value="漢")
        await watch.fence()
        assert [data["text"] for data in watch.all("field.typed")] == ["漢"]

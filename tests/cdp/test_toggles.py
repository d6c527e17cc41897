"""What opens and closes: details, dialogs, popovers, and who opened it."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

PAGE = """<details id=more><summary>More</summary>inner</details>
<dialog id=ask><p>Sure?</p><form method=dialog><button>Yes</button></form></dialog>
<button id=open onclick="ask.showModal()">Ask</button>
<button id=show popovertarget=hint>Hint</button><div id=hint popover>A hint</div>
<button id=both onclick="more.open = true">By handler</button>"""


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        pytest.param("click #more>summary", [("more", True, True)], id="details by click"),
        pytest.param("press #more>summary", [("more", True, True)], id="details by Enter"),
        pytest.param("click #both", [("more", True, True)], id="details by the handler of a click"),
        pytest.param("script more.open = true", [("more", True, False)], id="details by script"),
        pytest.param(
            "script more.firstChild.click()",
            [("more", True, False)],
            id="details by a script's click",
        ),
        pytest.param("click #open", [("ask", True, True)], id="dialog by click"),
        pytest.param("script ask.show()", [("ask", True, False)], id="dialog by script"),
        pytest.param("click #show", [("hint", True, True)], id="popover by click"),
        pytest.param("script hint.showPopover()", [("hint", True, False)], id="popover by script"),
    ],
)
async def test_what_opened_and_by_whom(
    browser: Chromium, page: Page, site: Site, how: str, expected: list[tuple[str, bool, bool]]
) -> None:
    url = site.page("/", PAGE)
    verb, _, what = how.partition(" ")
    async with watching(browser) as watch:
        await page.goto(url)
        if verb == "click":
            await page.click(what)
        elif verb == "press":
            await page.press(what, "Enter")
        else:
            await page.evaluate(f"setTimeout(() => {{ {what} }})")
        await watch.one("element.toggled")
        await watch.fence()
    seen = [
        (data["element"]["id"], data["open"], data["trusted"])
        for data in watch.all("element.toggled")
    ]
    assert seen == expected


async def test_a_dialog_that_is_answered_and_a_popover_that_is_left_close_by_hand(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", PAGE)
    async with watching(browser) as watch:
        await page.goto(url)
        await page.click("#open")
        await page.get_by_role("button", name="Yes").click()
        await page.click("#open")
        await page.keyboard.press("Escape")
        await page.click("#show")
        await page.mouse.click(700, 500)
        await watch.until(lambda: len(watch.all("element.toggled")) == 6)
    seen = [
        (data["element"]["id"], data["open"], data["trusted"])
        for data in watch.all("element.toggled")
    ]
    assert seen == [(id, on, True) for id in ("ask", "ask", "hint") for on in (True, False)]

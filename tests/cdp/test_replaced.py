"""A document that a `javascript:` URL puts in another's place is observed like any other."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.test_immunity import paid
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import ruleset

pytestmark = [pytest.mark.browser, needs_chromium]
PART = "<button>Delete</button><input aria-label=Item>"
URL = f"javascript:'<title>made</title>{PART}'"
BY: dict[str, str] = {
    "the page goes there": f'location = "{URL}"',
    "a frame comes with it": f"""document.body.innerHTML = `<iframe src="{URL}"></iframe>`""",
    "a frame goes there": f"""const frame = document.createElement("iframe"); document.body.append(frame);
        frame.src = "{URL}" """,
    "a frame with a page goes there": f"""const frame = document.createElement("iframe"); frame.src = "/in";
        frame.onload = () => {{ frame.onload = null; frame.src = "{URL}" }}; document.body.append(frame)""",
    "over an address of script": f"""history.pushState(0, "", "/cart"); location = "{URL}" """,
    "after it was written anew": f"""document.open(); document.write("<title>new</title>"); document.close();
        location = "{URL}" """,
}


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(how, marks=() if n % 3 == 0 else (pytest.mark.slow,))
        for n, how in enumerate(BY)
    ],
)
async def test_what_is_done_in_it_is_told(
    browser: Chromium, page: Page, site: Site, how: str
) -> None:
    """The click is penalised, and the address that script made pays nothing."""
    url = site.page("/", "<title>start</title><body>start")
    site.page("/in", "in")
    rules = ruleset(
        {
            "id": "deleted",
            "when": {"element_clicked": {"name": "Delete", "anywhere": True}},
            "penalty": 0.5,
        },
        {
            "id": "typed",
            "when": {"field_filled": {"field": "Item", "value": "lamp", "anywhere": True}},
        },
        {"id": "reached", "when": {"url_reached": {"url": "/cart"}}},
        origin=site.url,
    )
    async with watching(browser, rules.plan("e")) as watch:
        await page.goto(url)
        await watch.one("page.navigated", url=url)
        await page.evaluate(f"() => {{ {BY[how]} }}")
        frame = page.frame_locator("iframe") if "a frame" in how else page
        await frame.get_by_role("button").click()
        await frame.get_by_label("Item").fill("lamp")
        await watch.until(lambda: watch.clicked("Delete"))
        await watch.one("field.filled", value="lamp")
        await watch.fence()
        reward = paid(rules, watch)
    worths = {one.id for one in reward.milestones if one.worth}
    assert "deleted" in worths
    assert worths <= {"deleted", "typed"}
    # What a document that is written anew may hide is a gap, until it is known that it hid nothing.
    assert worths == {"deleted", "typed"} or reward.reason is not None

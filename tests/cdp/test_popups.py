"""Popups of a browser that nobody automates: watched, they open as they would alone, and the page
goes on.

An agent on Playwright hides trouble here: it releases every new page itself.
"""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.test_dialogs import shown, user
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]
__all__ = ["shown"]

OPENING = {
    "window.open": "<button onclick=\"window.open('/popup'); on()\">Open</button>",
    "a window of its own": (
        "<button onclick=\"window.open('/popup', '', 'width=300,height=300'); on()\">Open</button>"
    ),
    "without an opener": (
        "<button onclick=\"window.open('/popup', '', 'noopener'); on()\">Open</button>"
    ),
    "a link": "<a href=/popup target=_blank onclick=on()><button>Open</button></a>",
}
REST = (
    "<style>button { position: fixed; inset: 0 }</style><script>on = () => document.title ="
    " 'on'</script>"
)
PAINTED = (
    "new Promise(done => new PerformanceObserver(done).observe({type: 'paint', buffered:"
    " true})).then(() => 0)"
)
PLANS = {"no plan": {}, "workers too": {"hears": None}}


@pytest.mark.parametrize("how", OPENING)
@pytest.mark.parametrize("plan", PLANS)
async def test_a_popup_opens_and_its_page_goes_on(
    shown: Chromium, site: Site, how: str, plan: str
) -> None:
    url = site.page("/", f"<title>off</title>{OPENING[how]}{REST}")
    site.page("/popup", "<title>Popup</title>")
    async with watching(shown, PLANS[plan]) as watch, user(shown) as hand:
        tab = await hand.open(url)
        session = await hand.session(tab)
        await watch.one("page.loaded", tab=tab)
        await hand.call(session, "Page.bringToFront")
        await hand.call(
            session, "Runtime.evaluate", expression=PAINTED, awaitPromise=True
        )  # before that no click counts
        for kind in ("mousePressed", "mouseReleased"):
            await hand.call(
                session,
                "Input.dispatchMouseEvent",
                type=kind,
                x=50,
                y=50,
                button="left",
                clickCount=1,
            )
        await watch.one("page.title_changed", tab=tab, title="on")
        popup = await watch.one("page.loaded", url=site.url + "/popup")
        await watch.one("page.title_changed", tab=popup["tab"], title="Popup")
        await hand.close(popup["tab"])
        await watch.one("tab.closed", tab=popup["tab"])
        await hand.close(tab)
    assert [one.path for one in site.asked].count("/popup") == 1


async def test_a_popup_with_frames_of_other_sites_loads_and_is_heard(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/deepest", "<button>Deepest</button>")
    site.page("/inner", f"<button>Deep</button><iframe src='{site.other}/deepest'></iframe>")
    site.page("/middle", f"<iframe src='{site.url}/inner'></iframe>")
    site.page("/popup", f"<title>popup</title><iframe src='{site.other}/middle'></iframe>")
    url = site.page(
        "/",
        "<title>x</title><button onclick=\"open('/popup', '',"
        " 'width=300,height=300')\">Open</button>",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        async with page.expect_popup() as opened:
            await page.click("button")
        popup = await opened.value
        await popup.wait_for_load_state()
        inner = popup.frame_locator("iframe").frame_locator("iframe")
        await inner.get_by_role("button", name="Deep").click()
        await inner.frame_locator("iframe").get_by_role("button").click()
        await watch.until(lambda: len(watch.all("element.clicked")) == 3)
        assert [one["element"]["name"] for one in watch.all("element.clicked")] == [
            "Open",
            "Deep",
            "Deepest",
        ]
        assert {one["tab"] for one in watch.all("element.clicked")[1:]} == {
            watch.all("tab.opened")[-1]["tab"]
        }
        await popup.close()

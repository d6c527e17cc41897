"""A daemon that attaches late: what was done before it could hear is a gap; where nothing was done
there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.async_api import Page

from agentd.sources.cdp.transport.explicit_attach import ByHand
from tests.cdp.site import Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

Release = Callable[[], None]
ACTS = pytest.mark.parametrize("acts", [True, False], ids=["somebody acts", "nobody does"])


def late(patch: pytest.MonkeyPatch, kind: str, parent: str | None = None) -> Release:
    """From here on targets of ``kind``, below one of the kind ``parent``, are attached to when that
    is allowed."""
    at_once, waiting = ByHand._command, list[Callable[[], None]]()

    def command(self: ByHand, method: str, params: dict[str, Any], **session: str) -> None:
        about = self._targets.get(params.get("targetId", ""))
        above = self._targets.get(about.parent) if about is not None else None
        if about is None or about.kind != kind or (above.kind if above else None) != parent:
            at_once(self, method, params, **session)
        else:
            waiting.append(lambda: at_once(self, method, params, **session))

    def release() -> None:
        patch.setattr(ByHand, "_command", at_once)
        for send in waiting:
            send()

    patch.setattr(ByHand, "_command", command)
    return release


def blind(watch: Watch) -> set[str]:
    return {gap["part"] for gap in watch.all("gap.began")} & {"element", "field", "form", "text"}


@ACTS
async def test_in_a_frame_within_a_frame_of_another_site(
    browser: Chromium, page: Page, site: Site, monkeypatch: pytest.MonkeyPatch, acts: bool
) -> None:
    site.page("/inner", "<button>Deep</button>")
    site.page("/middle", f"<iframe src='{site.url}/inner'></iframe>")
    url = site.page(
        "/", f"<title>x</title><button>Top</button><iframe src='{site.other}/middle'></iframe>"
    )
    button = page.frame_locator("iframe").frame_locator("iframe").locator("button")
    async with watching(browser) as watch:
        release = late(monkeypatch, "iframe", "iframe")
        await page.goto(url)
        if acts:
            await button.click()
        release()
        await watch.one("page.navigated", url=f"{site.url}/inner")
        await watch.fence()
        assert blind(watch) == ({"element", "field", "form", "text"} if acts else set())
        assert watch.all("element.clicked") == []
        await button.click()
        assert (await watch.one("element.clicked"))["element"]["name"] == "Deep"


@ACTS
async def test_in_a_popup(
    browser: Chromium, page: Page, site: Site, monkeypatch: pytest.MonkeyPatch, acts: bool
) -> None:
    site.page("/popup", "<title>popup</title><button>There</button>")
    url = site.page(
        "/",
        "<title>x</title><button onclick=\"open('/popup', '',"
        " 'width=300,height=300')\">Open</button>",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        release = late(monkeypatch, "tab")
        async with page.expect_popup() as opened:
            await page.click("button")
        popup = await opened.value
        if acts:
            await popup.click("button")
        release()
        await watch.one("page.navigated", url=f"{site.url}/popup")
        await watch.fence()
        assert blind(watch) == ({"element", "field", "form", "text"} if acts else set())
        await popup.click("button")
        await watch.until(lambda: watch.clicked("There"))
        await popup.close()

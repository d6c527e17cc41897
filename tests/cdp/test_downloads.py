"""Downloads are told as they begin, and go where they would have gone without us."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cdp.site import Answer, Site
from tests.cdp.test_dialogs import user
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]


async def test_a_download_is_told_with_its_name(site: Site, tmp_path: Path) -> None:
    site.page("/invoice", Answer("a,b\n1,2\n", headers=(("content-type", "text/csv"),
              ("content-disposition", 'attachment; filename="invoice.csv"'))))  # fmt: skip
    url = site.page("/", "<a href=/invoice style='position:fixed;left:0;top:0'>Invoice</a>")
    with Chromium() as browser:
        async with watching(browser) as watch, user(browser) as hand:
            # The harness, not the observer, says where downloads go.
            await hand.call("", "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
            tab = await hand.open(url)
            await watch.one("page.loaded", tab=tab)
            session = await hand.session(tab)
            for kind in ("mousePressed", "mouseReleased"):
                await hand.call(session, "Input.dispatchMouseEvent", type=kind, x=9, y=9, button="left", clickCount=1)
            began = await watch.one("download.began")
            assert (began["tab"], began["name"], began["url"]) == (tab, "invoice.csv", site.url + "/invoice")
            assert began["download"]
            assert (tmp_path / "invoice.csv").read_text() == "a,b\n1,2\n"

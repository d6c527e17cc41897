"""Downloads are told from beginning to end, and go where they would have gone without us."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from playwright.async_api import Page

from agentd.sources.cdp.folds.normaliser import Normaliser
from agentd.sources.cdp.state.capture_plan import CapturePlan
from tests.cdp.hands import Hand, hand
from tests.cdp.site import Answer, Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium

CSV = (("content-type", "text/csv"), ("content-disposition", 'attachment; filename="invoice.csv"'))
PROGRESS = {"also": ["download.progressed"]}


@pytest.mark.browser
@needs_chromium
async def test_a_download_is_told_with_its_name_and_stays_the_agents(
    browser: Chromium, page: Page, site: Site, tmp_path: Path
) -> None:
    site.page("/invoice", Answer("a,b\n1,2\n", headers=CSV))
    url = site.page("/", "<a href=/invoice>Invoice</a>")
    async with watching(browser) as watch:
        await page.goto(url)
        async with page.expect_download() as coming:
            await page.click("a")
        download = await coming.value
        await download.save_as(tmp_path / "invoice.csv")
        began = await watch.one("download.began")
        finished = await watch.one("download.finished")
        clicked = await watch.one("element.clicked")
    assert (tmp_path / "invoice.csv").read_text() == "a,b\n1,2\n"
    assert (began["tab"], began["frame"]) == (clicked["tab"], clicked["frame"])
    assert (began["name"], began["url"]) == ("invoice.csv", site.url + "/invoice")
    assert finished == {
        "tab": began["tab"], "url": began["url"], "name": "invoice.csv", "download": began["download"], "size": 8,
    }  # fmt: skip
    assert not watch.all("download.progressed"), "nobody asked"


@asynccontextmanager
async def persons(folder: Path, site: Site) -> AsyncIterator[tuple[Chromium, Hand, str]]:
    """A person's browser: a profile with a download folder, no library, no download behaviour
    set."""
    profile, downloads = folder / "profile", folder / "downloads"
    (profile / "Default").mkdir(parents=True)
    downloads.mkdir()
    preferences = {"download": {"default_directory": str(downloads), "prompt_for_download": False}}
    (profile / "Default" / "Preferences").write_bytes(orjson.dumps(preferences))
    url = site.page(
        "/page",
        "<title>x</title><a id=a href=/invoice>Invoice</a><a id=b target=_blank"
        " href=/invoice>New</a>",
    )
    with Chromium(profile=profile) as chromium:
        async with hand(chromium) as user:
            yield chromium, user, url


async def on_page(watch: Watch, user: Hand, url: str) -> str:
    """The session of a new tab that has loaded ``url``."""
    tab = await user.open(url)
    await watch.one("page.loaded", tab=tab, url=url)
    return await user.session(tab)


async def arrived(path: Path) -> bytes:
    """The file's content, once it is there."""

    def look() -> bytes:
        deadline = time.monotonic() + 60
        while not path.exists():
            assert time.monotonic() < deadline, f"{path} did not come"
            time.sleep(0.02)
        return path.read_bytes()

    return await asyncio.to_thread(look)


@pytest.mark.browser
@needs_chromium
async def test_a_persons_downloads_lie_in_the_persons_folder(site: Site, tmp_path: Path) -> None:
    site.page("/invoice", Answer("a,b\n" * 50_000, headers=CSV))
    async with (
        persons(tmp_path, site) as (chromium, user, url),
        watching(chromium, PROGRESS) as watch,
    ):
        session = await on_page(watch, user, url)
        for number in (1, 2):
            await user.click(session, "#a")
            await watch.until(lambda number=number: len(watch.all("download.finished")) == number)
        first, second = watch.all("download.began")
        assert first["name"] == second["name"] == "invoice.csv"
        assert [one["size"] for one in watch.all("download.finished")] == [200_000, 200_000]
        told = [
            one["received"] for one in watch.all("download.progressed", download=first["download"])
        ]
        assert told == sorted(set(told))
        assert len(told) <= 20
        for name in ("invoice.csv", "invoice (1).csv"):
            assert len(await arrived(tmp_path / "downloads" / name)) == 200_000


@pytest.mark.browser
@needs_chromium
async def test_a_tab_opened_for_a_download_closes_itself_and_its_end_is_told_or_missed_aloud(
    site: Site, tmp_path: Path
) -> None:
    site.page("/invoice", Answer("a,b\n", headers=CSV))
    async with persons(tmp_path, site) as (chromium, user, url), watching(chromium) as watch:
        await user.click(await on_page(watch, user, url), "#b")
        await arrived(tmp_path / "downloads" / "invoice.csv")
        await watch.one("tab.closed")
        await watch.fence()
        parts = {one["part"] for one in watch.all("gap.began")}
        if watch.all("download.began"):
            assert (
                watch.all("download.finished")
                or {"download.finished", "download.canceled"} <= parts
            )
        else:
            assert "download" in parts


@pytest.mark.browser
@needs_chromium
async def test_a_download_that_is_cancelled(browser: Chromium, page: Page, site: Site) -> None:
    site.page("/invoice", Answer("a" * 100, headers=CSV, lacks=100))
    url = site.page("/", "<a href=/invoice>Invoice</a>")
    async with watching(browser) as watch:
        await page.goto(url)
        async with page.expect_download() as coming:
            await page.click("a")
        await (await coming.value).cancel()
        began = await watch.one("download.began")
        canceled = await watch.one("download.canceled")
    assert canceled == {name: began[name] for name in ("tab", "url", "name", "download")}


class Fold:
    """One tab with a download of ``total`` bytes that has begun."""

    def __init__(self, total: int) -> None:
        self.normaliser = Normaliser(
            "", "", CapturePlan(kinds=frozenset(["download.progressed"])), live=True
        )
        self.normaliser.browser.settled = True
        info = {"targetId": "T", "type": "page", "url": "", "title": ""}
        self.told("Target.attachedToTarget", "", sessionId="S", targetInfo=info)
        self.told(
            "Page.downloadWillBegin",
            frameId="T",
            guid="g",
            url="/f",
            suggestedFilename="f",
        )
        self.total = total

    def told(self, method: str, session: str = "S", **params: Any) -> list[tuple[str, Any]]:
        seen = self.normaliser.feed(session, method, params)
        return [
            (one.kind, one.data.get("part") or one.data.get("received") or one.data.get("size"))
            for one in seen
        ]

    def receives(self, received: int, state: str = "inProgress") -> list[tuple[str, Any]]:
        about = {"guid": "g", "totalBytes": self.total, "receivedBytes": received, "state": state}
        return self.told("Page.downloadProgress", **about)


def test_progress_is_told_at_every_twentieth() -> None:
    fold = Fold(1000)
    told = [fold.receives(received) for received in (0, 10, 50, 50, 60, 99, 100, 1000)]
    assert told == [[], [], [("download.progressed", 50)], [], [], [], [("download.progressed", 100)],
                    [("download.progressed", 1000)]]  # fmt: skip
    assert fold.receives(1000, "completed") == [("download.finished", 1000)]
    assert fold.receives(1000, "completed") == [], "once"


def test_of_an_unknown_whole_progress_is_told_at_every_mebibyte() -> None:
    fold = Fold(-1)
    assert fold.receives(1 << 19) == []
    assert fold.receives(1 << 20) == [("download.progressed", 1 << 20)]


def test_where_the_page_goes_before_its_download_the_end_is_not_known() -> None:
    fold = Fold(1000)
    fold.receives(999)
    ends = [("gap.began", "download.finished"), ("gap.began", "download.canceled")]
    assert [
        one for one in fold.told("Target.detachedFromTarget", "", sessionId="S") if one in ends
    ] == ends
    fold = Fold(1000)
    fold.receives(1000)
    assert ("download.finished", 1000) in fold.told("Target.detachedFromTarget", "", sessionId="S")

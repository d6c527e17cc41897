"""Tabs: which is in front, how they come to be, how they crash, and pages that are prepared before
they are shown."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from playwright.async_api import Page

from agentd.sources.probes.script import ProbeBrowser as Probes
from agentd.sources.screen.cdp import CdpCamera
from tests.cdp.hands import Hand, hand
from tests.cdp.site import Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.display import Display, needs_display

pytestmark = [pytest.mark.browser, needs_chromium, pytest.mark.slow_where("headful")]


@pytest.fixture(scope="module", params=["headless", "headful"])
def shown(request: pytest.FixtureRequest) -> Iterator[Chromium]:
    """A browser that no library has changed, headless or on a display of its own."""
    if request.param == "headless":
        with Chromium("--site-per-process") as chromium:
            yield chromium
        return
    if needs_display.args[0]:
        pytest.skip(needs_display.kwargs["reason"])
    with (
        Display() as display,
        Chromium("--site-per-process", headless=False, display=display.name) as chromium,
    ):
        yield chromium


async def test_the_tab_in_front_is_told(shown: Chromium, site: Site) -> None:
    site.page("/b", "<title>b</title>")
    url = site.page("/a", "<title>a</title><a href=/b>b</a>")
    async with watching(shown) as watch, hand(shown) as user:
        a = await user.open(url)
        await watch.one("tab.activated", tab=a)
        b = await user.open(f"{site.url}/b")
        await watch.one("tab.activated", tab=b)
        await user.call("", "Target.activateTarget", targetId=a)
        await watch.until(lambda: len(watch.all("tab.activated", tab=a)) == 2)
        # A tab that opens behind is not in front; closing the one in front brings another there.
        session = await user.session(a)
        await user.click(session, "a", modifiers=2)
        behind = await third(watch, {a, b})
        await watch.fence()
        assert not watch.all("tab.activated", tab=behind)
        order = [
            data["tab"]
            for kind, data in watch.seen
            if kind == "tab.activated" and not data.get("baseline")
        ]
        assert order == [a, b, a]
        assert not watch.all("gap.began")
        for tab in (a, b, behind):
            await user.close(tab)
            await watch.one("tab.closed", tab=tab)


async def third(watch: Watch, known: set[str]) -> str:
    found = await watch.until(
        lambda: [
            one["tab"]
            for one in watch.all("page.loaded")
            if one["tab"] not in known and "/b" in one["url"]
        ]
    )
    return str(found[0])


async def test_the_tab_in_front_at_the_start_is_baseline(shown: Chromium, site: Site) -> None:
    async with hand(shown) as user:
        a = await user.open(site.page("/a", "<title>a</title>"))
        b = await user.open(site.url)
        async with watching(shown) as watch:
            assert [one["tab"] for one in watch.all("tab.activated", baseline=True)] == [b]
            await user.call("", "Target.activateTarget", targetId=a)
            await watch.one("tab.activated", tab=a)
        for tab in (a, b):
            await user.close(tab)


async def test_where_a_harness_puts_every_tab_in_front_it_is_said_that_nobody_knows(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.url)
        other = await page.context.new_page()
        await other.goto(site.url)
        await watch.until(lambda: len(watch.all("page.loaded", url=site.url + "/")) == 2)
        await watch.fence()
        await watch.one("gap.began", part="tab.activated")
        await other.close()
        await watch.until(lambda: watch.all("tab.closed"))
        await watch.fence()
        told = [
            kind.removeprefix("gap.")
            for kind, data in watch.seen
            if kind.startswith("gap.") and data.get("part") == "tab.activated"
        ]
        # Another tab may come to the front for good, beside the one that believes it is there.
        assert told in (["began"], ["began", "ended"], ["began", "ended", "began"]), "told once"


@asynccontextmanager
async def crashing(browser: Chromium, site: Site) -> AsyncIterator[tuple[Watch, Hand, str, str]]:
    async with AsyncExitStack() as stack:
        watch = await stack.enter_async_context(watching(browser))
        user = await stack.enter_async_context(hand(browser))
        site.page("/in", "<title>in</title><button>In</button>")
        tab = await user.open(
            site.page(
                "/a", f"<title>a</title><button>B</button><iframe src={site.other}/in></iframe>"
            )
        )
        await watch.one("page.loaded", url=f"{site.url}/a")
        yield watch, user, tab, await user.session(tab)
        await user.close(tab)
        await watch.one("tab.closed", tab=tab)


async def test_a_crash_is_told_and_the_tab_is_seen_again_after_a_reload(
    shown: Chromium, site: Site
) -> None:
    async with crashing(shown, site) as (watch, user, tab, session):
        await user.crash(session)
        await watch.one("tab.crashed", tab=tab)
        await watch.fence()
        await user.call(session, "Page.reload")
        await watch.until(lambda: len(watch.all("page.loaded", url=f"{site.url}/a")) == 2)
        assert watch.all("page.navigated", url=f"{site.url}/a")[-1]["navigation_type"] == "reload"
        await user.click(session, "button")
        await watch.one("element.clicked", tab=tab)


async def test_a_renderer_that_is_killed_is_a_crash(shown: Chromium, site: Site) -> None:
    async with crashing(shown, site) as (watch, user, tab, session):
        before = await renderers(user)
        await user.evaluate(
            session, "(() => { const end = Date.now() + 400; while (Date.now() < end); })()"
        )
        spent = {pid: time - before.get(pid, 0.0) for pid, time in (await renderers(user)).items()}
        os.kill(max(spent, key=lambda pid: spent[pid]), signal.SIGKILL)
        await watch.one("tab.crashed", tab=tab)


async def renderers(user: Hand) -> dict[int, float]:
    """Every renderer's process with the seconds that it has worked."""
    found = (await user.call("", "SystemInfo.getProcessInfo"))["processInfo"]
    return {one["id"]: one["cpuTime"] for one in found if one["type"] == "renderer"}


async def test_a_crash_of_a_frame_in_a_process_of_its_own_is_the_frames(
    shown: Chromium, site: Site
) -> None:
    async with crashing(shown, site) as (watch, user, _, _):
        frame = await watch.one("page.navigated", url=f"{site.other}/in")
        inner = await user.session(frame["frame"])
        await user.crash(inner)
        failed = await watch.one("page.failed")
        assert (failed["frame"], failed["main"], failed["error"]) == (
            frame["frame"],
            False,
            "crashed",
        )
        assert not watch.all("tab.crashed")


PREPARES = """<title>a</title><a href=/next>Next</a><script type=speculationrules>
{"prerender": [{"source": "list", "urls": ["/next"], "eagerness": "immediate"}]}</script>
<script>setTimeout(() => document.querySelector("a").click(), 3000)</script>"""
NEXT = """<title>next</title><h1>Next</h1><script>
setTimeout(() => fetch("/beacon?" + document.prerendering), 800)
document.addEventListener("prerenderingchange", () => fetch("/shown"))</script>"""


@asynccontextmanager
async def preparing(site: Site) -> AsyncIterator[Chromium]:
    """A browser without any client on a page that has another prerendered and goes there after
    three seconds."""
    site.page(
        "/start", "<title>start</title><script>setTimeout(() => { location = '/a' }, 1500)</script>"
    )
    site.page("/a", PREPARES)
    site.page("/next", NEXT)
    for path in ("/beacon", "/shown"):
        site.page(path, "ok")
    async with Chromium(url=f"{site.url}/start") as chromium:
        yield chromium


async def asked_for(site: Site, path: str) -> None:
    async with asyncio.timeout(20):
        while not any(one.path.startswith(path) for one in site.asked):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_a_page_that_is_prerendered_is_told_when_it_is_shown_and_is_prerendered_all_the_same(
    site: Site,
) -> None:
    async with preparing(site) as chromium, watching(chromium) as watch:
        early = await watch.one("request.finished", url=f"{site.url}/beacon?true")
        assert not watch.all("page.navigated", url=f"{site.url}/next"), "nobody sees it yet"
        shown = await watch.one("page.navigated", url=f"{site.url}/next")
        await watch.one("request.finished", url=f"{site.url}/shown")
        await watch.one("page.title_changed", title="next")
        [start] = [data for kind, data in watch.seen if kind == "tab.opened"]
        assert {early["tab"], shown["tab"]} == {start["tab"]}
        assert shown["main"] is True
        assert [one["frame"] for one in watch.all("frame.detached")] == [start["tab"]]
        assert not watch.all("tab.closed")
        watched = list(site.asked)
        async with hand(chromium) as user:
            session = await user.session(shown["frame"])
            await user.evaluate(session, "void setTimeout(() => history.back(), 0)")
            back = await watch.until(lambda: watch.all("page.navigated", url=f"{site.url}/a")[1:])
            assert (back[0]["tab"], back[0]["navigation_type"], back[0]["main"]) == (
                start["tab"],
                "back",
                True,
            )
            await user.close(shown["frame"])
            await watch.one("tab.closed", tab=start["tab"])
    site.asked.clear()
    async with preparing(site):
        await asked_for(site, "/shown")
    pages = [
        [one.path for one in log if "favicon" not in one.path] for log in (watched, site.asked)
    ]
    assert pages[0] == pages[1], "the site was asked the same without the daemon"


@pytest.mark.slow_where("a camera")
@pytest.mark.parametrize("asker", ["a probe", "a camera"])
async def test_a_page_is_prerendered_though_somebody_else_asks_too(site: Site, asker: str) -> None:
    async with preparing(site) as chromium, AsyncExitStack() as stack:
        if asker == "a camera":
            camera = CdpCamera(chromium.endpoint, None)
            running = asyncio.create_task(camera.run())
            stack.callback(running.cancel)
            await camera.take()
        else:
            probes = Probes(chromium.endpoint, None)
            stack.push_async_callback(probes.close)
            while (title := await _title(probes)) == "":  # noqa: ASYNC110 - it is still being read
                await asyncio.sleep(0.02)
            assert title in ("start", "a")
        await asked_for(site, "/shown")
        paths = [one.path for one in site.asked]
        assert "/beacon?true" in paths
        if asker == "a probe":
            assert await _title(probes) == "next", "another target in the same tab"


async def _title(probes: Probes) -> str:
    [page] = await probes.pages()
    said = await probes.evaluate(page["targetId"], "document.title", 1.0)
    title: str = said["result"]["value"]
    return title

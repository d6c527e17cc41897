"""The browser goes away and comes back: said as a loss, then told anew as a baseline."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright

from agentd.core.source import SourceLostError
from agentd.sources.cdp import CdpSource
from agentd.sources.cdp.attach import page_stamp, script
from agentd.sources.cdp.transport import websocket
from tests.cdp.site import Site
from tests.cdp.watching import Data, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.watching import Watch

pytestmark = [pytest.mark.browser, needs_chromium]


async def test_a_killed_browser_is_a_loss_and_a_restarted_one_is_found(site: Site) -> None:
    url = site.page("/", "<title>x</title>")
    with Chromium(url=url) as browser:
        source = CdpSource(None, browser.profile, {})
        async with watching(browser, source=source) as watch:
            await watch.until(
                lambda: (
                    watch.all("page.navigated", url=url)
                    + watch.all("page.navigated", baseline=True)
                )
            )
            [old] = {data["tab"] for kind, data in watch.seen if kind == "tab.opened"}
            browser.kill()
            assert watch.task is not None
            with pytest.raises(SourceLostError, match=r"closed the connection"):
                await asyncio.wait_for(watch.task, 60)
        port = browser.port
        browser.start()
        assert browser.port != port
        await _shows(browser, url)
        async with watching(browser, source=source) as again:
            assert [data["tab"] for kind, data in again.seen if kind == "tab.closed"] == [old]
            assert again.all("page.navigated", baseline=True)
            assert not again.all("page.navigated")
        after_a_restart = CdpSource(None, browser.profile, {})
        after_a_restart.recall((seq, kind, data) for seq, (kind, data) in enumerate(watch.seen, 1))
        async with watching(browser, source=after_a_restart) as again:
            assert [data["tab"] for kind, data in again.seen if kind == "tab.closed"] == [old]


async def test_tabs_of_a_browser_that_ends_while_it_is_looked_at_are_told_as_closed(
    site: Site,
) -> None:
    """A sandbox is reset while its daemon attaches: the next browser's start has none of them."""
    url = site.page("/", "<title>x</title>")
    told: list[tuple[str, str]] = []
    with Chromium(url=url) as browser:
        source = CdpSource(None, browser.profile, {})

        def end_browser(kind: str, data: Mapping[str, object]) -> None:
            told.append((kind, str(data.get("tab"))))
            if kind == "tab.opened":
                browser.kill()

        def fail() -> None:
            pytest.fail("the source was ready")

        with pytest.raises(SourceLostError):
            await asyncio.wait_for(source.run(end_browser, fail), 60)
        opened = [tab for kind, tab in told if kind == "tab.opened"]
        assert opened
        browser.start()
        await _shows(browser, url)
        async with watching(browser, source=source) as again:
            closed = [data["tab"] for kind, data in again.seen if kind == "tab.closed"]
    assert closed == opened


async def test_a_message_without_measure_is_a_loss_and_not_the_daemon_s_end(
    browser: Chromium, page: Page, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page can have any address told; here of more bytes than are taken."""
    monkeypatch.setattr(websocket, "MAX_MESSAGE", 5 << 20)
    source = CdpSource(browser.endpoint, None, {})
    async with watching(browser, source=source) as watch:
        await page.goto(site.url)
        await page.evaluate("fetch('data:,' + 'x'.repeat(8_000_000)).then(() => 0)")
        assert watch.task is not None
        with pytest.raises(SourceLostError, match=r"closed the connection"):
            await asyncio.wait_for(watch.task, 60)
    async with watching(browser, source=source) as again:
        await page.goto(site.page("/later", "later"))
        await again.one("page.navigated", url=f"{site.url}/later")


@pytest.mark.parametrize("restarted", [False, True], ids=["the same daemon", "a restarted one"])
async def test_a_frame_that_went_while_nobody_looked_is_told_as_gone(
    site: Site, restarted: bool
) -> None:
    """What was read of its address no longer stands; of the one beside it that does."""
    child = site.page("/child", "child")
    url = site.page(
        "/", f"<iframe id=goes src='{child}#goes'></iframe><iframe src='{child}#stays'></iframe>"
    )
    with Chromium(url=url) as browser:
        source = CdpSource(browser.endpoint, None, {})
        async with watching(browser, source=source) as watch:
            await watch.until(lambda: len(_children(watch.seen)) == 2)
        frames = _children(watch.seen)
        async with async_playwright() as playwright:
            agent = await playwright.chromium.connect_over_cdp(browser.endpoint)
            await agent.contexts[0].pages[0].evaluate("document.getElementById('goes').remove()")
        if restarted:
            source = CdpSource(browser.endpoint, None, {})
            source.recall((seq, kind, data) for seq, (kind, data) in enumerate(watch.seen, 1))
        async with watching(browser, source=source) as again:
            gone = [data["frame"] for kind, data in again.seen if kind == "frame.detached"]
            assert gone == [frames[f"{child}#goes"]]
            assert _children(again.seen) == {f"{child}#stays": frames[f"{child}#stays"]}


@pytest.mark.parametrize(
    ("watched", "restarted"),
    [
        pytest.param(False, False, id="while nobody looked"),
        pytest.param(
            False, True, id="while nobody looked, by a daemon anew", marks=pytest.mark.slow
        ),
        pytest.param(True, False, id="seen", marks=pytest.mark.slow),
        pytest.param(True, True, id="seen, by a daemon anew", marks=pytest.mark.slow),
    ],
)
async def test_an_address_of_script_is_one_when_the_browser_is_found_again(
    site: Site, watched: bool, restarted: bool
) -> None:
    """The document says from where it was loaded; one that stands there as it was loaded does not."""
    url, inner = site.page("/", "<iframe src=/in></iframe>"), site.page("/in", "in")
    cart = f"{site.url}/cart"
    with Chromium(url=url) as browser:
        source = CdpSource(browser.endpoint, None, {})
        async with watching(browser, source=source) as watch:
            await watch.until(lambda: _children(watch.seen))
            if watched:
                await _push(browser, cart)
                await watch.one("page.navigated", url=cart)
        if not watched:
            await _push(browser, cart)
        if restarted:
            source = CdpSource(browser.endpoint, None, {})
            source.recall((seq, kind, data) for seq, (kind, data) in enumerate(watch.seen, 1))
        async with watching(browser, source=source) as again:
            told = [data for kind, data in again.seen if kind == "page.navigated"]
            found = {data["url"]: data.get("document") for data in told}
            assert found == {cart: url, inner: None}


async def _push(browser: Chromium, url: str) -> None:
    """Have script of the tab's page put another address there."""
    async with async_playwright() as playwright:
        agent = await playwright.chromium.connect_over_cdp(browser.endpoint)
        await agent.contexts[0].pages[0].evaluate(f"history.pushState(0, '', '{url}')")


async def _shows(browser: Chromium, url: str) -> None:
    """Wait until the browser's tab came to its page: what it does after somebody looks is no
    baseline."""
    async with asyncio.timeout(60), async_playwright() as playwright:
        agent = await playwright.chromium.connect_over_cdp(browser.endpoint)
        [context] = agent.contexts
        page = context.pages[0] if context.pages else await context.wait_for_event("page")
        await page.wait_for_url(url)


def _children(seen: Sequence[tuple[str, Data]]) -> dict[str, str]:
    """Which frame is where, the first moment on about:blank aside, which not every look catches."""
    told = [data for kind, data in seen if kind == "page.navigated" and not data["main"]]
    return {data["url"]: data["frame"] for data in told if data["url"] != "about:blank"}


async def run(source: CdpSource) -> None:
    """Run a source that can't become ready."""
    watch = Watch(source)
    await source.run(watch.sink, watch.ready.set)


async def test_a_browser_that_is_not_there_is_a_loss(tmp_path: Path) -> None:
    with pytest.raises(SourceLostError, match=r"DevToolsActivePort"):
        await run(CdpSource(None, tmp_path, {}))
    with pytest.raises(SourceLostError, match=r"http://127.0.0.1:9/json/version"):
        await run(CdpSource("http://127.0.0.1:9", None, {}))
    (tmp_path / "DevToolsActivePort").write_text("9\n/devtools/browser/x\n")
    with pytest.raises(SourceLostError, match=r"cannot reach the browser at ws://127.0.0.1:9"):
        await run(CdpSource(None, tmp_path, {}))


async def test_a_missing_bundle_names_the_command_that_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "BUNDLE", tmp_path / "observer.bundle.js")
    script.bundle.cache_clear()
    with pytest.raises(script.MissingBundleError, match=r"python tools/build_page_script.py"):
        await run(CdpSource("http://127.0.0.1:9", None, {}))
    script.bundle.cache_clear()


def test_a_bundle_of_older_scripts_is_refused_with_the_command_that_makes_it(
    tmp_path: Path,
) -> None:
    """It would report less than rules read, which is worth 0 and not null."""
    for path in script.BUNDLE.parent.glob("*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    copy = tmp_path / script.BUNDLE.name
    stamped = f"// made from x\n{page_stamp.stamp(tmp_path)}\nvoid 0"
    copy.write_text(stamped)
    assert script.bundle(copy) == stamped
    script.bundle.cache_clear()
    with (tmp_path / "fields.js").open("a") as part:
        part.write("// another\n")
    with pytest.raises(script.MissingBundleError, match=r"run `python tools/build_page_script.py`"):
        script.bundle(copy)
    copy.write_text("// made before bundles were stamped\nvoid 0")
    assert script.bundle(copy).endswith("void 0")
    script.bundle.cache_clear()


async def test_a_fence_without_a_browser_returns_at_once() -> None:
    """It never suspends: not for one turn of the loop."""
    with pytest.raises(StopIteration):
        CdpSource("http://127.0.0.1:9", None, {}).fence(5.0).send(None)

"""agentd.attach on asyncio, as a harness uses it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

import agentd
from agentd.core.errors import AgentdError, UsageError
from agentd.inprocess import AsyncWatch
from agentd.inprocess.thread import DaemonThread
from tests.cdp.site import Site
from tests.conformance.comparing import events_of
from tests.conformance.harness import ARGS, LEAN
from tests.support.chromium import needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]


async def test_a_watch_is_awaited_and_outlives_its_browser(tmp_path: Path) -> None:
    out = tmp_path / "session.mrec"
    with Site() as site:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=LEAN, args=ARGS)
            page = await browser.new_page()
            watch = await agentd.attach(page, out=out)
            assert await watch.begin_step({"goto": site.url}) == 0
            await page.goto(site.url)
            assert await watch.end_step() is not None
            await browser.close()  # before the watch: it is a gap, not a failure
            await watch.answer("done")
            await watch.close()
            with pytest.raises(AgentdError, match="the watch has ended"):
                await watch.begin_step()
    kinds = [event.kind for event in events_of(out)]
    assert kinds[-1] == "episode.closed"
    assert kinds.index("step.sealed") < len(kinds) - 1 - kinds[::-1].index("gap.began")


async def test_a_close_that_its_caller_gives_up_goes_on_and_can_be_asked_for_again(
    tmp_path: Path,
) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=LEAN, args=ARGS)
        page = await browser.new_page()
        watch = await agentd.attach(page, out=tmp_path / "first.mrec")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await watch.close()
        with pytest.raises(UsageError, match="watched already"):
            await agentd.attach(page, out=tmp_path / "second.mrec")
        await watch.close()
        await watch.close("once is enough")
        async with agentd.attach(page, out=tmp_path / "second.mrec"):
            pass
        await browser.close()
    for name in ("first", "second"):
        assert [event.kind for event in events_of(tmp_path / f"{name}.mrec")][
            -1
        ] == "episode.closed"


async def test_a_caller_who_gives_up_at_the_very_end_leaves_the_daemon_to_end(
    tmp_path: Path,
) -> None:
    over = threading.Event()

    async def work(stop: asyncio.Event, opened: object) -> None:
        await asyncio.to_thread(over.wait)

    left: list[bool] = []
    daemon = DaemonThread(work, "slow")
    watch = AsyncWatch(daemon, tmp_path, lambda: left.append(daemon.is_over))
    daemon.start()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await watch.abandon()
    assert not left
    over.set()
    await watch.close()
    assert left == [True]

"""agentd.attach on asyncio, as a harness uses it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import async_playwright

import agentd
from agentd.errors import AgentdError
from tests.cdp.site import Site
from tests.conformance.comparing import events_of
from tests.conformance.harness import ARGS, EXECUTABLE
from tests.support.chromium import needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]


async def test_a_watch_is_awaited_and_outlives_its_browser(tmp_path: Path) -> None:
    out = tmp_path / "session.mrec"
    with Site() as site:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=EXECUTABLE, args=ARGS)
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

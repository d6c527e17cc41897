"""Questions to pages over a connection of the asker's own: what one that had no time left leaves
behind."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from playwright.async_api import Page

from agentd.sources.cdp.attach.isolated_world import Isolated
from agentd.sources.cdp.transport.address import websocket_address
from agentd.sources.cdp.transport.connection import Connection, Params, Reply
from tests.cdp.site import Site
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]


class Impatient:
    """A connection whose asker has no time left, once for each target, when it sends ``method``."""

    def __init__(self, connection: Connection, method: str) -> None:
        self._connection = connection
        self._method = method
        self._tried: set[str] = set()

    def send(self, method: str, params: Params | None = None, session: str = "") -> Reply:
        target = session or str((params or {}).get("targetId"))
        if method == self._method and target not in self._tried:
            self._tried.add(target)
            raise TimeoutError
        return self._connection.send(method, params, session)


@pytest.mark.parametrize(
    "method", ["Target.attachToTarget", "Target.setAutoAttach", "Page.createIsolatedWorld"]
)
async def test_who_ran_out_of_time_once_may_ask_again(
    browser: Chromium, page: Page, site: Site, method: str
) -> None:
    await page.goto(site.page("/asked", "<title>asked</title>"))
    connection = await Connection.open(await websocket_address(browser.endpoint, None))
    isolated = Isolated()
    running = asyncio.create_task(connection.run(isolated.handle))
    try:
        agent = await page.context.new_cdp_session(page)
        tab = (await agent.send("Target.getTargetInfo"))["targetInfo"]["targetId"]
        hurried = Impatient(connection, method)
        reply = None
        for _ in range(20):
            with contextlib.suppress(TimeoutError):
                reply = await isolated.evaluate(hurried, tab, "document.title")  # type: ignore[arg-type]
                break
        assert hurried._tried
        assert reply is not None
        assert reply["result"]["value"] == "asked"
    finally:
        running.cancel()
        await connection.close()

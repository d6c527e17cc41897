"""Playwright without asyncio, its browser launched by pipe, watched with agentd.attach."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, Page, sync_playwright

import agentd
from agentd.inprocess import Watch
from tests.conformance.harness import ARGS, EXECUTABLE
from tests.conformance.harness.listening import listen
from tests.conformance.scene import Hands, plainly, scene


class SyncHands(Hands):
    def __init__(self, page: Page, watch: Watch) -> None:
        super().__init__()
        self._page = page
        self._watch = watch
        self._session = page.context.new_cdp_session(page)

    async def begin(self, action: str) -> None:
        self._watch.begin_step(action)

    async def end(self) -> None:
        self._watch.end_step()

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return self._session.send(method, params)

    async def crash(self) -> None:
        try:
            self._page.goto("chrome://crash")
        except Error:
            return

    async def rest(self) -> None:
        self._watch.pump()


def main(site: str, folder: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=ARGS)
        page = browser.new_page()
        page.on("dialog", lambda dialog: dialog.accept())
        with agentd.attach(page, out=folder / "session.mrec") as watch:
            hands = SyncHands(page, watch)
            listen(watch, hands)
            plainly(scene(hands, site))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

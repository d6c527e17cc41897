"""Playwright without asyncio, its browser launched by pipe, watched with agentd.attach."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Dialog, Download, Error, Page, sync_playwright

import agentd
from agentd.inprocess import Watch
from tests.conformance.harness import ARGS, LEAN, saved
from tests.conformance.harness.listening import listen
from tests.conformance.outcome import outcome
from tests.conformance.scene import Hands, plainly, scene


class SyncHands(Hands):
    def __init__(self, page: Page, watch: Watch | None) -> None:
        super().__init__()
        self._page = page
        self._watch = watch
        self._session = page.context.new_cdp_session(page)
        self._downloads: list[Download] = []
        page.on("download", self._began)

    def _began(self, download: Download) -> None:
        self._downloads.append(download)

    async def begin(self, action: str) -> None:
        if self._watch is not None:
            self._watch.begin_step(action)

    async def end(self) -> None:
        if self._watch is not None:
            self._watch.end_step()

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return self._session.send(method, params)

    async def crash(self) -> None:
        with contextlib.suppress(Error):
            self._page.goto("chrome://crash")

    async def downloads(self) -> list[list[str]]:
        while not self._downloads:
            await self.rest()
        return [saved(one.suggested_filename, one.path()) for one in self._downloads]

    async def rest(self) -> None:
        self._session.send("Browser.getVersion")


def accept(dialog: Dialog) -> None:
    dialog.accept("Ada" if dialog.type == "prompt" else None)


@contextlib.contextmanager
def watching(page: Page, mode: str, folder: Path) -> Iterator[Watch | None]:
    """A watch on the page, unless it is to be left alone."""
    if mode.startswith("alone"):
        yield None
        return
    with agentd.attach(page, out=folder / "session.mrec") as watch:
        yield watch


def main(mode: str, site: str, folder: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=LEAN, args=ARGS)
        page = browser.new_page()
        if not mode.endswith("silent"):
            page.on("dialog", accept)
        with watching(page, mode, folder) as watch:
            hands = SyncHands(page, watch)
            if watch is not None:
                listen(watch, hands)
            if mode == "scene":
                plainly(scene(hands, site))
            else:
                print(plainly(outcome(hands, site)))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))

"""Playwright on asyncio, its browser launched by pipe, watched with agentd.attach."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from playwright.async_api import Dialog, Error, Page, async_playwright

import agentd
from tests.conformance.harness import ARGS, EXECUTABLE
from tests.conformance.harness.listening import listen
from tests.conformance.harness.on_asyncio import AsyncHands
from tests.conformance.scene import scene


async def accept(dialog: Dialog) -> None:
    await dialog.accept()


async def crash(page: Page) -> None:
    try:
        await page.goto("chrome://crash")
    except Error:
        return


async def main(site: str, folder: Path) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=EXECUTABLE, args=ARGS)
        page = await browser.new_page()
        page.on("dialog", accept)
        async with agentd.attach(page, out=folder / "session.mrec") as watch:
            session = await page.context.new_cdp_session(page)
            hands = AsyncHands(watch, session, lambda: crash(page))
            listen(watch, hands)
            await scene(hands, site)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))

"""Playwright on asyncio, its browser launched by pipe, watched with agentd.attach."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path

from playwright.async_api import Dialog, Download, Error, Page, async_playwright

from tests.conformance.harness import ARGS, LEAN, saved
from tests.conformance.harness.on_asyncio import AsyncHands, go


async def accept(dialog: Dialog) -> None:
    await dialog.accept("Ada" if dialog.type == "prompt" else None)


async def hands_on(page: Page) -> AsyncHands:
    """The scene's hands on a page of Playwright's."""
    downloads: list[Download] = []

    def began(download: Download) -> None:
        downloads.append(download)

    page.on("download", began)

    async def crash() -> None:
        with contextlib.suppress(Error):
            await page.goto("chrome://crash")

    async def done() -> list[list[str]]:
        return [saved(one.suggested_filename, await one.path()) for one in downloads]

    return AsyncHands(await page.context.new_cdp_session(page), crash, done)


async def main(mode: str, site: str, folder: Path) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=LEAN, args=ARGS)
        page = await browser.new_page()
        if not mode.endswith("silent"):
            page.on("dialog", accept)
        await go(await hands_on(page), page, mode, site, folder)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))

"""pyppeteer, watched with agentd.attach. Runs in an environment of its own: nothing of the tests' tools is there."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pyppeteer

import agentd
from tests.conformance.harness import ARGS, EXECUTABLE
from tests.conformance.harness.listening import listen
from tests.conformance.harness.on_asyncio import AsyncHands
from tests.conformance.scene import scene


def downloads_into(profile: Path, folder: Path) -> None:
    """Set the profile up as a user would."""
    (profile / "Default").mkdir(parents=True)
    folder.mkdir()
    wanted = {"download": {"default_directory": os.fspath(folder), "prompt_for_download": False}}
    (profile / "Default" / "Preferences").write_text(json.dumps(wanted))


async def launch(folder: Path) -> Any:
    """Debian's Chromium in the hands of pyppeteer, with a profile of its own."""
    downloads_into(folder / "profile", folder / "downloads")
    return await pyppeteer.launch(
        executablePath=EXECUTABLE,
        args=["--headless=new", *ARGS],
        userDataDir=os.fspath(folder / "profile"),
        autoClose=False,
        handleSIGINT=False,
        handleSIGTERM=False,
        handleSIGHUP=False,
    )


async def main(site: str, folder: Path) -> None:
    browser = await launch(folder)
    page = (await browser.pages())[0]
    page.on("dialog", lambda dialog: asyncio.ensure_future(dialog.accept()))

    page.on("error", lambda error: None)  # without it pyppeteer reads nothing more after a crash

    async def crash() -> None:
        asyncio.ensure_future(page._client.send("Page.navigate", {"url": "chrome://crash"}))  # noqa: RUF006

    async with agentd.attach(page, out=folder / "session.mrec") as watch:
        session = await page.target.createCDPSession()
        hands = AsyncHands(watch, session, crash)
        listen(watch, hands)
        await scene(hands, site)
    await browser.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))

"""pyppeteer, watched with agentd.attach. Runs in an environment of its own: nothing of the tests'
tools is there."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pyppeteer

from tests.conformance.harness import ARGS, LEAN, saved
from tests.conformance.harness.on_asyncio import AsyncHands, go


async def launch(folder: Path) -> Any:
    """Debian's Chromium in the hands of pyppeteer, set up as a user would: downloads go to a
    folder, unasked."""
    profile, downloads = folder / "profile", folder / "downloads"
    (profile / "Default").mkdir(parents=True)
    downloads.mkdir()
    wanted = {"download": {"default_directory": os.fspath(downloads), "prompt_for_download": False}}
    (profile / "Default" / "Preferences").write_text(json.dumps(wanted))
    return await pyppeteer.launch(
        executablePath=LEAN,
        args=["--headless=new", *ARGS],
        userDataDir=os.fspath(profile),
        autoClose=False,
        handleSIGINT=False,
        handleSIGTERM=False,
        handleSIGHUP=False,
    )


async def accept(dialog: Any) -> None:
    await dialog.accept("Ada" if dialog.type == "prompt" else "")


async def hands_on(page: Any, folder: Path) -> AsyncHands:
    """The scene's hands on a page of pyppeteer's."""
    page.on("error", lambda error: None)  # without it pyppeteer reads nothing more after a crash
    crashing = []

    async def crash() -> None:  # there is no answer to it
        crashing.append(
            asyncio.ensure_future(page._client.send("Page.navigate", {"url": "chrome://crash"}))
        )

    async def done() -> list[list[str]]:
        # An empty file holds the name while Chromium writes beside it.
        whole = [
            one
            for one in (folder / "downloads").iterdir()
            if one.suffix == ".csv" and one.stat().st_size
        ]
        return [saved(one.name, one) for one in whole]

    return AsyncHands(await page.target.createCDPSession(), crash, done)


async def main(mode: str, site: str, folder: Path) -> None:
    browser = await launch(folder)
    page = (await browser.pages())[0]
    page.on("dialog", lambda dialog: asyncio.ensure_future(accept(dialog)))
    await go(await hands_on(page, folder), page, mode, site, folder)
    await browser.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))

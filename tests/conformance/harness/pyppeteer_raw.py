"""A browser of pyppeteer's, watched over its port in pyppeteer's environment: the websocket of old
websockets."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agentd.core.settings import RecordSettings
from tests.conformance.harness.over_port import record_scene
from tests.conformance.harness.pyppeteer_async import accept, hands_on, launch


async def main(mode: str, site: str, folder: Path) -> None:
    assert mode == "scene", "a watch over a port has its own tests of passivity"
    browser = await launch(folder)
    page = (await browser.pages())[0]
    page.on("dialog", lambda dialog: asyncio.ensure_future(accept(dialog)))
    settings = RecordSettings(cdp=browser.wsEndpoint, out=folder / "session.mrec", steps="port")
    await record_scene(settings, await hands_on(page, folder), site)
    await browser.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))

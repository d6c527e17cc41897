"""The reference: a browser with a port, watched over its websocket as `agentd record` does;
Playwright is its agent."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from playwright.async_api import async_playwright

from agentd.core.settings import RecordSettings
from tests.conformance.harness import ARGS, EXECUTABLE
from tests.conformance.harness.over_port import record_scene
from tests.conformance.harness.playwright_async import accept, hands_on


async def main(mode: str, site: str, folder: Path) -> None:
    assert mode == "scene", "a watch over a port has its own tests of passivity"
    profile = folder / "profile"
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            profile, executable_path=EXECUTABLE, args=[*ARGS, "--remote-debugging-port=0"]
        )
        page = context.pages[0]
        page.on("dialog", accept)
        settings = RecordSettings(profile=profile, out=folder / "session.mrec", steps="port")
        await record_scene(settings, await hands_on(page), site)
        await context.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))

"""The reference: a browser with a port, watched over its websocket as `agentd record` does; Playwright is its agent."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from playwright.async_api import async_playwright

from agentd.record import record
from agentd.session import Session
from agentd.settings import Settings
from tests.conformance.harness import ARGS, EXECUTABLE
from tests.conformance.harness.listening import count
from tests.conformance.harness.on_asyncio import AsyncHands
from tests.conformance.harness.playwright_async import accept, crash
from tests.conformance.scene import scene


class Port:
    """Says steps as the control port would."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def begin_step(self, action: str) -> None:
        await self._session.conductor.begin(action=action)

    async def end_step(self) -> None:
        said = await self._session.conductor.end()
        assert said.step is not None
        await self._session.conductor.wait_sealed(said.step)


async def main(site: str, folder: Path) -> None:
    profile = folder / "profile"
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            profile, executable_path=EXECUTABLE, args=[*ARGS, "--remote-debugging-port=0"]
        )
        page = context.pages[0]
        page.on("dialog", accept)
        settings = Settings(profile=profile, out=folder / "session.mrec", steps="port")
        opened: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        recording = asyncio.create_task(record(settings, asyncio.Event(), opened.set_result))
        session = await opened
        await session.supervisor.all_ready()
        hands = AsyncHands(Port(session), await context.new_cdp_session(page), lambda: crash(page))
        count(session, hands)
        await scene(hands, site)
        await session.conductor.close("closed by the harness")
        await recording
        await context.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))

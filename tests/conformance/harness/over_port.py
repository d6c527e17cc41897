"""Records the scene as `agentd record` does, over the browser's debugging port."""

from __future__ import annotations

import asyncio

from agentd.core.settings import RecordSettings
from agentd.run.record import record
from agentd.session.session import Session
from tests.conformance.harness.listening import count
from tests.conformance.harness.on_asyncio import AsyncHands
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


async def record_scene(settings: RecordSettings, hands: AsyncHands, site: str) -> None:
    """Watch with ``settings`` while ``hands`` do the scene."""
    opened: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
    recording = asyncio.create_task(record(settings, asyncio.Event(), opened.set_result))
    session = await opened
    await session.supervisor.all_ready()
    hands.steps = Port(session)
    count(session, hands)
    await scene(hands, site)
    await session.conductor.close("closed by the harness")
    await recording

"""A real daemon's control port for the gateway, in the test's own process: its journal can be read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Any

from agentd.masking.masker import Masker
from agentd.mcp.brackets import CallBrackets
from agentd.mcp.control import DaemonPort
from agentd.session.control_port import ControlPort, Health, announce, control_token, make_app
from tests.agentd.support.sight import Sight
from tests.agentd.test_steps import Stage


class Beside:
    """``async with Beside(folder) as beside``: a control port, and brackets that go to it.

    ``fence_s``: how long the daemon needs before each step may begin.
    """

    def __init__(
        self, folder: Path, *, begin_wait_s: float = 5.0, fence_s: float = 0.0, episode: str = "E"
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.episode = folder, episode
        self.stage = Stage(folder, fence_s=fence_s)
        self.port = DaemonPort(folder)
        self.brackets = CallBrackets(self.port, Masker(), begin_wait_s)
        self.control: ControlPort | None = None

    async def start(self) -> None:
        """Listen, on a port of its own."""
        token = control_token(self.folder)
        app = make_app(self.stage.conductor, token, Health(dict, Sight()))
        self.control = ControlPort(
            app, token, 0, conductor=self.stage.conductor, beside=self.folder / "steps.socket"
        )
        self.control.start()
        announce(self.folder, self.control.where, self.episode, self.control.beside)

    async def stop(self) -> None:
        """Listen no more, as a daemon that died: what says where it listened stays."""
        if self.control is not None:
            await self.control.stop()
            self.control = None

    async def __aenter__(self) -> Beside:
        await self.start()
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        await self.brackets.drain()
        await self.port.close()
        await self.stop()

    async def told(self) -> list[str]:
        """Everything in the journal once all is reported: each event by what tells it from others."""
        async with asyncio.timeout(20):
            await self.brackets.settle()
        self.stage.journal.flush()
        return [
            _shorten(kind, data)
            for _, kind, data in self.stage.journal.rows()
            if kind not in ("step.sealed", "gap.ended")
        ]


def _shorten(kind: str, data: Any) -> str:
    if kind == "agent.tool_called":
        return f"called {data['tool']}"
    if kind == "agent.tool_returned":
        return f"returned {data.get('error') or data['result']['text']}"
    if kind == "gap.began":
        return f"missed {data['part'].removeprefix('agent.tool_')}"
    return f"{kind.removeprefix('step.')} {data['step']}"

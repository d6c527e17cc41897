"""Questions to a tab's main frame from a world that its page can't see, over a connection of the asker's own."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

from agentd.sources.cdp.connection import CdpError, Connection, Params


class Isolated:
    """Of every tab that is asked, its session, and its world of this document."""

    def __init__(self) -> None:
        self._name = f"w{secrets.token_hex(8)}"
        self._turn = asyncio.Lock()
        self._sessions: dict[str, str] = {}
        self._worlds: dict[str, int] = {}

    async def session(self, connection: Connection, tab: str) -> str:
        """The session with a tab, begun where there is none. Raises `CdpError`, `SourceLostError`."""
        async with self._turn:
            if tab not in self._sessions:
                reply = await connection.send("Target.attachToTarget", {"targetId": tab, "flatten": True})
                self._sessions[tab] = reply["sessionId"]
            return self._sessions[tab]

    async def evaluate(self, connection: Connection, tab: str, expression: str, **how: Any) -> Params:
        """The reply to ``Runtime.evaluate``, ``how`` its further parameters. Raises `CdpError`, `SourceLostError`."""
        session = await self.session(connection, tab)
        asked = {"expression": expression, "returnByValue": True, **how}
        try:
            return await self._evaluate(connection, session, tab, asked)
        except CdpError:
            # Its document is another one since: a new world, once.
            self._worlds.pop(session, None)
            return await self._evaluate(connection, session, tab, asked)

    async def _evaluate(self, connection: Connection, session: str, tab: str, asked: Params) -> Params:
        if session not in self._worlds:
            # The main frame has the tab's own id.
            made = await connection.send("Page.createIsolatedWorld", {"frameId": tab, "worldName": self._name}, session)
            self._worlds[session] = made["executionContextId"]
        return await connection.send("Runtime.evaluate", {**asked, "contextId": self._worlds[session]}, session)

    def heard(self, _session: str, method: str, params: Params) -> None:
        """Takes what the connection says by itself: a session that ended is forgotten."""
        if method == "Target.detachedFromTarget":
            self._worlds.pop(params["sessionId"], None)
            self._sessions = {tab: one for tab, one in self._sessions.items() if one != params["sessionId"]}

    def clear(self) -> None:
        """Forget all: the connection is another one."""
        self._sessions.clear()
        self._worlds.clear()

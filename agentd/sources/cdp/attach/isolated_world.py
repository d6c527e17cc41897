"""Questions to a page's main frame from a world that it can't see, over a connection of the asker's
own.

A page is attached to from its tab, as attach.py does: attached to directly, it would get no
prerendering.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

from agentd.sources.cdp.transport.connection import CdpError, Connection, Params

_PAGES = {
    "autoAttach": True,
    "waitForDebuggerOnStart": False,
    "flatten": True,
    "filter": [{"type": "page"}],
}


async def targets(connection: Connection, kind: str, scope: str | None) -> list[Params]:
    """All targets of a type, as the browser describes them; in ``scope`` where that is given."""
    found = await connection.send("Target.getTargets", {"filter": [{"type": kind}]})
    return [one for one in found["targetInfos"] if scope in (None, one.get("browserContextId"))]


class Isolated:
    """Of every page that is asked, its session, and its world of this document. ``scope``: a
    browser context's id; the tabs of others are left alone."""

    def __init__(self, scope: str | None = None) -> None:
        self._scope = scope
        self._tabs: dict[str, str] = {}  # tab target -> session
        self._told: set[str] = set()  # the tabs that tell of their pages
        self._name = f"w{secrets.token_hex(8)}"
        self._turn = asyncio.Lock()
        self._sessions: dict[str, str] = {}
        self._worlds: dict[str, int] = {}

    async def session(self, connection: Connection, tab: str) -> str:
        """The session with a tab's page, begun where there is none. Raises `CdpError`,
        `SourceLostError`."""
        async with self._turn:
            if tab not in self._sessions:
                await self._look(connection, tab)
            if tab not in self._sessions:
                raise CdpError("the page stands in no tab")
            return self._sessions[tab]

    async def _look(self, connection: Connection, page: str) -> None:
        """Attach to tabs that are new until the page is there; `heard` is told of the pages in
        each."""
        for info in await targets(connection, "tab", self._scope):
            tab = info["targetId"]
            if tab in self._told:
                continue
            if tab not in self._tabs:
                made = await connection.send(
                    "Target.attachToTarget", {"targetId": tab, "flatten": True}
                )
                self._tabs[tab] = made["sessionId"]
            await connection.send("Target.setAutoAttach", _PAGES, self._tabs[tab])
            # Not before: whoever asked may have had no more time, and asks again.
            self._told.add(tab)
            if page in self._sessions:
                return

    async def evaluate(
        self, connection: Connection, tab: str, expression: str, **how: Any
    ) -> Params:
        """The reply to ``Runtime.evaluate``, ``how`` its further parameters. Raises `CdpError`,
        `SourceLostError`."""
        session = await self.session(connection, tab)
        asked = {"expression": expression, "returnByValue": True, **how}
        try:
            return await self._evaluate(connection, session, tab, asked)
        except CdpError:
            # Its document is another one since: a new world, once.
            self._worlds.pop(session, None)
            return await self._evaluate(connection, session, tab, asked)

    async def _evaluate(
        self, connection: Connection, session: str, tab: str, asked: Params
    ) -> Params:
        """Evaluate in a world of its own of the tab's main frame, which is made with the first
        question."""
        if session not in self._worlds:
            # The main frame has the tab's own id.
            made = await connection.send(
                "Page.createIsolatedWorld", {"frameId": tab, "worldName": self._name}, session
            )
            self._worlds[session] = made["executionContextId"]
        return await connection.send(
            "Runtime.evaluate", {**asked, "contextId": self._worlds[session]}, session
        )

    def handle(self, _session: str, method: str, params: Params) -> None:
        """Takes what the connection says by itself: tabs, pages in them, sessions that ended, which
        are forgotten."""
        if method == "Target.attachedToTarget":
            table = {"page": self._sessions, "tab": self._tabs}.get(
                params["targetInfo"]["type"], {}
            )
            table[params["targetInfo"]["targetId"]] = params["sessionId"]
        elif method == "Target.detachedFromTarget":
            self._worlds.pop(params["sessionId"], None)
            for table in (self._sessions, self._tabs):
                for target in [
                    target for target, one in table.items() if one == params["sessionId"]
                ]:
                    del table[target]
                    self._told.discard(target)

    def clear(self) -> None:
        """Forget all: the connection is another one."""
        self._tabs.clear()
        self._told.clear()
        self._sessions.clear()
        self._worlds.clear()

"""The shop's own word on who asked for what: without it nobody could show that the daemon asks for
nothing.

No times and no ports of clients stand in it, so two runs of one session can be compared line by
line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class AccessLog:
    """ASGI middleware that notes every request, in the order in which the answers began."""

    def __init__(self, app: ASGIApp, file: Path | None = None) -> None:
        self.app = app
        self.lines: list[dict[str, Any]] = []
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and note it with its answer's status."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._note(scope, message["status"])
            await send(message)

        await self.app(scope, receive, noting)

    def _note(self, scope: Scope, status: int) -> None:
        query = scope["query_string"].decode("latin-1")
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1").partition(":")[0]
        path = scope["path"] + (f"?{query}" if query else "")
        line = {"method": scope["method"], "host": host, "path": path, "status": status}
        self.lines.append(line)
        if self._file is not None:
            with self._file.open("a") as file:
                file.write(json.dumps(line) + "\n")

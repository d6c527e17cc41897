"""A dialect at the root of a port of its own, for clients that put no path before theirs (NeMo
Gym)."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class AtRoot:
    """Passes what comes to ``port`` on with ``prefix`` before its path, and everything else as it
    is."""

    def __init__(self, app: ASGIApp, port: int, prefix: str) -> None:
        self._app, self._port, self._prefix = app, port, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        server = scope.get("server")
        if scope["type"] == "http" and server is not None and server[1] == self._port:
            path = self._prefix + scope["path"]
            scope = {**scope, "path": path, "raw_path": path.encode()}
        await self._app(scope, receive, send)

"""Dialects at the root of ports of their own, for clients that put no path before theirs (NeMo
Gym, the Open Reward Standard)."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Scope, Send


class AtRoot:
    """Passes what comes to a port of ``prefixes`` on with that port's prefix before its path, and
    everything else as it is."""

    def __init__(self, app: ASGIApp, prefixes: Mapping[int, str]) -> None:
        self._app, self._prefixes = app, prefixes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer requests to a dialect's own port under its prefix."""
        server = scope.get("server")
        if scope["type"] == "http" and server is not None and server[1] in self._prefixes:
            path = self._prefixes[server[1]] + scope["path"]
            scope = {**scope, "path": path, "raw_path": path.encode()}
        await self._app(scope, receive, send)

"""The connections of a client: one pool for addresses, one for each Unix socket. Written twice by
hand, since opening one is guarded in threads alone; what is above is generated (sync_client.py)."""

from __future__ import annotations

import threading

import httpx

from milestoned_client.plain_answers import ASYNC_HOOKS, HEADERS, HOOKS
from milestoned_client.sockets import socket_of

LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=50.0)
"""Of a pool for addresses: a connection that is idle for 50 seconds is closed here. The service
keeps it for 75, and proxies mostly for 60."""


class AsyncConnections:
    """The pools of an asyncio client. ``transport`` stands for the network, in tests."""

    def __init__(self, transport: httpx.AsyncBaseTransport | None) -> None:
        self.http = httpx.AsyncClient(
            transport=transport, headers=HEADERS, event_hooks=ASYNC_HOOKS, limits=LIMITS
        )
        self._sockets: dict[str, httpx.AsyncClient] = {}

    def route(self, url: str) -> tuple[httpx.AsyncClient, str]:
        """Return the pool for ``url`` (``unix:`` ones too) and the address to ask it for."""
        path, url = socket_of(url)
        if path is None:
            return self.http, url
        if path not in self._sockets:
            self._sockets[path] = httpx.AsyncClient(
                transport=httpx.AsyncHTTPTransport(uds=path),
                headers=HEADERS,
                event_hooks=ASYNC_HOOKS,
            )
        return self._sockets[path], url

    async def aclose(self) -> None:
        """Close the pools of all addresses, sockets included."""
        for http in (self.http, *self._sockets.values()):
            await http.aclose()


class Connections:
    """The pools of a blocking client, for any number of threads."""

    def __init__(self, transport: httpx.BaseTransport | None) -> None:
        self.http = httpx.Client(
            transport=transport, headers=HEADERS, event_hooks=HOOKS, limits=LIMITS
        )
        self._sockets: dict[str, httpx.Client] = {}
        self._opening = threading.Lock()

    def route(self, url: str) -> tuple[httpx.Client, str]:
        """Return the pool for ``url`` (``unix:`` ones too) and the address to ask it for."""
        path, url = socket_of(url)
        if path is None:
            return self.http, url
        with self._opening:
            if path not in self._sockets:
                self._sockets[path] = httpx.Client(
                    transport=httpx.HTTPTransport(uds=path), headers=HEADERS, event_hooks=HOOKS
                )
            return self._sockets[path], url

    def close(self) -> None:
        """Close the pools of all addresses, sockets included."""
        for http in (self.http, *self._sockets.values()):
            http.close()

"""A session of OpenEnv that nobody uses ends with its token: held open, it kept its episode's owner
heard for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from tests.api.daemon import OPENED
from tests.api.service import Service, Store, running
from tests.api.test_owners import open_owned, owners_of
from tests.support.logs import began

SQLITE = pytest.mark.parametrize("store", ["sqlite"], indirect=True)


class Socket:
    """A WebSocket to the application itself: what it sends stands in ``sent``."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.given: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def ask(self, type: str, **data: object) -> dict[str, Any]:
        """Send one message; its answer."""
        text = orjson.dumps({"type": type, "data": data}).decode()
        await self.given.put({"type": "websocket.receive", "text": text})
        return await self.answer()

    async def answer(self) -> dict[str, Any]:
        """The next message, or how the socket was closed."""
        async with asyncio.timeout(20):
            message = await self.sent.get()
        return orjson.loads(message["text"]) if "text" in message else message


@asynccontextmanager
async def connected(service: Service, token: str) -> AsyncIterator[Socket]:
    """A socket to `/openenv/ws` with this token."""
    socket = Socket()
    scope = {
        "type": "websocket",
        "asgi": {"version": "3.0"},
        "path": "/openenv/ws",
        "raw_path": b"/openenv/ws",
        "root_path": "",
        "query_string": b"",
        "scheme": "ws",
        "subprotocols": [],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "headers": [(b"authorization", f"Bearer {token}".encode())],
    }
    await socket.given.put({"type": "websocket.connect"})
    served = asyncio.create_task(service.app(scope, socket.given.get, socket.sent.put))
    try:
        assert (await socket.answer())["type"] == "websocket.accept"
        yield socket
    finally:
        await socket.given.put({"type": "websocket.disconnect", "code": 1000})
        await served


@SQLITE
async def test_an_idle_session_ends_with_its_token(store: Store) -> None:
    async with running(store, heartbeat_s=0.05) as service:
        owned, owners = await open_owned(service), owners_of(service)
        await service.tell(owned.id, owned.token, OPENED, began(0))
        principal = await service.app.state.parts.tokens.principal(owned.trainer)
        async with connected(service, owned.trainer) as socket:
            assert (await socket.ask("reset", episode_id=owned.id))["type"] == "observation"
            assert [voice.episode for voice in owners._held] == [owned.id]
            await service.app.state.parts.tokens.revoke(principal.id)
            ended = await socket.answer()
            assert (ended["type"], ended["data"]["code"]) == ("error", "SESSION_ERROR")
            assert "the token ended" in ended["data"]["message"]
            assert (await socket.answer())["code"] == 1008
            assert not owners._held


@SQLITE
async def test_an_idle_session_with_its_token_goes_on(store: Store) -> None:
    async with running(store, heartbeat_s=0.01) as service:
        owned = await open_owned(service)
        await service.tell(owned.id, owned.token, OPENED, began(0))
        async with connected(service, owned.trainer) as socket:
            await socket.ask("reset", episode_id=owned.id)
            with pytest.raises(asyncio.TimeoutError):  # twenty looks, and nothing is said
                async with asyncio.timeout(0.2):
                    await socket.sent.get()
            assert (await socket.ask("state"))["type"] == "state"

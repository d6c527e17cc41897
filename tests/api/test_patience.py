"""A connection that sends half of a request is closed: the head and the body each have their
time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from api.core.settings import Limits
from api.http.timeouts import patient

HALVES = {
    "nothing": b"",
    "half of a head": b"POST / HTTP/1.1\r\nhost: a\r\nx-a: ",
    "a head without its end": b"GET / HTTP/1.1\r\nhost: a\r\n",
    "half of a body": b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf",
    "half of a body, with a token": (
        b"POST / HTTP/1.1\r\nhost: a\r\nauthorization: Bearer mt_a\r\n"
        b"content-length: 10\r\n\r\nhalf"
    ),
    "half of a chunk": (
        b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nff\r\nhalf"
    ),
    "half of a second request": b"GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhos",
}


async def _app(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    )
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def _served(idle_s: float = 0.3) -> AsyncIterator[int]:
    protocol = patient(Limits(head_s=idle_s, body_idle_s=idle_s, body_s=1.0))
    config = uvicorn.Config(_app, port=0, http=protocol, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
async def test_what_is_half_sent_is_ended(half: bytes) -> None:
    async with _served() as port, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(half)
        assert b"408" in await reader.read()
        writer.close()


async def test_a_body_that_drips_has_an_end_too() -> None:
    async with _served() as port, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n")
        ended = asyncio.create_task(reader.read())
        while not ended.done():
            writer.write(b"x")
            await asyncio.sleep(0.05)
        # What is sent just as the service closes is answered by a reset, and takes the 408 along.
        assert isinstance(ended.exception(), ConnectionResetError) or b"408" in ended.result()
        writer.close()


async def test_what_is_whole_is_answered() -> None:
    """Each request has its own time: together they take longer than one may."""
    async with _served(idle_s=1.0) as port, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(12):
            writer.write(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nha")
            await asyncio.sleep(0.1)  # fixed: a slow client, over the limit in all
            writer.write(b"lf")
            assert b"200" in await reader.readuntil(b"ok")
        writer.close()

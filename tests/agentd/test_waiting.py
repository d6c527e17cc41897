"""Connections to the control port: without its token few at a time, none for long; with it no half
request for ever."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from agentd.session import waiting
from agentd.session.control_port import ControlPort, Health, make_app
from agentd.session.waiting import MAX_WAITING
from tests.agentd.support.sight import Sight
from tests.agentd.test_steps import Stage

GET = b"GET /healthz HTTP/1.1\r\nhost: x\r\nauthorization: Bearer word\r\n\r\n"


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[ControlPort]:
    port = ControlPort(
        make_app(Stage(tmp_path).conductor, "word", Health(lambda: {"known": True}, Sight())),
        "word",
        0,
    )
    port.start()
    while not port._server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0)
    yield port
    await port.stop()


class Caller:
    """One connection to the port."""

    def __init__(self, port: ControlPort, sent: bytes = b"") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port.where))
        self.socket.setblocking(False)
        self.socket.send(sent)

    async def receive(self) -> bytes:
        """What the port sends next; empty where it closed the connection."""
        async with asyncio.timeout(20):
            try:
                return await asyncio.get_running_loop().sock_recv(self.socket, 1 << 16)
            except ConnectionResetError:
                return b""

    async def end(self) -> None:
        """Return once the port closed the connection."""
        while await self.receive():
            pass


@pytest.fixture
def call(port: ControlPort) -> Iterator[Callable[..., Caller]]:
    """Opens a connection that lasts until the test ends, unless the port closes it."""
    callers: list[Caller] = []

    def opened(sent: bytes = b"") -> Caller:
        callers.append(Caller(port, sent))
        return callers[-1]

    yield opened
    for one in callers:
        one.socket.close()


SENT: dict[str, bytes] = {
    "nothing": b"",
    "half a head": b"POST /v1/steps HTTP/1.1\r\nhost: x\r\n",
    "half a head with the token": b"POST /v1/steps HTTP/1.1\r\nauthorization: Bearer word\r\n",
    "another token": b"GET /healthz HTTP/1.1\r\nhost: x\r\nauthorization: Bearer other\r\n\r\n",
    "the token and another": (
        b"GET /healthz HTTP/1.1\r\nhost: x\r\nauthorization: Bearer word\r\n"
        b"authorization: Bearer other\r\n\r\n"
    ),
    "no token and half a body": b"POST /v1/steps HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{",
}


@pytest.mark.parametrize("sent", SENT)
async def test_a_connection_without_the_token_ends(
    call: Callable[..., Caller], sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "TOKEN_S", 0.3)
    await call(SENT[sent]).end()


async def test_a_connection_with_the_token_stays(
    call: Callable[..., Caller], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is another, that of --body-wait."""
    monkeypatch.setattr(waiting, "TOKEN_S", 0.3)
    head = (
        b"POST /v1/steps HTTP/1.1\r\nhost: x\r\nauthorization: Bearer word\r\ncontent-length:"
        b" 2\r\n\r\n"
    )
    known = call(head)
    await call().end()  # its time began later and is over
    known.socket.send(b"{}")
    assert (await known.receive()).startswith(b"HTTP/1.1 200")


async def test_the_connection_that_waited_longest_makes_room(
    port: ControlPort, call: Callable[..., Caller]
) -> None:
    """What has shown the token is kept, whatever comes after it."""
    known = call(GET)
    assert (await known.receive()).startswith(b"HTTP/1.1 200")
    others = [call() for _ in range(MAX_WAITING + 10)]
    for one in others[:10]:
        await one.end()
    assert len(port._server.server_state.connections) == MAX_WAITING + 1
    known.socket.send(GET)
    assert (await known.receive()).startswith(b"HTTP/1.1 200")


async def test_a_flood_does_not_push_out_a_request_that_comes_with_its_connection(
    call: Callable[..., Caller],
) -> None:
    """More than may wait are in the listening socket's queue before the port reads anything."""
    callers = [call(GET if number == 100 else b"") for number in range(900)]
    assert (await callers[100].receive()).startswith(b"HTTP/1.1 200")


HEAD = b"POST /v1/steps HTTP/1.1\r\nhost: x\r\nauthorization: Bearer word\r\n"
HALVES: dict[str, bytes] = {
    "no body": HEAD + b"content-length: 2\r\n\r\n",
    "half a body": HEAD + b"content-length: 20\r\n\r\n{",
    "half a chunk": HEAD + b"transfer-encoding: chunked\r\n\r\nff\r\n{",
    "half of a second head": GET + b"POST /v1/steps HT",
    "half of a second body": GET + HEAD + b"content-length: 20\r\n\r\n{",
}


@pytest.fixture
async def hasty(tmp_path: Path) -> AsyncIterator[ControlPort]:
    """A port with --body-wait 0.3."""
    port = ControlPort(
        make_app(Stage(tmp_path).conductor, "word", Health(dict, Sight())), "word", 0, 0.3
    )
    port.start()
    while not port._server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0)
    yield port
    await port.stop()


@pytest.mark.parametrize("sent", HALVES)
async def test_a_half_request_is_ended_though_it_has_the_token(
    hasty: ControlPort, sent: str
) -> None:
    caller = Caller(hasty, HALVES[sent])
    said = b""
    while part := await caller.receive():
        said += part
    assert b"HTTP/1.1 408 Request Timeout" in said
    caller.socket.close()


async def test_a_body_that_drips_has_an_end_too(hasty: ControlPort) -> None:
    caller = Caller(hasty, HEAD + b"content-length: 100000\r\n\r\n")
    ended = asyncio.create_task(caller.receive())
    async with asyncio.timeout(20):
        while not ended.done():
            with contextlib.suppress(OSError):
                caller.socket.send(b"x")
            await asyncio.sleep(0.05)
    assert b"408" in ended.result()
    caller.socket.close()


async def test_whole_requests_are_answered_on_one_connection_for_longer_than_that(
    hasty: ControlPort,
) -> None:
    caller = Caller(hasty)
    for _ in range(4):
        caller.socket.send(HEAD + b"content-length: 2\r\n\r\n{")
        await asyncio.sleep(0.1)  # fixed: a slow client, four times over the limit in all
        caller.socket.send(b"}")
        assert (await caller.receive()).startswith(b"HTTP/1.1 200")
    caller.socket.close()

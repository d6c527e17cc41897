"""A small answer that unpacks to gigabytes is refused before anything of it is unpacked."""

from __future__ import annotations

import gzip
import threading
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from milestoned_client import AsyncRewardClient, PeerUnreachableError, Retry, RewardClient

from agentd.core.plain_answers import HEADERS, HOOKS
from agentd.core.source import SourceLostError
from agentd.sources.cdp.transport.address import websocket_address
from agentd.uplink.http import Service
from api.audit.delivery import DeliveryError, ToUrl
from api.stages.peer import Peer, PeerSettings, RefusedError, UnreachableError

BOMB = gzip.compress(gzip.compress(bytes(256 << 20), 9), 9)
"""A quarter of a gigabyte, in some hundred bytes."""
MAX_BYTES = 16 << 20


class Handler(BaseHTTPRequestHandler):
    """Answers everything with the bomb; below /endless with a plain answer that does not end."""

    def do_GET(self) -> None:
        assert self.headers["accept-encoding"] == "identity"
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        if self.path.startswith("/endless"):
            self.end_headers()
            try:
                while True:
                    self.wfile.write(bytes(1 << 16))
            except OSError:
                return
        self.send_header("content-encoding", "gzip, gzip")
        self.send_header("content-length", str(len(BOMB)))
        self.end_headers()
        self.wfile.write(BOMB)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


async def judge(url: str) -> None:
    peer = Peer(PeerSettings(url, retries=0))
    try:
        with pytest.raises(UnreachableError, match="content-encoding"):
            await peer.post("/chat", {})
    finally:
        await peer.close()


async def judge_that_does_not_end(url: str) -> None:
    peer = Peer(PeerSettings(f"{url}/endless", retries=0))
    try:
        with pytest.raises(RefusedError):
            await peer.post("/chat", {})
    finally:
        await peer.close()


async def checkpoints(url: str) -> None:
    to = ToUrl(url)
    with pytest.raises(DeliveryError, match="content-encoding"):
        await to.send("note")
    await to.close()


async def browser(url: str) -> None:
    with pytest.raises(SourceLostError, match="content-encoding"):
        await websocket_address(url, None)


async def daemon(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, headers=HEADERS, event_hooks=HOOKS) as client:
        with pytest.raises(httpx.TransportError, match="content-encoding"):
            await Service(client, "ep_1", "token", "a file").get()


async def asynchronous_client(url: str) -> None:
    async with AsyncRewardClient(url, "token", retry=Retry(1, 0.0), deadline_s=2.0) as client:
        with pytest.raises(PeerUnreachableError, match="content-encoding"):
            await client.episode("ep_1").status()


async def synchronous_client(url: str) -> None:
    with (
        RewardClient(url, "token", retry=Retry(1, 0.0), deadline_s=2.0) as client,
        pytest.raises(PeerUnreachableError, match="content-encoding"),
    ):
        client.episode("ep_1").status()


ASKED: list[Callable[[str], Awaitable[None]]] = [
    judge,
    judge_that_does_not_end,
    checkpoints,
    browser,
    daemon,
    asynchronous_client,
    synchronous_client,
]


@pytest.mark.parametrize("ask", ASKED, ids=[one.__name__ for one in ASKED])
async def test_what_unpacks_to_much_is_refused(
    ask: Callable[[str], Awaitable[None]], url: str
) -> None:
    tracemalloc.start()
    try:
        await ask(url)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MAX_BYTES

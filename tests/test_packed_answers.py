"""A small answer that unpacks to gigabytes is refused before anything of it is unpacked."""

from __future__ import annotations

import ast
import gzip
import json
import os
import threading
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest
from milestoned_client import (
    AsyncRewardClient,
    ControlDir,
    NotReadyError,
    PeerUnreachableError,
    Retry,
    RewardClient,
)

from agentd.core.source import SourceLostError
from agentd.run.detached import _Child
from agentd.sources.cdp.transport.address import websocket_address
from agentd.sources.probes.answer import ProbeFailedError
from agentd.sources.probes.get import GetProbe
from agentd.uplink.http import Service
from api.audit.delivery import DeliveryError, ToUrl
from api.cli.main import main
from api.stages.peer import Peer, PeerSettings, RefusedError, UnreachableError
from common.plain_answers import ASYNC_HOOKS, HEADERS
from lab.demo.parts import _all_ready, _answers
from tests.test_layers import ROOT

MAX_BYTES = 16 << 20


@cache
def make_bomb() -> bytes:
    """Return a quarter of a gigabyte in some hundred bytes; it takes a second or two to pack."""
    return gzip.compress(gzip.compress(bytes(256 << 20), 9), 9)


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
        self.send_header("content-length", str(len(make_bomb())))
        self.end_headers()
        self.wfile.write(make_bomb())

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    make_bomb()
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
    async with httpx.AsyncClient(base_url=url, headers=HEADERS, event_hooks=ASYNC_HOOKS) as client:
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


def control_port(url: str, state: Path) -> None:
    """Make a daemon's state folder that names the port of ``url``."""
    where = {"pid": os.getpid(), "port": int(url.rpartition(":")[2])}
    (state / "agentd.json").write_text(json.dumps(where))
    (state / "control.token").write_text("token")


async def harness(url: str) -> None:
    with TemporaryDirectory() as state:
        control_port(url, Path(state))
        with pytest.raises(NotReadyError, match="no daemon listens"):
            ControlDir(Path(state)).wait_ready(0.1)


async def starter_of_a_daemon(url: str) -> None:
    with TemporaryDirectory() as state:
        control_port(url, Path(state))
        assert _Child(os.getpid(), Path(state), 0)._ask() is None


async def demo(url: str) -> None:
    with TemporaryDirectory() as state:
        control_port(url, Path(state))
        assert not _all_ready(Path(state))
    assert _answers(url) is None


def open_episode(url: str) -> int:
    """The exit code of `milestoned episode open`."""
    with TemporaryDirectory() as data:
        token = Path(data, "admin.token")
        token.write_text("token")
        options = ["--service", url, "--token-file", str(token), "--data", data]
        return main(["episode", "open", "shop", *options])


async def command_line(url: str) -> None:
    assert open_episode(url) == 1


async def probe(url: str) -> None:
    with pytest.raises(ProbeFailedError, match="content-encoding"):
        await GetProbe({"url": f"{url}/api"}, None).ask(2.0)


ASKED: list[Callable[[str], Awaitable[None]]] = [
    judge,
    judge_that_does_not_end,
    checkpoints,
    browser,
    daemon,
    asynchronous_client,
    synchronous_client,
    harness,
    starter_of_a_daemon,
    demo,
    command_line,
    probe,
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


PRODUCT = ("agentd", "api", "client/milestoned_client", "common", "detectors", "lab")
UNGUARDED = {"aiohttp", "http.client", "requests", "urllib.request", "urllib3"}
"""Clients that have no such guard."""
ASKS_NOBODY = {"getproxies", "proxy_bypass"}
"""What they have that is no client: the proxies that the environment names."""
SHORT = {"delete", "get", "head", "options", "patch", "post", "put", "request", "stream"}
"""Functions of httpx that make a client of their own."""
GUARDS = {"Client": "HOOKS", "AsyncClient": "ASYNC_HOOKS"}


def names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def unguarded(source: str) -> list[str]:
    """What a module asks over HTTP without refusing packed answers."""
    tree = ast.parse(source)
    found = []
    guarded = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and "HEADERS" in names_in(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    } | {"HEADERS"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name in UNGUARDED]
        elif isinstance(node, ast.ImportFrom):
            if {alias.name for alias in node.names} <= ASKS_NOBODY:
                continue
            names = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            if names & UNGUARDED or node.module == "httpx":
                found.append(f"from {node.module}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of, called = node.func.value, node.func.attr
            if not isinstance(of, ast.Name) or of.id != "httpx":
                continue
            given = {keyword.arg: names_in(keyword.value) for keyword in node.keywords}
            hooks = GUARDS.get(called)
            is_guarded = (
                hooks in given.get("event_hooks", ()) and given.get("headers", set()) & guarded
            )
            if called in SHORT or (hooks is not None and not is_guarded):
                found.append(f"httpx.{called}, line {node.lineno}")
    return found


def test_every_client_that_the_product_makes_refuses_packed_answers() -> None:
    modules = [path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")]
    sources = {str(path.relative_to(ROOT)): path.read_text() for path in modules}
    asked = {path for path, source in sources.items() if "Client(" in source and "httpx." in source}
    assert len(asked) >= 10, "where the clients are"
    assert {path: found for path in asked if (found := unguarded(sources[path]))} == {}
    rest = sources.keys() - asked
    assert {path: found for path in rest if (found := unguarded(sources[path]))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "httpx.get('http://a')",
        "httpx.post('http://a', headers=HEADERS)",
        "httpx.Client()",
        "httpx.Client(event_hooks=HOOKS)",
        "httpx.AsyncClient(headers=HEADERS, event_hooks=HOOKS)",
        "headers = {}; httpx.Client(headers=headers, event_hooks=HOOKS)",
        "from httpx import Client",
        "import urllib.request",
        "from urllib import request",
        "import aiohttp",
    ],
)
def test_a_client_without_the_guard_is_found(source: str) -> None:
    assert unguarded(source)

"""What `agentd mcp` adds to a tool call: the same server bare and behind the gateway, in turns, with
a daemon that keeps each step on its disk."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.measure import line, quantile
from tests.agentd.support.peer import Peer
from tests.agentd.support.process import ROOT, DaemonProcess

ROUNDS, WARM = 400, 30
THINK_S = 0.02
"""What an agent takes at the least between an answer and its next call, in seconds."""
Call = Callable[[int], None]
_WAYS = ("stdio", "streamable HTTP")
_PACES = {
    0: {THINK_S: f"calls {THINK_S * 1_000:g} ms apart", 0: "calls at once"},
    50: {THINK_S: f"{THINK_S * 1_000:g} ms apart, within the quiet"},
}
"""By the milliseconds of quiet that a step's seal waits for: how calls follow each other. Those within
the quiet of the step before wait for their own."""


def answer_of(message: dict[str, Any]) -> bytes:
    """Return what the server answers to a call of its one tool."""
    result = {"content": [{"type": "text", "text": "x" * 200}], "isError": False}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()


def serve_lines() -> None:
    """The server over standard input and output."""
    for request in sys.stdin.buffer:
        sys.stdout.buffer.write(answer_of(json.loads(request)) + b"\n")
        sys.stdout.buffer.flush()


async def _respond(request: Request) -> Response:
    return Response(answer_of(await request.json()), media_type="application/json")


def serve_http(port: int) -> None:
    """The server over HTTP."""
    app = Starlette(routes=[Route("/mcp", _respond, methods=["POST"])])
    uvicorn.run(app, port=port, log_level="error")


def _request(number: int) -> bytes:
    params = {"name": "click", "arguments": {"ref": f"e{number}"}}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


def _line_call(stack: ExitStack, *command: str) -> Call:
    """Start a server over standard input and output, and return what calls its tool."""
    server = stack.enter_context(
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
        )
    )
    stack.callback(server.terminate)

    def call(number: int) -> None:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(_request(number) + b"\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == number

    return call


def _http_call(stack: ExitStack, url: str) -> Call:
    client = stack.enter_context(httpx.Client(timeout=30))

    def call(number: int) -> None:
        headers = {"accept": "application/json, text/event-stream"}
        headers["content-type"] = "application/json"
        answer = client.post(url, content=_request(number), headers=headers)
        assert answer.json()["id"] == number

    return call


def _start_http(stack: ExitStack, state: Path) -> tuple[str, str]:
    """Start the server and the gateway before it, and return both addresses."""
    server, gateway = _free_port(), _free_port()
    url = f"http://127.0.0.1:{server}/mcp"
    commands = (
        (sys.executable, "-m", "benchmarks.mcp_gateway", str(server)),
        (sys.executable, "-m", "agentd", "mcp", "--state", str(state), "--listen",
         f"127.0.0.1:{gateway}", url),
    )  # fmt: skip
    for command in commands:
        process = stack.enter_context(
            subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        )
        stack.callback(process.terminate)
    addresses = (url, f"http://127.0.0.1:{gateway}/mcp")
    for address in addresses:
        _wait_listening(address)
    return addresses


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_listening(url: str) -> None:
    while True:
        try:
            httpx.get(url, timeout=1)
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return


def _interleave(pause_s: float, calls: dict[str, Call], first: int) -> dict[str, list[float]]:
    """Return the milliseconds of each way's calls, one of each a round."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for round in range(WARM + ROUNDS):
        for name, call in calls.items():
            time.sleep(pause_s)
            start = time.perf_counter()
            call(first + round)
            if round >= WARM:
                taken[name].append((time.perf_counter() - start) * 1_000)
    return taken


def _measure(state: Path, quiet_ms: int) -> None:
    with ExitStack() as stack:
        bare = (sys.executable, "-m", "benchmarks.mcp_gateway")
        through = (sys.executable, "-m", "agentd", "mcp", "--state", str(state), "--", *bare)
        bare_url, gateway_url = _start_http(stack, state)
        calls = (
            (_line_call(stack, *bare), _line_call(stack, *through)),
            (_http_call(stack, bare_url), _http_call(stack, gateway_url)),
        )
        first = 1
        for name, (alone, behind) in zip(_WAYS, calls, strict=True):
            for pause_s, pace in _PACES[quiet_ms].items():
                taken = _interleave(pause_s, {"bare": alone, "gateway": behind}, first)
                first += WARM + ROUNDS
                _print(f"{name}, {pace}", taken["bare"], taken["gateway"])


def _print(name: str, bare: list[float], gateway: list[float]) -> None:
    for share in (0.1, 0.5, 0.9):
        under, over = quantile(bare, share), quantile(gateway, share)
        wanted = "wanted: at most 2 ms" if share == 0.5 else ""
        figure = f"+{over - under:.2f} ms ({under:.2f} → {over:.2f})"
        line(f"{name}, p{share * 100:.0f}", figure, wanted)
    mean = statistics.fmean(gateway) - statistics.fmean(bare)
    line(f"{name}, mean", f"+{mean:.2f} ms")
    sys.stdout.flush()


async def _run() -> None:
    for quiet_ms in (0, 50):
        with tempfile.TemporaryDirectory() as folder:
            async with (
                Peer(quiet_ms=quiet_ms) as peer,
                DaemonProcess(peer.url, Path(folder)) as daemon,
            ):
                # Whoever calls is a process of its own: the service's work is none of a call.
                command = (sys.executable, "-m", "benchmarks.mcp_gateway", "measure")
                measuring = await asyncio.create_subprocess_exec(
                    *command, str(daemon.state), str(quiet_ms), cwd=ROOT
                )
                assert await measuring.wait() == 0
                steps = (await daemon.health())["step"] + 1
                calls = len(_PACES[quiet_ms]) * len(_WAYS) * (WARM + ROUNDS)
                line("calls that were steps", f"{steps} of {calls}")


def main() -> None:
    """Print the figures."""
    print("agentd mcp: a tool call bare and behind the gateway", flush=True)
    asyncio.run(_run())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["measure", state, quiet_ms]:
            _measure(Path(state), int(quiet_ms))
        case [port]:
            serve_http(int(port))
        case _:
            serve_lines()

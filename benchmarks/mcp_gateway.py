"""What `agentd mcp` adds to a tool call: the same server bare, behind an empty relay, and behind the
gateway, in turns, with a daemon that keeps each step on its disk."""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.figures import LOWER, NEITHER, Wanted, at_least, at_most
from benchmarks.measure import estimate_difference, estimate_median, single
from benchmarks.report import PartReport
from tests.agentd.support.peer import Peer
from tests.agentd.support.process import ROOT, DaemonProcess

ROUNDS, QUICK_ROUNDS = 300, 20
WARM, QUICK_WARM = 30, 3
THINK_S = 0.02
"""What an agent takes at the least between an answer and its next call, in seconds."""
SOON_S = 0.01
"""The same where the gateway's next call, the third from its last, is to come within the quiet."""
Call = Callable[[int], None]
_WAYS = ("stdio", "streamable HTTP")
_BEHIND = ("bare", "relay", "gateway")
_HERE = (sys.executable, "-m", "benchmarks.mcp_gateway")
WANTED = at_most(2)


class Setting(NamedTuple):
    """A daemon, and how calls follow each other. ``watches``: whether it watches a folder, which it
    asks for what happened before a step that follows soon; ``wanted``: of the median."""

    quiet_ms: int
    paces: Mapping[float, str]
    watches: bool = False
    wanted: Wanted = WANTED


_SETTINGS = (
    Setting(0, {THINK_S: f"calls {THINK_S * 1_000:g} ms apart", 0: "calls at once"}),
    Setting(50, {SOON_S: "within the quiet"}),
    Setting(50, {SOON_S: "within the quiet, a folder watched"}, True, NEITHER),
)


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


def relay_lines(command: Sequence[str]) -> None:
    """Pass what comes over standard input and output, and do nothing else."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    _relay({0: server.stdin.fileno(), server.stdout.fileno(): 1})
    server.terminate()


def relay_port(port: int, to: int) -> None:
    """Pass what comes over one connection after the other, and do nothing else."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        while True:
            client = listener.accept()[0]
            server = socket.create_connection(("127.0.0.1", to))
            with client, server:
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _relay({client.fileno(): server.fileno(), server.fileno(): client.fileno()})


def _relay(ways: Mapping[int, int]) -> None:
    while True:
        for end in select.select(list(ways), [], [])[0]:
            data = os.read(end, 65536)
            if not data:
                return
            os.write(ways[end], data)


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


def _start_http(stack: ExitStack, state: Path) -> list[str]:
    """Start the server, the relay and the gateway before it, and return their addresses."""
    server, relay, gateway = _free_port(), _free_port(), _free_port()
    url = f"http://127.0.0.1:{server}/mcp"
    commands = (
        (*_HERE, str(server)),
        (*_HERE, "relay", str(relay), str(server)),
        (sys.executable, "-m", "agentd", "mcp", "--state", str(state), "--listen",
         f"127.0.0.1:{gateway}", url),
    )  # fmt: skip
    for command in commands:
        process = stack.enter_context(
            subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        )
        stack.callback(process.terminate)
    addresses = [f"http://127.0.0.1:{port}/mcp" for port in (server, relay, gateway)]
    for address in addresses:
        _wait_listening(address)
    return addresses


def _free_port() -> int:
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


def _interleave(
    pause_s: float, calls: dict[str, Call], first: int, warm: int, rounds: int
) -> dict[str, list[float]]:
    """Return the milliseconds of each way's calls, one of each a round."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for round in range(warm + rounds):
        for name, call in calls.items():
            time.sleep(pause_s)
            start = time.perf_counter()
            call(first + round)
            if round >= warm:
                taken[name].append((time.perf_counter() - start) * 1_000)
    return taken


def _measure(report: PartReport, state: Path, setting: Setting) -> None:
    warm, rounds = _counts(report)
    with ExitStack() as stack:
        through = (sys.executable, "-m", "agentd", "mcp", "--state", str(state), "--", *_HERE)
        calls = (
            [_line_call(stack, *one) for one in (_HERE, (*_HERE, "relay", *_HERE), through)],
            [_http_call(stack, url) for url in _start_http(stack, state)],
        )
        first = 1
        for name, ways in zip(_WAYS, calls, strict=True):
            for pause_s, pace in setting.paces.items():
                behind = dict(zip(_BEHIND, ways, strict=True))
                taken = _interleave(pause_s, behind, first, warm, rounds)
                first += warm + rounds
                _report_times(report, f"{name}, {pace}", taken, setting.wanted)


def _counts(report: PartReport) -> tuple[int, int]:
    """Return how many rounds come before those that are timed, and how many these are."""
    return report.choose((WARM, ROUNDS), (QUICK_WARM, QUICK_ROUNDS))


def _report_times(
    report: PartReport, name: str, taken: Mapping[str, list[float]], wanted: Wanted
) -> None:
    bare, relay, gateway = (taken[way] for way in _BEHIND)
    reference = "the same server bare"
    report.add(f"{name}: bare", estimate_median(bare), "ms", NEITHER)
    for share in (0.1, 0.5, 0.9):
        added = estimate_difference(gateway, bare, share)
        row = f"{name}: the gateway adds, p{share * 100:.0f}"
        bound = wanted if share == 0.5 else LOWER
        report.add(row, added, "ms", bound, reference)
    floor = estimate_difference(relay, bare)
    report.add(f"{name}: an empty relay adds, p50", floor, "ms", NEITHER, reference)


async def _run(report: PartReport) -> None:
    for number, setting in enumerate(_SETTINGS):
        with tempfile.TemporaryDirectory() as folder:
            watched = ("--files", f"x={folder}/watched") if setting.watches else ()
            os.mkdir(f"{folder}/watched")
            async with (
                Peer(quiet_ms=setting.quiet_ms) as peer,
                DaemonProcess(peer.url, Path(folder), *watched) as daemon,
            ):
                await daemon.all_ready()
                # Whoever calls is a process of its own: the service's work is none of a call.
                file = Path(folder) / "figures.json"
                form = "quick" if report.is_quick else "full"
                command = (*_HERE, "measure", str(daemon.state), str(number), form, str(file))
                measuring = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
                assert await measuring.wait() == 0
                report.read_figures(file)
                steps = (await daemon.health())["step"] + 1
                calls = len(setting.paces) * len(_WAYS) * sum(_counts(report))
                row = f"{', '.join(setting.paces.values())}: share of calls that were steps"
                report.add(row, single(100 * steps / calls), "%", at_least(100))


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    report.head("agentd mcp: what it adds to a tool call")
    asyncio.run(_run(report))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["measure", state, number, form, file]:
            own = PartReport("mcp", is_quick=form == "quick")
            _measure(own, Path(state), _SETTINGS[int(number)])
            own.write_figures(Path(file))
        case ["relay", port, to] if port.isdigit():
            relay_port(int(port), int(to))
        case ["relay", *command]:
            relay_lines(command)
        case [port]:
            serve_http(int(port))
        case _:
            serve_lines()

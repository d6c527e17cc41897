"""What a tool call causes is never of the step before it, though the call waits for no daemon: real
processes, and a daemon that stands still at the worst moments."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from agentd.masking.masker import Masker
from agentd.mcp import control
from agentd.mcp.brackets import BEGIN_WAIT_S, RETURNED, CallBrackets
from agentd.mcp.messages import ToolRequest, ToolReturn
from detectors.engine.engine import Engine
from detectors.model.types import Event
from tests.agentd.mcp.test_stdio import SERVER, before, request, start
from tests.agentd.support.peer import Peer
from tests.agentd.support.process import DaemonProcess
from tests.support.logs import ruleset

WROTE = {"id": "wrote", "when": {"tool_returned": {"tool": "write"}}, "repeat": 9}
TOOLS = ruleset(WROTE, weights={"tool": 1})


class Beside:
    """A daemon that watches a folder, and a gateway before a server whose tool writes into it."""

    def __init__(self, folder: Path, peer: Peer, daemon: DaemonProcess) -> None:
        self.seen = folder / "seen"
        self.peer, self.daemon = peer, daemon
        self.gateway: asyncio.subprocess.Process | None = None
        self.count = 0

    async def call(self) -> None:
        """Call the tool, which writes a file of the call's number, and wait for its answer."""
        self.count += 1
        path = os.fspath(self.seen / f"{self.count}.txt")
        await self._talk(request(self.count, "write", path=path), b'"write"}]}}\n')

    async def rest(self) -> None:
        """Wait until the last step is sealed and the gateway knows."""
        await self.peer.until(lambda: len(self.peer.data("step.sealed")) == self.count)
        await self._talk(b"are you there?\n", b"heard: are you there?\n")

    async def _talk(self, raw: bytes, until: bytes) -> None:
        assert self.gateway is not None
        assert self.gateway.stdin is not None
        assert self.gateway.stdout is not None
        self.gateway.stdin.write(raw)
        async with asyncio.timeout(20):
            await self.gateway.stdout.readuntil(until)

    def signal(self, number: signal.Signals) -> None:
        assert self.daemon.process is not None
        self.daemon.process.send_signal(number)

    async def closed(self) -> list[Event]:
        """Everything in the service's log once the episode is over."""
        assert self.gateway is not None
        async with asyncio.timeout(30):
            await self.gateway.communicate(b"")
        await self.daemon.post("/v1/close", {"reason": "done"})
        await self.peer.until(lambda: "episode.closed" in self.peer.kinds)
        return self.peer.events


@contextlib.asynccontextmanager
async def watched(folder: Path, *, has_sources: bool = True) -> AsyncIterator[Beside]:
    (folder / "seen").mkdir()
    files = ("--files", f"x={folder / 'seen'}") if has_sources else ()
    async with Peer() as peer, DaemonProcess(peer.url, folder, *files) as daemon:
        await daemon.all_ready()
        beside = Beside(folder, peer, daemon)
        beside.gateway = await start(*before(daemon.state, *SERVER))
        try:
            yield beside
        finally:
            beside.signal(signal.SIGCONT)
            if beside.gateway.returncode is None:
                beside.gateway.kill()
                await beside.gateway.wait()


def written(events: Sequence[Event]) -> dict[str, str]:
    """In the step of which call's file each file was reported."""
    found: dict[str, str] = {}
    of = "none"
    for event in events:
        if event.kind == "step.began":
            of = Path(event.data["action"]["arguments"]["path"]).name
        elif event.kind == "file.created":
            found[Path(event.data["path"]).name] = of
    return found


async def test_a_call_passes_while_the_daemon_stands_still(tmp_path: Path) -> None:
    """Where the step before is sealed. The daemon finds the call's file and its line at the same
    time, and takes the line first."""
    loop = asyncio.get_running_loop()
    async with watched(tmp_path) as beside:
        await beside.call()
        for _ in range(3):
            await beside.rest()
            beside.signal(signal.SIGSTOP)
            began = loop.time()
            await beside.call()
            assert loop.time() - began < BEGIN_WAIT_S
            beside.signal(signal.SIGCONT)
        events = await beside.closed()
    names = [f"{number}.txt" for number in range(1, 5)]
    assert written(events) == dict(zip(names, names, strict=True))


async def test_calls_follow_each_other_while_a_daemon_without_sources_stands_still(
    tmp_path: Path,
) -> None:
    """There is nothing to wait for between two steps; each call and its answer are of its own."""
    loop = asyncio.get_running_loop()
    async with watched(tmp_path, has_sources=False) as beside:
        await beside.call()
        await beside.rest()
        beside.signal(signal.SIGSTOP)
        began = loop.time()
        for _ in range(8):
            await beside.call()
        assert loop.time() - began < BEGIN_WAIT_S
        beside.signal(signal.SIGCONT)
        events = await beside.closed()
    of_steps = ("step.began", "agent.tool_called", "agent.tool_returned", "step.ended")
    kinds = [event.kind for event in events if event.kind in of_steps]
    assert kinds == [*of_steps] * 9
    calls = [event.data["call"] for event in events if event.kind.startswith("agent.tool_")]
    assert calls[::2] == calls[1::2]
    assert len(set(calls)) == 9


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 3))])
async def test_a_file_is_of_the_step_whose_call_made_it(tmp_path: Path, seed: int) -> None:
    """Whenever the daemon stands still, and whether or not the step before is sealed."""
    dice = random.Random(seed)

    async def stop_now_and_then() -> None:
        while True:
            await asyncio.sleep(dice.uniform(0, 0.03))
            beside.signal(signal.SIGSTOP)
            await asyncio.sleep(dice.uniform(0, 0.03))
            beside.signal(signal.SIGCONT)

    async with watched(tmp_path) as beside:
        stopping = asyncio.create_task(stop_now_and_then())
        for _ in range(15):
            await beside.call()
            if dice.random() < 0.5:
                await beside.rest()
        stopping.cancel()
        beside.signal(signal.SIGCONT)
        events = await beside.closed()
    names = [f"{number}.txt" for number in range(1, 16)]
    assert written(events) == dict(zip(names, names, strict=True))


async def test_reports_end_though_a_full_connection_is_read_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a daemon that stands still has no room for is never sent: it is known to be lost within
    the bound, and the next call does not wait for it."""
    monkeypatch.setattr(control, "REQUEST_S", 0.5)
    async with Peer() as peer, DaemonProcess(peer.url, tmp_path) as daemon:
        await daemon.all_ready()
        port = control.DaemonPort(daemon.state)
        brackets = CallBrackets(port, Masker(), begin_wait_s=0.1)
        await brackets.begin("s", [ToolRequest("0", "write", {})])
        brackets.finish("s", ToolReturn("0", "ok", None))
        await brackets.settle()
        await peer.until(lambda: "step.sealed" in peer.kinds)
        assert daemon.process is not None
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            padded = {str(number): "x" * 60_000 for number in range(4)}
            await brackets.begin("s", [ToolRequest("1", "write", {})])
            brackets.finish("s", ToolReturn("1", padded, None))
            async with asyncio.timeout(10):
                await brackets.settle()
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        await brackets.begin("s", [ToolRequest("2", "write", {})])
        brackets.finish("s", ToolReturn("2", "ok", None))
        await brackets.drain()
        await port.close()
        await daemon.post("/v1/close", {"reason": "done"})
        await peer.until(lambda: "episode.closed" in peer.kinds)
        assert RETURNED in [gap.get("part") for gap in peer.data("gap.began")]


@pytest.mark.parametrize("has_sources", [True, False])
async def test_a_line_that_the_daemon_never_took_leaves_the_next_step_unknown(
    tmp_path: Path, has_sources: bool
) -> None:
    """The call has passed and the daemon was killed before it read of it: null, and not 0."""
    async with watched(tmp_path, has_sources=has_sources) as beside:
        await beside.call()
        await beside.rest()
        beside.signal(signal.SIGSTOP)
        await beside.call()
        await beside.daemon.kill()
        await beside.daemon.start()
        await beside.daemon.all_ready()
        await beside.call()
        events = await beside.closed()
    assert written(events).get("2.txt", "2.txt") == "2.txt", "nobody is paid for the file"
    parts = [
        event.data["part"] for event in events if event.kind == "gap.began" and "part" in event.data
    ]
    assert sorted(parts) == ["agent.tool_called", "agent.tool_returned"], "in either order"
    first, second = Engine(TOOLS, "E").feed(events).rewards[:2]
    assert first.reward is not None
    assert (second.reward, second.mask) == (None, True)

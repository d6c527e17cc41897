"""`agentd mcp` between the official SDK's client and others' servers, none of them changed: each
call is a step of a watched episode, and has its reward."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.processes import ROOT
from tests.support.chromium import Chromium, needs_chromium
from tests.support.npm_packages import npm_program
from tests.support.ports import free_port
from tests.support.stack import PATIENT, SEAL_S, Stack

pytest.importorskip("mcp", reason="the extra mcp is not installed")
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, CreateMessageResult, TextContent

pytestmark = pytest.mark.slow
AGENTD, MILESTONED = (ROOT / ".venv" / "bin" / name for name in ("agentd", "milestoned"))
EVERYTHING = ("@modelcontextprotocol/server-everything", "2026.8.31", "mcp-server-everything")


@dataclass(frozen=True)
class BrowserServer:
    """A server that drives a browser. ``button``: finds a button's reference in a snapshot."""

    package: tuple[str, str, str]
    options: Callable[[str], list[str]]
    navigate: str
    snapshot: str
    click: str
    button: str
    reference: str
    always: dict[str, Any]


PLAYWRIGHT = BrowserServer(
    ("@playwright/mcp", "0.0.83", "playwright-mcp"),
    lambda endpoint: ["--cdp-endpoint", endpoint],
    "browser_navigate",
    "browser_snapshot",
    "browser_click",
    r'button "{}".*?\[ref=(\w+)\]',
    "target",
    {},
)
DEVTOOLS = BrowserServer(
    ("chrome-devtools-mcp", "1.11.0", "chrome-devtools-mcp"),
    lambda endpoint: ["--browserUrl", endpoint, "--no-usage-statistics"],
    "navigate_page",
    "take_snapshot",
    "click",
    r'uid=(\w+) button "{}"',
    "uid",
    {"pageId": 1},
)
TASK = {
    "id": "shop/mcp",
    "version": "1",
    "instruction": "Put a lamp into the cart.",
    "weights": {"nav": 0.25, "ui": 0.5, "tool": 0.25},
    "settings": PATIENT,
    "milestones": [
        {"id": "page", "when": {"url_reached": {"url": "/products/lamp"}}},
        {"id": "add", "when": {"element_clicked": {"role": "button", "name": "Add to cart"}}},
    ],
}


def through(stack: Stack, *server: str) -> StdioServerParameters:
    """The server's command behind the gateway."""
    return StdioServerParameters(
        command=str(AGENTD),
        args=["mcp", "--state", str(stack.state), "--", *server],
        cwd=stack.folder,
    )


def text_of(result: CallToolResult) -> str:
    return "\n".join(getattr(block, "text", "") for block in result.content)


@needs_chromium
@pytest.mark.parametrize("server", [PLAYWRIGHT, DEVTOOLS], ids=lambda server: server.package[0])
async def test_a_browser_s_server_is_paid_call_by_call(
    tmp_path: Path, server: BrowserServer
) -> None:
    program = npm_program(*server.package)
    with Stack(tmp_path) as stack, Chromium() as browser:
        shop = stack.start_shop().rstrip("/")
        returned = {"tool": server.click, "ok": True}
        task: dict[str, Any] = {**TASK, "origin": shop}
        task["milestones"] = [
            *TASK["milestones"],  # type: ignore[misc]
            {"id": "tool", "when": {"tool_returned": returned}},
        ]
        stack.open(task)
        episode = stack.watch(("--cdp", browser.endpoint))
        command = through(stack, program, *server.options(browser.endpoint))
        async with asyncio.timeout(120), Client(stdio_client(command)) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert {server.navigate, server.snapshot, server.click} <= tools
            address = {"url": f"{shop}/products/lamp"}
            await client.call_tool(server.navigate, {**address, **server.always})
            seen = text_of(await client.call_tool(server.snapshot, server.always))
            found = re.search(server.button.format("Add to cart"), seen)
            assert found is not None, seen
            clicked = await client.call_tool(
                server.click, {server.reference: found[1], **server.always}
            )
            assert not clicked.is_error, text_of(clicked)
            wrong = await client.call_tool(
                server.click, {server.reference: "e999999", **server.always}
            )
            assert wrong.is_error
        rewards = [
            await asyncio.to_thread(episode.reward, step, wait_s=SEAL_S) for step in range(4)
        ]
        assert [reward.reward for reward in rewards] == [0.25, 0.0, 0.75, 0.0], rewards
        assert {milestone.id for milestone in rewards[2].milestones} == {"add", "tool"}
        (began,) = [one for one in episode.events(kind=["step.began"]) if one.data["step"] == 2]
        assert began.data["action"]["tool"] == server.click
        failed = [one.data for one in episode.events(kind=["agent.tool_returned"])][-1]
        assert (failed["ok"], bool(failed["error"])) == (False, True)


TOOLS: dict[str, Any] = {
    "id": "tools/called",
    "version": "1",
    "instruction": "Call them.",
    "weights": {"tool": 1.0},
    "settings": PATIENT,
    "milestones": [
        {"id": "sum", "when": {"tool_returned": {"tool": "get-sum", "ok": True}}},
        {"id": "time", "when": {"tool_returned": {"tool": "convert_time", "ok": True}}},
        {"id": "wrong", "when": {"tool_returned": {"tool": "convert_time", "ok": False}}},
    ],
}


async def test_a_server_of_pypi_is_paid_call_by_call(tmp_path: Path) -> None:
    """Of the protocol's newest version, which has no handshake."""
    program = ROOT / ".venv-mcp" / "bin" / "mcp-server-time"
    if not program.exists():
        pytest.skip(".venv-mcp is missing: `make test-all` makes it")
    times = {"source_timezone": "Europe/Berlin", "target_timezone": "Asia/Tokyo"}
    with Stack(tmp_path) as stack:
        stack.open(TOOLS)
        episode = stack.watch()
        async with (
            asyncio.timeout(120),
            Client(stdio_client(through(stack, str(program)))) as client,
        ):
            await client.call_tool("get_current_time", {"timezone": "Asia/Tokyo"})
            assert not (await client.call_tool("convert_time", {**times, "time": "16:30"})).is_error
            assert (await client.call_tool("convert_time", {**times, "time": "lunch"})).is_error
        rewards = [
            await asyncio.to_thread(episode.reward, step, wait_s=SEAL_S) for step in range(3)
        ]
    assert [[milestone.id for milestone in reward.milestones] for reward in rewards] == [
        *([], ["time"], ["wrong"])
    ]
    first, *others = rewards
    assert first.reward == 0.0
    assert all(reward.reward is not None and reward.reward > 0 for reward in others)


async def exercise(client: Client) -> list[Any]:
    """What a server with everything answers: progress, a request of its own, calls at once, errors."""
    progress: list[float] = []

    async def note(done: float, _total: float | None, _message: str | None) -> None:
        progress.append(done)

    tools = [tool.name for tool in (await client.list_tools()).tools]
    echoed = await client.call_tool("echo", {"message": "Zürich \U0001f9ed"})
    picture = await client.call_tool("get-tiny-image", {})
    long = {"duration": 0.4, "steps": 4}
    slow = await client.call_tool("trigger-long-running-operation", long, progress_callback=note)
    sums = await asyncio.gather(
        *(client.call_tool("get-sum", {"a": number, "b": 1}) for number in range(5))
    )
    asked = await client.call_tool("trigger-sampling-request", {"prompt": "hi", "maxTokens": 9})
    refused = await client.call_tool("get-sum", {"a": "x"})
    with contextlib.suppress(TimeoutError, Exception):
        long = {"duration": 30, "steps": 1}
        await client.call_tool("trigger-long-running-operation", long, read_timeout_seconds=0.3)
    results = [echoed, picture, slow, *sums, asked, refused]
    return [tools, progress, [result.model_dump(mode="json") for result in results]]


async def sample(*_about: object) -> CreateMessageResult:
    """What the client's model says when the server asks it."""
    content = TextContent(type="text", text="sampled")
    return CreateMessageResult(role="assistant", content=content, model="none")


@contextlib.contextmanager
def over_http(stack: Stack, program: str) -> Iterator[tuple[str, str]]:
    """The server's address, and the gateway's before it."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    command = [AGENTD, "mcp", "--state", stack.state, "--listen", "127.0.0.1:0", url]
    with (
        subprocess.Popen(
            [program, "streamableHttp"],
            env={**os.environ, "PORT": str(port)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as server,
        subprocess.Popen(command, stderr=subprocess.PIPE) as gateway,
    ):
        try:
            assert gateway.stderr is not None
            said = json.loads(gateway.stderr.readline())
            while True:
                with contextlib.suppress(httpx.TransportError):
                    httpx.get(url)
                    break
                time.sleep(0.01)
            yield url, said["url"]
        finally:
            gateway.terminate()
            server.terminate()
    assert gateway.returncode == 0


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_server_with_everything_is_the_same_behind_the_gateway(
    tmp_path: Path, transport: str
) -> None:
    """Progress, sampling that the server asks for, calls at once, errors, a call that the client
    gives up: as without the gateway. Calls at once are one step."""
    program = npm_program(*EVERYTHING)
    with Stack(tmp_path) as stack:
        stack.open(TOOLS)
        episode = stack.watch()
        with contextlib.ExitStack() as cleanup:
            bare: Any
            behind: Any
            if transport == "stdio":
                bare = stdio_client(StdioServerParameters(command=program, args=["stdio"]))
                behind = stdio_client(through(stack, program, "stdio"))
            else:
                bare, behind = cleanup.enter_context(over_http(stack, program))
            found = []
            for server in (bare, behind):
                async with (
                    asyncio.timeout(120),
                    Client(server, sampling_callback=sample) as client,  # type: ignore[arg-type]
                ):
                    found.append(await exercise(client))
        assert found[1] == found[0]
        assert found[0][1] == [1.0, 2.0, 3.0, 4.0]
        assert "sampled" in json.dumps(found[0])
        events = list(episode.events(kind=["step.began", "agent.tool_called"]))
        calls = [event.data["tool"] for event in events if event.kind == "agent.tool_called"]
        assert calls == [
            *("echo", "get-tiny-image", "trigger-long-running-operation", *["get-sum"] * 5),
            *("trigger-sampling-request", "get-sum", "trigger-long-running-operation"),
        ]
        last = [event.data for event in episode.events(kind=["agent.tool_returned"])][-1]
        assert (last["ok"], last["error"][:9]) == (False, "cancelled")
        sums = [await asyncio.to_thread(episode.reward, step, wait_s=SEAL_S) for step in range(4)]
        assert [milestone.id for milestone in sums[3].milestones] == ["sum"]


async def test_a_coding_agent_asks_about_an_episode(tmp_path: Path) -> None:
    """The command itself, by the SDK's client: why it is null, what came nearest."""
    with Stack(tmp_path) as stack:
        episode = stack.open(TOOLS)
        file = tmp_path / "token"
        file.write_text(stack.service.token)
        stack.watch()
        await asyncio.to_thread(episode.close)
        arguments = ["mcp", "--service", stack.service.url, "--token-file", str(file)]
        command = StdioServerParameters(command=str(MILESTONED), args=arguments)
        async with asyncio.timeout(60), Client(stdio_client(command)) as client:
            shown = await client.call_tool("show_episode", {"episode": episode.id})
            assert shown.structured_content["status"]["episode"] == episode.id
            near = await client.call_tool("what_came_nearest", {"episode": episode.id})
            assert [each["id"] for each in near.structured_content["milestones"]] == [
                *("sum", "time", "wrong")
            ]

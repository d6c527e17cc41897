"""`agentd mcp` between the official SDK's client and others' servers, none of them changed: each
call is a step of a watched episode, and has its reward."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult

from tests.api.processes import ROOT
from tests.support.chromium import Chromium, needs_chromium
from tests.support.npm_packages import npm_program
from tests.support.stack import PATIENT, SEAL_S, Stack

pytestmark = pytest.mark.slow
AGENTD = ROOT / ".venv" / "bin" / "agentd"


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

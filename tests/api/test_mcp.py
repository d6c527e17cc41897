"""The read surface by the SDK's own client: what it says of null, of another tenant, of a page's
words."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from api.mcp.reading import ServiceReader
from api.mcp.views import MAX_ANSWER, compare, shorten, step_row
from tests.api.service import ADMIN, TASK, Service
from tests.api.test_score import DEAD
from tests.api.test_tenants import tenant
from tests.support.logs import clicked, episode, went

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")
from api.mcp.server import make_server  # noqa: E402

PAID = [went("/cart"), clicked("Buy")]


@asynccontextmanager
async def asking(service: Service, token: str = ADMIN) -> AsyncIterator[Any]:
    """The SDK's client of the tools, which ask ``service`` as ``token``."""
    headers = {"authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(service.app)
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as http,
        mcp.Client(make_server(ServiceReader(http))) as client,
    ):
        yield client


async def ask(client: Any, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def told(service: Service, *said: Any, **more: Any) -> str:
    id, token = await service.open()
    await service.tell(id, token, *episode(*said, **more))
    return id


async def test_every_tool_only_reads(service: Service) -> None:
    async with asking(service) as client:
        tools = (await client.list_tools()).tools
    assert len(tools) == 8
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert all(tool.description for tool in tools)


async def test_why_a_step_is_null_and_what_came_nearest(service: Service) -> None:
    id = await told(service, [went("/shop"), DEAD], [clicked("Sell")])
    async with asking(service) as client:
        shown = await ask(client, "show_episode", episode=id)
        rows = {row["step"]: row for row in shown["steps"]}
        assert shown["status"]["total"] is None, "a total with an unknown step is none"
        assert rows[0]["reward"] is None
        assert "browser gone" in rows[0]["reason"]
        explained = await ask(client, "explain_step", episode=id, step=0)
        assert (explained["reward"]["reward"], explained["reward"]["mask"]) == (None, True)
        near = await ask(client, "what_came_nearest", episode=id)
        became = {each["id"]: " ".join(each["became"]) for each in near["milestones"]}
        assert "Sell" in became["buy"]
        assert near["total"] is None


async def test_two_episodes_beside_each_other(service: Service) -> None:
    good, bad = await told(service, *[[event] for event in PAID]), await told(service, [])
    async with asking(service) as client:
        compared = await ask(client, "compare_episodes", first=good, second=bad)
        listed = await ask(client, "list_episodes", task=TASK["id"], sort="best")
        read = await ask(client, "read_trajectory", episode=good, first=1, last=1)
        events = await ask(client, "read_events", episode=good, kind="element.clicked")
        tasks = await ask(client, "list_tasks")
    assert compared["same_rules"] is True
    assert compared["milestones_of_both"] == []
    assert [each["milestone"] for each in compared["milestones_of_first_only"]][:2] == [
        *("cart", "buy")
    ]
    assert compared["total_difference"] < 0
    assert [each["episode"] for each in listed["episodes"]] == [good, bad]
    assert [step["step"] for step in read["steps"]] == [1]
    assert [event["kind"] for event in events["events"]] == ["element.clicked"]
    assert [task["id"] for task in tasks["tasks"]] == [TASK["id"]]


async def test_a_token_sees_its_own_tenant(service: Service) -> None:
    """And what it may not see is an error with the service's words, for every tool of an episode."""
    id = await told(service, PAID)
    async with asking(service, await tenant(service, "other", "trainer")) as client:
        assert (await ask(client, "list_episodes"))["episodes"] == []
        for tool, arguments in (
            ("show_episode", {"episode": id}),
            ("explain_step", {"episode": id, "step": 0}),
            ("what_came_nearest", {"episode": id}),
            ("compare_episodes", {"first": id, "second": id}),
            ("read_trajectory", {"episode": id}),
            ("read_events", {"episode": id}),
            ("show_episode", {"episode": "../tasks?x="}),
        ):
            refused = await client.call_tool(tool, arguments)
            assert refused.is_error, tool
            assert "404" in refused.content[0].text
    async with asking(service, "mt_wrong") as client:
        refused = await client.call_tool("list_tasks", {})
        assert refused.is_error
        assert "401" in refused.content[0].text


async def test_a_service_that_is_not_there() -> None:
    async with (
        httpx.AsyncClient(base_url="http://127.0.0.1:9") as http,
        mcp.Client(make_server(ServiceReader(http))) as client,
    ):
        refused = await client.call_tool("list_tasks", {})
        assert refused.is_error
        assert "could not be asked" in refused.content[0].text


def test_an_answer_is_short_whatever_a_page_said() -> None:
    document = {"steps": [{"text": "x" * 100_000, "number": n} for n in range(1_000)]}
    shortened = shorten(document)
    assert len(json.dumps(shortened, ensure_ascii=False)) <= MAX_ANSWER
    assert shortened["steps"][0]["number"] == 0
    assert "more)" in shortened["steps"][-1]
    assert shorten({"a": [None, 0, True]}) == {"a": [None, 0, True]}


STATUS = {"episode": "e", "task": "t", "version": "1", "status": "closed", "labels": {}}
STATUS |= {"success": None, "digest": "d"}


def compared(first: float | None, second: float | None) -> Any:
    return compare(
        {"status": {**STATUS, "total": first}, "steps": []},
        {"status": {**STATUS, "total": second}, "steps": []},
    )["total_difference"]


def test_what_is_not_known_is_compared_with_nothing() -> None:
    assert compared(0.0, 0.5) == 0.5
    assert compared(None, 0.5) is None
    assert compared(0.0, None) is None
    running = step_row({"step": 3, "action": "click", "reward": None})
    assert (running["reward"], running["status"]) == (None, "running")

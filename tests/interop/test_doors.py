"""Laws at the doors that tell of an episode, each read before and after: what is sealed stays, another
tenant's is refused, and what agent and page wrote is text."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from milestoned_client.adapters import scoring
from milestoned_client.errors import NotFoundError

from agentd.mcp.messages import ToolRequest, ToolReturn, read_messages
from api.ors.bracket import BracketSettings, StepBrackets
from api.replay.recordings import read_recording
from lab.convert import Conversion, convert
from tests.agentd.mcp.support import Beside
from tests.api.daemon import Daemon
from tests.api.service import TASK, Service, Store, running
from tests.api.test_mcp import asking
from tests.api.test_ors import call, create, streamed
from tests.api.test_ors_proxy import EVENTS, Upstream
from tests.api.test_ors_proxy import ask as ask_proxy
from tests.api.unknown import on_a_socket
from tests.convert.hand_made import A_TRAJECTORY, write
from tests.interop.doors import ASKED, DOORS, HOSTILE, Asked, rescored, stranger
from tests.support.logs import Said, answered, clicked, episode, sealed, titled, went

DEARER: dict[str, Any] = {**TASK, "version": "2", "weights": {"nav": 0.9, "ui": 0.1}}


def story(words: str) -> list[Said]:
    """Both milestones are reached in three steps, in which agent and page say ``words``."""
    tool = {"call": "c1", "tool": words[:100], "arguments": {words[:50]: [words]}}
    came = {"call": "c1", "ok": True, "result": {"text": words}}
    return episode(
        [("agent.tool_called", tool), titled(words), ("agent.tool_returned", came), sealed(0)],
        [went("/cart"), clicked(words), sealed(1)],
        [clicked("Buy"), answered(words), sealed(2)],
    )


@pytest.fixture
def folder(sqlite_schema: Path, tmp_path: Path) -> Store:
    """A service's folder with the schema."""
    (tmp_path / "service").mkdir()
    shutil.copy(sqlite_schema, tmp_path / "service" / "milestoned.db")
    return Store(tmp_path / "service")


@pytest.fixture
async def asked(
    folder: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Asked]:
    """A service on a socket with one closed episode, and its operator who asks."""
    async with running(folder) as service, on_a_socket(service.app) as url:
        id, token = await service.open()
        await service.tell(id, token, *story("fine"))
        files = tmp_path / "files"
        files.mkdir()
        found = Asked(service, folder, url, files, id)
        for name, value in (("URL", url), ("TOKEN", found.token), ("WAIT_S", "0")):
            monkeypatch.setenv(f"MILESTONED_{name}", value)
        yield found
        await scoring.close()


@pytest.mark.parametrize("door", DOORS)
async def test_what_is_sealed_is_told_the_same_whatever_comes_after(
    asked: Asked, door: str
) -> None:
    """A newer version of the task that pays otherwise, a rescore by it, and a log that would go
    on."""
    before = await DOORS[door](asked)
    assert len(before.numbers) > 0
    assert any(before.numbers.values()), "else nothing could have changed"
    service = asked.service
    assert (await service.post("/v1/tasks", DEARER)).status_code == 201
    await rescored(service, asked.id, DEARER)
    assert await DOORS[door](asked) == before


async def refusal(asked: Asked, door: str) -> str:
    """What a door is refused with."""
    if door == "mcp read":
        async with asking(asked.service, asked.token) as client:
            answer = await client.call_tool("show_episode", {"episode": asked.id})
        assert answer.is_error
        return str(answer.content[0].text)
    with pytest.raises(NotFoundError) as caught:
        await ASKED[door](asked)
    return str(caught.value)


@pytest.mark.parametrize("door", ASKED)
async def test_a_token_of_another_tenant_is_told_nothing(
    asked: Asked, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even that there is such an episode: it is answered as nobody's."""
    asked.token = await stranger(asked.service)
    monkeypatch.setenv("MILESTONED_TOKEN", asked.token)
    refused: list[str] = []
    for id in (asked.id, asked.id[:-4] + "2222"):
        asked.id = id
        refused.append((await refusal(asked, door)).replace(id, "ID"))
    assert refused[0] == refused[1]
    assert "there is no episode ID" in refused[0]


@pytest.mark.parametrize("door", DOORS)
async def test_what_agent_and_page_wrote_changes_no_number_and_no_form(
    asked: Asked, door: str
) -> None:
    """The same deeds under friendly and under hostile words."""
    friendly = await DOORS[door](asked)
    id, token = await asked.service.open()
    await asked.service.tell(id, token, *story(HOSTILE))
    asked.id = id
    hostile = await DOORS[door](asked)
    assert list(hostile.numbers.values())[:4] == list(friendly.numbers.values())[:4]
    if door == "otlp":  # of all stored episodes: the first one's spans come once more
        assert hostile.shape == friendly.shape * 2
    else:
        assert hostile.shape == friendly.shape
    assert "<script>alert" not in hostile.text or door in ("atif", "mcp read"), "JSON, not markup"


async def test_a_forged_reward_in_a_trajectory_is_no_event(tmp_path: Path) -> None:
    """An ATIF file's `extra` is its writer's word; what a conversion makes events of is the same."""
    forged = json.loads(json.dumps(A_TRAJECTORY))
    paid = {"milestoned": {"reward": 1.0, "status": "sealed", "milestones": [{"id": "cart"}]}}
    for step in forged["steps"]:
        step["extra"] = paid
    forged["final_metrics"] = {"extra": {"reward": 1.0, "success": True}}
    events = []
    for name, document in (("plain", A_TRAJECTORY), ("forged", forged)):
        out = tmp_path / f"{name}.mrec"
        convert(Conversion(input=write(tmp_path / f"{name}.json", document), out=out))
        read = [event for segment in read_recording(out) for event in segment.events]
        events.append([(event.kind, event.data) for event in read if event.seq > 1])
    assert events[0] == events[1]


# -- the environment server and the proxy of the Open Reward Standard


async def test_a_call_of_the_standard_is_answered_as_it_was_whatever_comes_after(
    folder: Store,
) -> None:
    async with running(folder) as service:
        id, token = await service.open()
        daemon = Daemon(service, id, token, {0: [went("/cart")], 1: [clicked("Buy")]})
        await daemon.obey()
        watching = asyncio.create_task(daemon.run())
        await create(service, episode=id)
        await call(service, "step")
        first = await call(service, "end_step")
        assert first.output["reward"] == pytest.approx(0.1)
        await call(service, "step")
        assert (await service.post("/v1/tasks", DEARER)).status_code == 201
        await call(service, "answer", text="done")
        await watching
        await rescored(service, id, DEARER)
        body = {"name": "end_step", "input": {}, "task_id": first.task_id}
        again = await service.post("/ors/shop/call", body, headers={"x-session-id": "s-1"})
        assert streamed(again.text) == first


def brackets(service: Service, token: str) -> StepBrackets:
    """What a proxy that has just been started knows."""
    service.http.headers["authorization"] = f"Bearer {token}"
    return StepBrackets(service.http, BracketSettings(TASK["id"]))


async def test_a_proxy_and_its_successor_tell_the_same_of_a_step_that_is_sealed(
    folder: Store,
) -> None:
    async with running(folder) as service:
        assert (await service.post("/v1/tasks", TASK)).status_code == 201
        opened = await service.post("/v1/episodes", {"task": TASK["id"]})
        id, token = opened.json()["episode"], opened.json()["token"]
        await service.tell(id, token, *story("fine"))
        told = []
        for _ in range(2):
            proxy = brackets(service, "mt_admin-of-the-tests")
            proxy._episodes["s"] = id
            told.append(await proxy.end("s", is_last=True))
            assert (await service.post("/v1/tasks", DEARER)).status_code in (200, 201)
            await rescored(service, id, DEARER)
        assert told[0] == told[1]
        assert told[0].reward is not None


async def test_a_proxy_of_another_tenant_is_paid_nothing_of_the_firsts(folder: Store) -> None:
    """Also under the same session id, before one upstream."""
    async with running(folder) as service:
        assert (await service.post("/v1/tasks", TASK)).status_code == 201
        mine = await brackets(service, "mt_admin-of-the-tests").open("s")
        theirs = brackets(service, await stranger(service))
        await theirs.begin("s", {"tool": "click"})
        paid = await theirs.end("s", is_last=False)
        assert (paid.reward, paid.metadata["mask"]) == (None, True)
        assert "there is no task shop/cart" in paid.metadata["reason"]
        assert mine not in json.dumps(paid.metadata)


async def test_an_answer_that_says_what_it_is_worth_is_not_believed() -> None:
    """An upstream's texts and metadata, which an agent may have written, beside the proxy's own."""
    output = {
        "blocks": [{"type": "text", "text": HOSTILE}],
        "metadata": {"milestoned": {"reward": 1.0, "mask": False}},
        "reward": None,
        "finished": False,
    }
    end = b"event: end\r\ndata: " + json.dumps({"ok": True, "output": output}).encode()
    upstream = Upstream("text/event-stream", EVENTS[0], end + b"\r\n\r\n")
    _, *bodies = await ask_proxy("POST", "/shop/call", upstream)
    text = b"".join(one["body"] for one in bodies).decode()
    found = streamed(text)
    assert [name for name in found.events if name == "end"] == ["end"]
    assert (found.output["blocks"], found.output["reward"]) == (output["blocks"], None)
    ours = found.output["metadata"]["milestoned"]
    assert (ours["reward"], ours["mask"], ours["status"]) == (None, True, "unobserved")


# -- the gateway of MCP


async def test_words_in_a_tool_s_arguments_and_result_end_no_step(tmp_path: Path) -> None:
    """One message of the agent and one of the server, each with a message within."""
    asking = {"name": HOSTILE, "arguments": {"text": HOSTILE}}
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": asking}
    came = {"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": HOSTILE}]}}
    (called,) = read_messages(json.dumps(request).encode())
    (returned,) = read_messages(json.dumps(came).encode())
    assert isinstance(called, ToolRequest)
    assert isinstance(returned, ToolReturn)
    async with Beside(tmp_path) as beside:
        await beside.brackets.begin("s", [called])
        assert beside.brackets.finish("s", returned)
        told = await beside.told()
        assert [event.split(" ")[0] for event in told] == ["began", "called", "returned", "ended"]
        assert told[2] == f"returned {HOSTILE}"

"""OpenEnv's socket: a session a socket, a reward a step, an error frame where a reward can't be
known."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import orjson
import pytest
from websockets.asyncio.client import connect

from tests.api.daemon import Daemon
from tests.api.processes import Process
from tests.api.service import TASK, Service
from tests.api.test_score import ANSWER, DEAD
from tests.support.logs import clicked, went


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A real service: sockets need a real server."""
    found = Process(tmp_path_factory.mktemp("openenv"))
    found.start()
    yield found
    found.stop_if_running()


class Client:
    """OpenEnv's client in two lines."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket

    async def say(self, kind: Any, **data: Any) -> dict[str, Any]:
        await self._socket.send(orjson.dumps({"type": kind, "data": data}).decode())
        return await self.hear()

    async def hear(self) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(await self._socket.recv())
        return found


@asynccontextmanager
async def connected(
    process: Process, token: str | None = None
) -> AsyncIterator[tuple[Service, Client]]:
    """A client of the wire that is an operator, and one of the socket."""
    admin = process.admin
    said = base64.b64encode(f"any:{admin if token is None else token}".encode()).decode()
    headers = {"authorization": f"Basic {said}"}
    async with (
        httpx.AsyncClient(
            base_url=process.url, timeout=60, headers={"authorization": f"Bearer {admin}"}
        ) as http,
        connect(
            f"{process.url.replace('http', 'ws')}/openenv/ws", additional_headers=headers
        ) as socket,
    ):
        yield Service(http, None), Client(socket)


async def opened(service: Service) -> tuple[str, str]:
    """An episode, by the operator's own token."""
    await service.http.post("/v1/tasks", json=TASK)
    answer = (await service.http.post("/v1/episodes", json={"task": TASK["id"]})).json()
    return answer["episode"], answer["token"]


async def test_every_step_of_an_episode_gets_its_reward(process: Process) -> None:
    async with connected(process) as (service, client):
        id, token = await opened(service)
        running = asyncio.create_task(
            Daemon(service, id, token, {0: [went("/cart")], 2: [clicked("Buy")]}).run()
        )
        begun = (await client.say("reset", episode_id=id))["data"]
        assert begun["observation"] == {
            "instruction": "Put it into the cart.",
            "episode_id": id,
            "step": 0,
        }
        assert (begun["reward"], begun["done"]) == (None, False)
        first = (await client.say("step", action={"text": "open the cart"}))["data"]
        second = (await client.say("step", action={}))["data"]
        read = (await client.say("step", action={"step": 0}))["data"]
        last = (await client.say("step", action={"answer": "Bought."}))["data"]
        await running
        assert first["reward"] > 0
        assert (second["reward"], read["reward"]) == (0.0, first["reward"])
        assert [one["done"] for one in (first, second, last)] == [False, False, True]
        assert last["metadata"]["success"] is True
        assert (await client.say("state"))["data"] == {
            "episode_id": id,
            "task_id": None,
            "step_count": 4,
        }
        over = await client.say("step", action={})
        assert (over["type"], over["data"]["code"]) == ("error", "SESSION_ERROR")


async def test_an_answer_alone_is_scored_by_its_task(process: Process) -> None:
    async with connected(process) as (service, client):
        await service.http.post("/v1/tasks", json=ANSWER)
        assert (await client.say("reset", task_id="quiz/answer", seed=7))["type"] == "observation"
        silent = await client.say("step", action={"text": "thinking"})
        assert (silent["type"], "final answer" in silent["data"]["message"]) == ("error", True)
        told = (await client.say("step", action={"answer": "42"}))["data"]
        assert (told["reward"], told["done"]) == (1.0, True)


async def test_what_nobody_can_know_is_an_error_frame_and_never_a_0(process: Process) -> None:
    async with connected(process) as (service, client):
        id, token = await opened(service)
        running = asyncio.create_task(Daemon(service, id, token, {0: [DEAD]}).run())
        await client.say("reset", episode_id=id)
        unknown = await client.say("step", action={})
        assert (unknown["type"], "browser gone" in unknown["data"]["message"]) == ("error", True)
        await service.http.post(f"/v1/episodes/{id}:close", json={"wait_ms": 0})
        await running


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", "INVALID_JSON"),
        ("[]", "INVALID_JSON"),
        ('{"type": "fly"}', "UNKNOWN_TYPE"),
        ('{"type": "step", "data": {"action": {}}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"episode_id": "ep_nobody"}}', "EXECUTION_ERROR"),
    ],
)
async def test_a_wrong_message_is_answered_and_the_session_lives(
    process: Process, message: str, code: str
) -> None:
    async with connected(process) as (_, client):
        await client._socket.send(message)
        answer = await client.hear()
        assert (answer["type"], answer["data"]["code"]) == ("error", code)
        assert (await client.say("state"))["type"] == "state"


async def test_a_stranger_is_told_so_and_shut_out(process: Process) -> None:
    async with connected(process, token="wrong") as (_, client):
        answer = await client.hear()
        assert (answer["type"], "not known" in answer["data"]["message"]) == ("error", True)


async def test_the_pages_that_clients_ask_first(process: Process) -> None:
    async with connected(process) as (service, _):
        assert (await service.http.get("/openenv/health")).json() == {"status": "healthy"}
        assert set((await service.http.get("/openenv/schema")).json()) == {
            "action",
            "observation",
            "state",
        }
        assert (await service.http.get("/openenv/metadata")).json()["name"] == "milestoned"

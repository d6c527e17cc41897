"""What the proxy of the Open Reward Standard does when one of the two that it asks does not answer
(tests/trainers/test_ors.py has it between others' client and server)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from api.ors.bracket import BracketSettings, StepBrackets
from api.ors.proxy import OrsProxy
from tests.api.service import ADMIN, TASK, Service
from tests.support.logs import episode, sealed, went

NOBODY = "http://127.0.0.1:1"
RESULT = {"ok": True, "output": {"blocks": [], "metadata": None, "reward": None, "finished": False}}
EVENTS = [
    b"event: task_id\r\ndata: t\r\n\r\n",
    f"event: end\r\ndata: {json.dumps(RESULT)}\r\n\r\n".encode(),
]


class Upstream(httpx.AsyncBaseTransport):
    """Answers with these parts; None: the connection breaks there."""

    def __init__(self, kind: str, *parts: bytes | None) -> None:
        self._kind, self._parts = kind, parts

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": self._kind}, content=self._stream())

    async def _stream(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            if part is None:
                raise httpx.ReadError("broken")
            yield part


async def ask(method: str, path: str, transport: httpx.AsyncBaseTransport | None) -> list[Any]:
    """What the proxy sends, in front of an upstream and of a service that is not there."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b'{"name": "step", "input": {}}'}

    async def send(message: Any) -> None:
        sent.append(message)

    async with (
        httpx.AsyncClient(base_url=NOBODY, transport=transport) as upstream,
        httpx.AsyncClient(base_url=NOBODY) as service,
    ):
        proxy = OrsProxy(upstream, StepBrackets(service, BracketSettings("shop/cart")), "fill")
        headers = [(b"x-session-id", b"s")]
        scope = {"type": "http", "method": method, "path": path, "headers": headers}
        try:
            await proxy({**scope, "query_string": b""}, receive, send)
        except httpx.ReadError:
            sent.append("cut")
    return sent


async def test_an_upstream_that_is_not_there_is_a_502() -> None:
    for method, path in (("GET", "/shop/tools"), ("POST", "/shop/call")):
        start, body = await ask(method, path, None)
        assert start["status"] == 502
        assert "the upstream could not be asked" in json.loads(body["body"])["detail"]


async def test_half_an_answer_does_not_pass_for_a_whole_one() -> None:
    sent = await ask("GET", "/shop/tools", Upstream("application/json", b'{"tools"', None))
    assert [one["type"] for one in sent[:-1]] == ["http.response.start", "http.response.body"]
    assert sent[-1] == "cut"


@pytest.mark.parametrize("result", ["no JSON", "[" * 100_000, '{"output":' * 5_000, "{}"])
async def test_a_result_that_is_none_passes_as_it_is(result: str) -> None:
    """What a tool answers is the environment's, and may hold what the agent gave it."""
    end = f"event: end\r\ndata: {result}\r\n\r\n".encode()
    _, *bodies = await ask("POST", "/shop/call", Upstream("text/event-stream", EVENTS[0], end))
    told = [line for one in bodies for line in one["body"].decode().splitlines()]
    passed = "".join(line.removeprefix("data: ") for line in told if line.startswith("data: "))
    assert passed == f"t{result}"


async def test_a_call_whose_stream_breaks_ends_without_its_end() -> None:
    """So that the client comes back with the `task_id`."""
    _, *bodies = await ask("POST", "/shop/call", Upstream("text/event-stream", EVENTS[0], None))
    assert b"".join(one["body"] for one in bodies) == EVENTS[0]


async def test_a_service_that_is_not_there_fails_no_call() -> None:
    parts = [EVENTS[0], EVENTS[1]]
    _, *bodies = await ask("POST", "/shop/call", Upstream("text/event-stream", *parts))
    text = b"".join(one["body"] for one in bodies).decode()
    output = json.loads(text.split("event: end\r\ndata: ")[1])["output"]
    ours = output["metadata"]["milestoned"]
    assert (output["reward"], ours["mask"], ours["status"]) == (None, True, "unobserved")
    assert "milestoned could not be asked" in ours["reason"]


class Flaky(httpx.AsyncBaseTransport):
    """The service, which is out of reach for what begins a step while ``refuses`` is true;
    ``token``: that of the episode which was opened over it."""

    def __init__(self, service: Service) -> None:
        self._service = httpx.ASGITransport(service.app)
        self.refuses, self.token = False, ""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.refuses and request.url.path.endswith("/steps"):
            raise httpx.ConnectError("nobody listens")
        answer = await self._service.handle_async_request(request)
        await answer.aread()
        if request.method == "POST" and request.url.path == "/v1/episodes":
            self.token = answer.json()["token"]
        return answer


async def test_a_call_whose_step_could_not_begin_is_not_paid_the_step_before(
    service: Service,
) -> None:
    await service.post("/v1/tasks", TASK)
    transport = Flaky(service)
    headers = {"authorization": f"Bearer {ADMIN}"}
    async with httpx.AsyncClient(
        base_url="http://service.test", transport=transport, headers=headers
    ) as client:
        brackets = StepBrackets(client, BracketSettings(TASK["id"]))
        id = await brackets.open("s")
        log = episode([went("/cart")], close=False)
        closed = ("episode.closed", {"reason": "done"})
        await service.tell(id, transport.token, *log, sealed(0), closed)
        paid = await brackets.end("s", is_last=False)
        assert paid.metadata["status"] == "sealed"
        transport.refuses = True
        await brackets.begin("s", {"tool": "click"})
        unpaid = await brackets.end("s", is_last=False)
        assert (unpaid.reward, unpaid.metadata["mask"]) == (None, True)
        assert unpaid.metadata["reason"] == (
            "the step could not begin: milestoned could not be asked: nobody listens"
        )


@pytest.mark.parametrize("path", ["/call", "/shop/call/x"])
async def test_a_path_that_is_no_call_passes_as_it_is(path: str) -> None:
    """A bare `/call` is redirected by the upstream: it is no step."""
    sent = await ask("POST", path, Upstream("text/event-stream", EVENTS[1]))
    assert b"".join(one["body"] for one in sent[1:]) == EVENTS[1]

"""The loopback port, through its application: who may speak, and what is said to a wrong word."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentd.core.errors import UsageError
from agentd.core.problems import BODY_BYTES, BODY_DEPTH
from agentd.session.control_port import ControlPort, Health, control_token, make_app
from tests.agentd.support.sight import Sight
from tests.agentd.test_bounds import nested
from tests.agentd.test_steps import Stage


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = make_app(
        Stage(tmp_path).conductor, "word", Health(lambda: {"episode": "E", "through": 1}, Sight())
    )
    headers = {"authorization": "Bearer word"}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://port", headers=headers
    ) as client:
        yield client


async def test_the_words_of_a_harness(port: httpx.AsyncClient) -> None:
    """Every route answers with the step and the event's number."""
    for path, body, wanted in (
        ("/v1/steps", {"step": 0, "action": {"click": "x"}}, {"step": 0, "seq": 1}),
        ("/v1/steps", {"step": 0, "action": {"click": "x"}}, {"step": 0, "seq": 1}),
        (
            "/v1/tools:call",
            {"call": "c", "tool": "t", "arguments": {"a": 1}},
            {"step": 0, "seq": 2},
        ),
        ("/v1/tools:return", {"call": "c", "ok": True, "result": None}, {"step": 0, "seq": 3}),
        ("/v1/answers", {"text": "^.*$"}, {"step": 0, "seq": 4}),
        ("/v1/steps/0:end", {}, {"step": 0, "seq": 5}),
        ("/v1/steps/0:end?wait=seal", {}, {"step": 0, "seq": 5, "sealed": 6}),
        (
            "/v1/steps",
            {"action": {"tool": "t"}, "call": {"call": "d", "tool": "t"}},
            {"step": 1, "seq": 7},
        ),
        ("/v1/tools:call", {"call": "d", "tool": "t"}, {"step": 1, "seq": 8}),
        ("/v1/close", {"reason": "done", "truncated": True}, {"step": 1, "seq": 10}),
    ):
        response = await port.post(path, json=body)
        assert (response.status_code, response.json()) == (200, wanted), path
    assert (await port.get("/healthz")).json() == {"episode": "E", "through": 1}


WRONG: dict[str, tuple[str, Any, int, dict[str, Any]]] = {
    "a step left out": (
        "/v1/steps",
        {"step": 3},
        409,
        {"field": "step", "value": 3, "wanted": "0 (the next step)"},
    ),
    "a step that is no number": ("/v1/steps", {"step": "0"}, 422, {"field": "step", "value": "0"}),
    "a step that is a truth": ("/v1/steps", {"step": True}, 422, {"field": "step", "value": True}),
    "a field that nobody knows": ("/v1/steps", {"stpe": 0}, 422, {"field": "stpe"}),
    "a call that is none": ("/v1/steps", {"call": "c"}, 422, {"field": "call"}),
    "a call that begins a step, without its tool": (
        "/v1/steps",
        {"call": {"call": "c"}},
        422,
        {"field": "tool", "value": None},
    ),
    "an end before the beginning": ("/v1/steps/0:end", {}, 409, {"field": "step", "value": 0}),
    "a wait for nothing": ("/v1/steps/0:end?wait=tea", {}, 422, {"field": "wait", "value": "tea"}),
    "an answer without text": ("/v1/answers", {}, 422, {"field": "text", "value": None}),
    "an answer that is no text": (
        "/v1/answers",
        {"text": 42},
        422,
        {"field": "text", "wanted": "a string"},
    ),
    "a call without its id": ("/v1/tools:call", {"tool": "t"}, 422, {"field": "call"}),
    "a return without its outcome": (
        "/v1/tools:return",
        {"call": "c", "ok": "yes"},
        422,
        {"field": "ok"},
    ),
    "a cut that is no truth": (
        "/v1/close",
        {"truncated": "yes"},
        422,
        {"field": "truncated", "value": "yes"},
    ),
    "a list": ("/v1/steps", [1], 422, {"field": "body"}),
    "too deep": (
        "/v1/tools:call",
        {"call": "c", "tool": "t", "arguments": nested(BODY_DEPTH)},
        422,
        {"title": "Nested too deep"},
    ),
    "much too deep": (
        "/v1/tools:call",
        {"call": "c", "tool": "t", "arguments": nested(250)},
        422,
        {},
    ),
    "too much": ("/v1/answers", {"text": "x" * BODY_BYTES}, 413, {"wanted": BODY_BYTES}),
}


@pytest.mark.parametrize(("path", "body", "status", "members"), WRONG.values(), ids=WRONG)
async def test_a_wrong_word(
    port: httpx.AsyncClient, path: str, body: Any, status: int, members: dict[str, Any]
) -> None:
    """A problem document that names field, value and what was wanted."""
    response = await port.post(path, json=body)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert {"type", "title", "status", "detail"} <= problem.keys()
    assert members.items() <= problem.items()


async def test_what_grows_when_it_is_written(port: httpx.AsyncClient) -> None:
    """Four bytes of a number are journalled as eighteen: what the port reads, a segment holds for
    all that."""
    body = b'{"action":[' + b"1e15," * ((BODY_BYTES - 20) // 5) + b"1]}"
    assert len(body) > BODY_BYTES - 20
    assert (await port.post("/v1/steps", content=body)).status_code == 200


async def test_not_json(port: httpx.AsyncClient) -> None:
    """Half a body is refused with the parser's words."""
    assert (await port.post("/v1/steps", content=b"{")).status_code == 400


@pytest.mark.parametrize("given", ["Bearer other", "word", ""])
async def test_without_the_token(port: httpx.AsyncClient, given: str) -> None:
    """Nothing is said and nothing is told; the health check says only that there is a daemon."""
    headers = {"authorization": given}
    assert (await port.post("/v1/steps", json={}, headers=headers)).status_code == 401
    assert (await port.get("/healthz", headers=headers)).json() == {"status": "ok"}


async def test_answers_are_not_held_back(tmp_path: Path) -> None:
    """Nagle's delay is off on the port's connections: with it, each answer took 40 ms."""
    port = ControlPort(
        make_app(Stage(tmp_path).conductor, "word", Health(dict, Sight())), "word", 0
    )
    port.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", port.where)
    writer.write(b"GET /healthz HTTP/1.1\r\nhost: port\r\n\r\n")
    assert b"200" in await reader.readline()
    (connection,) = port._server.server_state.connections
    ours = connection.transport.get_extra_info("socket")
    assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    writer.close()
    await writer.wait_closed()
    await port.stop()


async def test_a_taken_port_is_a_wrong_option(tmp_path: Path) -> None:
    """The refusal names the option."""
    app = make_app(Stage(tmp_path).conductor, "word", Health(dict, Sight()))
    with socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1]
        with pytest.raises(UsageError, match=f"--port {number}"):
            ControlPort(app, "word", number)


def test_the_token_lies_there_for_its_owner_alone(tmp_path: Path) -> None:
    """Made once, mode 0600, the same after a restart."""
    token = control_token(tmp_path)
    assert len(token) >= 40
    assert control_token(tmp_path) == token
    assert stat.S_IMODE((tmp_path / "control.token").stat().st_mode) == 0o600


async def test_readiness_is_waited_for(tmp_path: Path) -> None:
    """The answer comes as soon as every source sees; until then it names those that do not, with
    the reason."""
    sight = Sight()
    app = make_app(Stage(tmp_path).conductor, "word", Health(dict, sight))
    headers = {"authorization": "Bearer word"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://port", headers=headers
    ) as client:
        assert (await client.get("/v1/ready")).json() == {
            "ready": True,
            "waiting": {},
            "lacking": [],
        }
        sight.tell(cdp="starting")
        said = (await client.get("/v1/ready?wait_ms=10")).json()
        assert said == {"ready": False, "waiting": {"cdp": "starting"}, "lacking": []}
        asked = asyncio.create_task(client.get("/v1/ready?wait_ms=30000"))
        sight.tell(files="starting")
        sight.tell()
        async with asyncio.timeout(20):
            assert (await asked).json()["ready"] is True
        assert (
            await client.get("/v1/ready", headers={"authorization": "Bearer other"})
        ).status_code == 401


@pytest.mark.parametrize(
    "wait", ["-1", "1.5", "60001", "x", "9" * 5_000, "٣", "%00", "%ed%a0%80", "1e3", "NaN", ""]
)
async def test_a_wait_that_is_none_is_refused(port: httpx.AsyncClient, wait: str) -> None:
    response = await port.get(f"/v1/ready?wait_ms={wait}")
    assert (response.status_code, response.json()["field"]) == (422, "wait_ms")


async def test_a_unix_socket_is_its_owner_s_alone(tmp_path: Path) -> None:
    """Whatever the process's umask is; a socket that a killed daemon left is replaced; it goes with
    the port."""
    path = tmp_path / "control.sock"
    app = make_app(Stage(tmp_path).conductor, "word", Health(lambda: {"known": True}, Sight()))
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    before = os.umask(0)
    try:
        port = ControlPort(app, "word", path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    port.start()
    headers = {"authorization": "Bearer word"}
    async with httpx.AsyncClient(
        transport=httpx.AsyncHTTPTransport(uds=str(path)), headers=headers
    ) as client:
        assert (await client.get("http://agentd/healthz")).json() == {"known": True}
        with pytest.raises(UsageError, match="another program listens there"):
            ControlPort(app, "word", path)
    await port.stop()
    assert not path.exists()


async def test_what_is_no_place_for_a_socket_is_a_wrong_option(tmp_path: Path) -> None:
    """A file that is there is not removed."""
    app = make_app(Stage(tmp_path).conductor, "word", Health(dict, Sight()))
    kept = tmp_path / "kept"
    kept.write_text("x")
    for path, why in (
        (kept, "there is something else"),
        (tmp_path / "none" / "a.sock", "No such file"),
        (tmp_path / ("x" * 110), "at most 107"),
    ):
        with pytest.raises(UsageError, match=why):
            ControlPort(app, "word", path)
    assert kept.read_text() == "x"

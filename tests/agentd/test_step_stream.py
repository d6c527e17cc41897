"""Steps over one connection: what each line is answered with, who gets such a connection, and that
nothing in a line is a fault of the daemon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentd.core.problems import BODY_BYTES
from agentd.session.control_port import ControlPort, Health, make_app
from agentd.session.step_stream import StepStream
from tests.agentd.support.sight import Sight
from tests.agentd.test_steps import Stage
from tests.support.hostile_values import IN_JSON

CALL = {"call": "c1", "tool": "go", "arguments": {}}
BACK = {"call": "c1", "ok": True, "result": {"text": "ok"}}


class Ends:
    """A stream without a socket: what is written, by line."""

    def __init__(self, stage: Stage) -> None:
        self.stream = StepStream(stage.conductor, set())
        self.written: asyncio.Queue[Any] = asyncio.Queue()
        self.stream._write = self.written.put_nowait  # type: ignore[assignment, method-assign]

    async def ask(self, raw: bytes) -> Any:
        self.stream.data_received(raw + b"\n")
        async with asyncio.timeout(10):
            return await self.written.get()

    async def say(self, **line: object) -> Any:
        return await self.ask(json.dumps(line).encode())


async def test_each_line_is_what_the_same_request_is(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    ends = Ends(stage)
    assert await ends.say(begin={"action": "a", "call": CALL}) == {"step": 0, "seq": 1}
    assert await ends.say(call={"call": "c2", "tool": "fly"}) == {"step": 0, "seq": 3}
    assert await ends.say(**{"return": {**BACK, "call": "c2"}}) == {"step": 0, "seq": 4}
    missed = await ends.say(missed=["agent.tool_returned"], reason="too long")
    assert (missed["step"], missed["seq"]) == (0, 6)
    assert (await ends.say(**{"return": BACK, "end": 0}))["seq"] == 8
    assert (await ends.say(end=0))["seq"] == 8, "said again"
    assert stage.kinds[:8] == [
        *("step.began", "agent.tool_called", "agent.tool_called", "agent.tool_returned"),
        *("gap.began", "gap.ended", "agent.tool_returned", "step.ended"),
    ]


REFUSED: dict[str, tuple[bytes, int, str]] = {
    "no JSON": (b"{", 400, "not JSON"),
    "no object": (b"[]", 422, "a JSON object"),
    "nothing": (b"{}", 422, "one of begin, call, return"),
    "an unknown member": (b'{"close": 1}', 422, "no such field"),
    "a call without a tool": (b'{"call": {"call": "c"}}', 422, "tool"),
    "a step that is none": (b'{"end": 7}', 409, "a step that has begun"),
    "another kind": (b'{"missed": ["step.ended"]}', 422, "agent.tool_called"),
    "too deep": (b'{"begin": {"action": ' + b"[" * 150 + b"]" * 150 + b"}}", 422, "nested"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_refused_is_named_and_the_next_line_is_taken(
    tmp_path: Path, case: str
) -> None:
    raw, status, says = REFUSED[case]
    ends = Ends(Stage(tmp_path))
    answer = await ends.ask(raw)
    assert answer["status"] == status
    assert says in answer["detail"]
    assert (await ends.say(begin={}))["step"] == 0


async def test_nothing_in_a_line_is_a_fault_of_the_daemon(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    ends = Ends(stage)
    lines: list[dict[str, Any]] = [
        {"begin": {"action": "@", "call": CALL}},
        {"begin": {"step": "@"}},
        {"call": {**CALL, "call": "@", "arguments": "@"}},
        {"return": {**BACK, "result": "@"}, "end": "@"},
        {"missed": "@", "reason": "@"},
        {"missed": ["@"]},
    ]
    for text in IN_JSON.values():
        for line in lines:
            raw = json.dumps(line).replace('"@"', text).encode(errors="surrogatepass")
            assert await ends.ask(raw.replace(b"\n", b" ")), raw[:100]
    for row in stage.recorder.journal.rows("steps"):
        json.dumps(row, ensure_ascii=False).encode()


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[ControlPort]:
    stage = Stage(tmp_path)
    app = make_app(stage.conductor, "word", Health(dict, Sight()))
    found = ControlPort(app, "word", 0, conductor=stage.conductor)
    found.start()
    yield found
    await found.stop()


async def upgraded(port: ControlPort, token: str, more: bytes = b"") -> tuple[bytes, Any, Any]:
    """The answer's first line, and the connection."""
    assert isinstance(port.where, int)
    reader, writer = await asyncio.open_connection("127.0.0.1", port.where)
    head = f"GET /v1/steps HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n"
    writer.write(head.encode() + b"connection: upgrade\r\nupgrade: agentd-steps/1\r\n\r\n" + more)
    head_lines = await reader.readuntil(b"\r\n\r\n")
    return head_lines.split(b"\r\n")[0], reader, writer


async def test_who_shows_the_token_gets_a_stream_and_nobody_else(port: ControlPort) -> None:
    async with asyncio.timeout(20):
        first, reader, writer = await upgraded(port, "word", b'{"begin": {}}\n{"end"')
        assert b" 101 " in first
        assert json.loads(await reader.readline())["step"] == 0
        writer.write(b": 0}\n")
        assert json.loads(await reader.readline())["step"] == 0
        refused, _, other = await upgraded(port, "another")
        assert b" 101 " not in refused
        writer.write(b"x" * (BODY_BYTES + 1))
        assert json.loads(await reader.readline())["status"] == 413
        assert await reader.read() == b"", "the connection is closed"
        for one in (writer, other):
            one.close()


async def test_a_port_that_stops_closes_its_streams(port: ControlPort) -> None:
    async with asyncio.timeout(20):
        _, reader, writer = await upgraded(port, "word")
        await port.stop()
        assert await reader.read() == b""
        writer.close()

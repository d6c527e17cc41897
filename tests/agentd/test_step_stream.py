"""Steps over one connection: what each line is answered with, who gets such a connection, and that
nothing in a line is a fault of the daemon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentd.core.problems import BODY_BYTES
from agentd.session.control_port import ControlPort, Health, make_app
from agentd.session.step_stream import StepStream, StepStreams
from tests.agentd.support.sight import Sight
from tests.agentd.test_steps import Stage
from tests.support.hostile_values import IN_JSON

CALL = {"call": "c1", "tool": "go", "arguments": {}}
BACK = {"call": "c1", "ok": True, "result": {"text": "ok"}}


UPGRADE_HEAD = (
    "GET /v1/steps HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n"
    "connection: upgrade\r\nupgrade: agentd-steps/2\r\n\r\n"
)


def in_lines(*lines: object) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


class Ends:
    """A stream without a socket: what is written, by line."""

    def __init__(self, stage: Stage) -> None:
        streams = StepStreams(stage.conductor)
        self.stream = StepStream(streams)
        streams.open.add(self.stream)
        self.written: asyncio.Queue[Any] = asyncio.Queue()
        self.clear: list[bool] = []
        """What was said between the answers read so far."""
        self.stream._write = self.written.put_nowait  # type: ignore[assignment, method-assign]

    async def ask(self, raw: bytes) -> Any:
        self.stream.data_received(raw + b"\n")
        async with asyncio.timeout(10):
            while "clear" in (answer := await self.written.get()):
                self.clear.append(answer["clear"])
        return answer

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
    async with asyncio.timeout(10):
        assert await stage.conductor.wait_sealed(0) == 9
    assert (await ends.say(begin={}))["step"] == 1
    assert ends.clear == [True], "of step 0, and no word of a step that began by its answer"
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
    writer.write(UPGRADE_HEAD.format(token).encode() + more)
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
        assert json.loads(await reader.readline()) == {"clear": True}
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


NEXT = {"begin": {"action": "b", "call": {**CALL, "call": "c2"}}}


HEAD = UPGRADE_HEAD.format("word").encode()
FIRST = {"begin": {"action": "a", "call": CALL}}


def started(folder: Path) -> tuple[Stage, ControlPort]:
    """A conductor, and its control port at the Unix socket ``folder / "port"``."""
    stage = Stage(folder)
    app = make_app(stage.conductor, "word", Health(dict, Sight()))
    port = ControlPort(app, "word", folder / "port", conductor=stage.conductor)
    port.start()
    return stage, port


@pytest.mark.parametrize("is_heard", [True, False], ids=["heard", "unheard"])
@pytest.mark.parametrize("line", [{**NEXT, "passes": True}, NEXT], ids=["passes", "waits"])
async def test_a_line_that_is_there_comes_before_what_happens_next(
    tmp_path: Path, line: dict[str, Any], is_heard: bool
) -> None:
    """Of a Unix socket, once the step before is sealed: no turn of the loop lies between."""
    stage, port = started(tmp_path)
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_unix_connection(tmp_path / "port")
        writer.write(HEAD + in_lines(FIRST, {"return": BACK, "end": 0}))
        while b"clear" not in (await reader.readline()):
            pass
        if not is_heard:
            writer.write(in_lines({"listen": False}))
            assert json.loads(await reader.readline()) == {"listen": False}
        writer.write(in_lines(line))
        stage.recorder.append("files", "file.created", {})
        assert stage.kinds[-3:] == ["step.began", "agent.tool_called", "file.created"]
        assert json.loads(await reader.readline())["step"] == 1
        writer.close()
        await port.stop()


async def test_who_is_not_listened_to_is_heard_when_another_rings(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    app = make_app(stage.conductor, "word", Health(dict, Sight()))
    port = ControlPort(app, "word", tmp_path / "port", conductor=stage.conductor)
    port.start()
    head = UPGRADE_HEAD.format("word").encode()
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_unix_connection(tmp_path / "port")
        writer.write(head + in_lines({"listen": False}))
        while b"listen" not in (await reader.readline()):
            pass
        _, bell = await asyncio.open_unix_connection(tmp_path / "port")
        writer.write(in_lines({"begin": {}}))
        bell.write(head + b"\n")
        assert json.loads(await reader.readline())["step"] == 0
        writer.write(in_lines({"end": 0}))
        bell.close()
        assert json.loads(await reader.readline())["step"] == 0, "also when the bell has gone"
        writer.close()
        await port.stop()


async def test_a_call_that_runs_before_the_step_before_is_complete_costs_that_its_rest(
    tmp_path: Path,
) -> None:
    """As where another begins a step in the same moment: nobody can tell any more whose it would be."""
    stage = Stage(tmp_path, quiet_ms=60_000, settle_ms=60_000)
    ends = Ends(stage)
    await ends.say(begin={"action": "a", "call": CALL})
    await ends.say(**{"return": BACK, "end": 0})
    assert (await ends.say(**NEXT, passes=True))["step"] == 1
    assert stage.kinds[-4:] == [
        *("events.dropped", "step.sealed", "step.began", "agent.tool_called"),
    ]


async def test_where_no_source_sees_a_step_is_over_with_its_end(tmp_path: Path) -> None:
    """Its quiet ends with the next step's beginning, and lines need no answer to those before."""
    stage = Stage(tmp_path, quiet_ms=60_000, settle_ms=60_000)
    stage.observing = False
    ends = Ends(stage)
    await ends.say(begin={"action": "a", "call": CALL})
    end: dict[str, Any] = {"return": BACK, "end": None}
    second = {"return": {**BACK, "call": "c2"}, "end": None}
    ends.stream.data_received(in_lines(end, {**NEXT, "passes": True}, second))
    assert stage.kinds == [
        *("step.began", "agent.tool_called", "agent.tool_returned", "step.ended", "step.sealed"),
        *("step.began", "agent.tool_called", "agent.tool_returned", "step.ended"),
    ]
    assert stage.why() == "next"
    written = [ends.written.get_nowait() for _ in range(ends.written.qsize())]
    assert [answer.get("clear", answer.get("step")) for answer in written] == ["ahead", 0, 1, 1]
    stage.observing = True
    stage.recorder.append("journal", "gap.ended", {"source": "files"})
    assert ends.written.get_nowait() == {"clear": False}, "from now on each step is to be sealed"


async def test_the_end_of_a_step_that_did_not_begin_is_of_no_other(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    ends = Ends(stage)
    await stage.sealed()
    end: dict[str, Any] = {"return": BACK, "end": None}
    assert (await ends.say(**end))["status"] == 422, "it never asked for one"
    await ends.say(begin={"action": "a", "call": CALL})
    assert (await ends.say(begin={"step": 9}))["status"] == 409
    assert (await ends.say(**end))["status"] == 422, "the last was refused"
    assert (await ends.say(end=None))["status"] == 422
    assert stage.kinds[-1] == "agent.tool_called"


async def close(stage: Stage, _: Any) -> None:
    await stage.conductor.close("done")


async def stop(_: Stage, port: Any) -> None:
    await port.stop()


@pytest.mark.parametrize("end", [close, stop])
async def test_what_was_written_is_taken_before_the_episode_or_the_daemon_ends(
    tmp_path: Path, end: Callable[[Stage, ControlPort], Awaitable[None]]
) -> None:
    """The daemon was not woken for it: an agent's last call came back just before."""
    stage, port = started(tmp_path)
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_unix_connection(tmp_path / "port")
        writer.write(HEAD + in_lines(FIRST, {"listen": False}))
        while b"listen" not in (await reader.readline()):
            pass
        writer.write(in_lines({"return": BACK, "end": None}))
        await end(stage, port)
        assert stage.kinds[2:4] == ["agent.tool_returned", "step.ended"]
        writer.close()
        await port.stop()


async def test_who_closes_tells_that_no_call_may_pass_any_more(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    ends = Ends(stage)
    await stage.sealed()
    await stage.conductor.close("done")
    assert (await ends.say(end=0))["status"] == 409
    assert ends.clear == [False, True, False], "step 0 began, was sealed, and is the last"


async def test_a_line_that_cannot_be_taken_costs_no_source_its_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the daemon's own closes the connection, and the event that came is numbered."""
    stage = Stage(tmp_path)
    app = make_app(stage.conductor, "word", Health(dict, Sight()))
    port = ControlPort(app, "word", tmp_path / "port", conductor=stage.conductor)
    port.start()
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_unix_connection(tmp_path / "port")
        writer.write(UPGRADE_HEAD.format("word").encode() + in_lines({"listen": False}))
        while b"listen" not in (await reader.readline()):
            pass

        def fail(*_: object) -> None:
            raise RuntimeError("a fault")

        monkeypatch.setattr(stage.conductor, "begin_at_once", fail)
        writer.write(in_lines({**NEXT, "passes": True}))
        assert stage.recorder.append("files", "file.created", {}) == 1
        assert await reader.read() == b"", "the connection is closed"
        writer.close()
        await port.stop()


async def test_a_stream_takes_lines_also_after_one_that_it_could_not_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path)
    ends = Ends(stage)

    def fail(*_: object) -> None:
        raise RuntimeError("a fault")

    with monkeypatch.context() as faulty:
        faulty.setattr(stage.conductor, "begin_at_once", fail)
        with pytest.raises(RuntimeError, match="a fault"):
            await ends.say(**NEXT, passes=True)
    assert not ends.stream._is_receiving
    assert (await ends.say(**NEXT, passes=True))["step"] == 0

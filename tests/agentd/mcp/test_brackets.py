"""Calls as steps, against a real control port: what is in the journal of whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentd.masking.masker import Masker
from agentd.mcp.brackets import CallBrackets
from agentd.mcp.control import MAX_AHEAD, BegunStep, DaemonPort, SentBegin
from agentd.mcp.messages import ToolRequest, ToolReturn
from agentd.session.control_port import announce
from agentd.session.step_controller import NotKeptError
from tests.agentd.mcp.support import Beside

CALL: dict[str, Any] = {"call": "c", "tool": "go", "arguments": {}}


def call(request: str, tool: str = "go", **more: Any) -> ToolRequest:
    return ToolRequest(request, tool, {}, **more)


def back(request: str, text: str = "ok", error: str | None = None) -> ToolReturn:
    return ToolReturn(request, {"text": text}, error)


async def one_after_the_other(brackets: CallBrackets) -> None:
    for request in "12":
        await brackets.begin("s", [call(request)])
        assert brackets.finish("s", back(request))


async def overlapping(brackets: CallBrackets) -> None:
    await brackets.begin("s", [call("1", "a")])
    await brackets.begin("s", [call("2", "b")])
    brackets.finish("s", back("1", "of a"))
    brackets.finish("s", back("2", "of b"))
    await brackets.begin("s", [call("3", "c")])
    brackets.finish("s", back("3", "of c"))


async def batch(brackets: CallBrackets) -> None:
    await brackets.begin("s", [call("1", "a"), call("2", "b")])
    brackets.finish("s", back("2", "of b"))
    brackets.finish("s", back("1", "of a"))


async def sessions_with_the_same_ids(brackets: CallBrackets) -> None:
    await brackets.begin("s", [call("1", "a")])
    await brackets.begin("t", [call("1", "b")])
    assert not brackets.finish("u", back("1"))
    brackets.finish("t", back("1", "of b"))
    brackets.finish("s", back("1", "of a"))


async def failing(brackets: CallBrackets) -> None:
    await brackets.begin("s", [call("1")])
    brackets.finish("s", back("1", error="no such element"))


async def cancelled(brackets: CallBrackets) -> None:
    await brackets.begin("s", [call("1")])
    brackets.cancel("s", "1", "too slow")
    assert not brackets.finish("s", back("1", "late")), "an answer that comes all the same"
    brackets.cancel("s", "7", "of nothing")


async def lost(brackets: CallBrackets) -> None:
    await brackets.begin("s", [call("1"), call("2")])
    brackets.lose("s", "gone", "2")
    brackets.lose("s", "the server ended")


async def unread(brackets: CallBrackets) -> None:
    await brackets.begin("s", [call("1")])
    brackets.lose_sight("s")
    assert not brackets.is_running()


async def with_input(brackets: CallBrackets) -> None:
    await brackets.begin("s", [call("1")])
    brackets.finish("s", ToolReturn("1", None, None, True, "state"))
    await brackets.begin("s", [call("2", is_continued=True, state="state")])
    brackets.finish("s", back("2"))


async def without_the_input(brackets: CallBrackets) -> None:
    await brackets.begin("s", [call("1", "a")])
    brackets.finish("s", ToolReturn("1", None, None, True))
    await brackets.begin("s", [call("2", "b")])
    brackets.finish("s", back("2"))


async def an_id_in_use(brackets: CallBrackets) -> None:
    await brackets.begin("s", [call("1", "a")])
    await brackets.begin("s", [call("1", "b")])
    brackets.finish("s", back("1"))


async def answered_elsewhere(brackets: CallBrackets) -> None:
    await brackets.begin("post", [call("1")])
    brackets.move("post", "stream")
    assert not brackets.finish("post", back("1"))
    assert brackets.finish("stream", back("1"))


STORIES: dict[Callable[[CallBrackets], Awaitable[None]], str] = {
    one_after_the_other: (
        "began 0, called go, returned ok, ended 0, began 1, called go, returned ok, ended 1"
    ),
    overlapping: (
        "began 0, called a, called b, returned of a, returned of b, ended 0, "
        "began 1, called c, returned of c, ended 1"
    ),
    batch: ("began 0, called a, called b, returned of b, returned of a, ended 0"),
    sessions_with_the_same_ids: (
        "began 0, called a, called b, returned of b, returned of a, ended 0"
    ),
    failing: ("began 0, called go, returned no such element, ended 0"),
    cancelled: ("began 0, called go, returned cancelled by the client: too slow, ended 0"),
    lost: ("began 0, called go, called go, returned gone, returned the server ended, ended 0"),
    unread: ("began 0, called go, missed returned, ended 0"),
    with_input: ("began 0, called go, returned ok, ended 0"),
    without_the_input: (
        "began 0, called a, returned no input was given, ended 0, "
        "began 1, called b, returned ok, ended 1"
    ),
    an_id_in_use: ("began 0, called a, missed called, missed returned, returned ok, ended 0"),
    answered_elsewhere: ("began 0, called go, returned ok, ended 0"),
}


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
async def test_the_journal_of(
    tmp_path: Path,
    story: Callable[[CallBrackets], Awaitable[None]],
) -> None:
    async with Beside(tmp_path) as beside:
        await story(beside.brackets)
        assert ", ".join(await beside.told()) == STORIES[story]


async def test_a_call_passes_at_once_where_no_daemon_listens_and_is_nothing(tmp_path: Path) -> None:
    """Nothing of it is reported later, so that no other step is paid for it; the next call is a
    step again."""
    async with Beside(tmp_path, begin_wait_s=60) as beside:
        await beside.brackets.begin("s", [call("1", "a")])
        beside.brackets.finish("s", back("1"))
        await beside.brackets.settle()
        await beside.stop()
        async with asyncio.timeout(10):
            await beside.brackets.begin("s", [call("2", "b")])
        await beside.start()
        beside.brackets.finish("s", back("2"))
        await beside.brackets.begin("s", [call("3", "c")])
        beside.brackets.finish("s", back("3"))
        events = await beside.told()
        assert [event for event in events if event.startswith("called")] == ["called a", "called c"]
        assert [event for event in events if event.startswith("began")] == ["began 0", "began 1"]


async def test_a_slow_daemon_holds_a_call_for_the_bound_and_no_longer(tmp_path: Path) -> None:
    """The step that was asked for comes late and is the call's; a call that could not even ask
    passes without one."""
    async with Beside(tmp_path, begin_wait_s=0.05, fence_s=0.6) as beside:
        loop = asyncio.get_running_loop()
        start = loop.time()
        await beside.brackets.begin("s", [call("1", "a")])
        await beside.brackets.begin("s", [call("2", "b")])
        assert loop.time() - start < 0.5
        beside.brackets.finish("s", back("1", "of a"))
        beside.brackets.finish("s", back("2", "of b"))
        assert await beside.told() == [
            *("began 0", "called a", "missed called", "missed returned"),
            *("returned of a", "ended 0"),
        ]


async def test_what_is_refused_is_no_step(tmp_path: Path) -> None:
    """As after the episode's end: calls go on, unreported."""
    async with Beside(tmp_path) as beside:
        await beside.stage.conductor.close("done")
        await beside.brackets.begin("s", [call("1")])
        assert beside.brackets.finish("s", back("1"))
        await beside.brackets.settle()
        beside.stage.journal.flush()
        assert beside.stage.kinds == ["episode.closed"]


async def test_a_call_that_outlives_its_episode_is_none_of_the_next(tmp_path: Path) -> None:
    """A fleet's daemon has a folder for each episode: the calls that ran as the first ended are
    reported to no other, and a new one begins its own step."""
    first = Beside(tmp_path / "episodes" / "one", episode="one")
    second = Beside(tmp_path / "episodes" / "two", episode="two")
    port = DaemonPort(tmp_path)
    brackets = CallBrackets(port, Masker(), begin_wait_s=5.0)
    async with first:
        await brackets.begin("s", [call("1", "a")])
    (first.folder / "agentd.json").unlink()
    async with second:
        await brackets.begin("s", [call("2", "b")])
        brackets.finish("s", back("1", "of a"))
        brackets.finish("s", back("2", "of b"))
        await brackets.settle()
        assert await second.told() == ["began 0", "called b", "returned of b", "ended 0"]
        assert await first.told() == ["began 0", "called a"]
        await brackets.drain()
        await port.close()


async def until_clear(port: DaemonPort) -> None:
    assert port._lines is not None
    async with asyncio.timeout(20):
        while not port._lines.is_clear:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def begin_at_the_seal(port: DaemonPort, beside: Beside) -> None:
    """Ask for the next step after the daemon has said "clear" and before the gateway can read it."""
    sent: list[SentBegin | None] = []

    def at_seal(source: str, kind: str) -> None:
        if kind == "step.sealed" and not sent:
            sent.append(port.send_begin({}, CALL))

    beside.stage.recorder.listen(at_seal)
    await port.end(BegunStep("E", 0))
    await beside.stage.conductor.wait_sealed(0)
    assert sent[0] is not None
    assert not sent[0].is_first
    assert (await port.begin({}, CALL, sent[0].answer)).number == 1


async def begin_without_having_asked(port: DaemonPort, beside: Beside) -> None:
    """As the calls of a batch do: the gateway knows "clear", and waits for the step's beginning."""
    await port.end(BegunStep("E", 0))
    await beside.stage.conductor.wait_sealed(0)
    await until_clear(port)
    assert (await port.begin({}, CALL)).number == 1


@pytest.mark.parametrize("begin", [begin_at_the_seal, begin_without_having_asked])
async def test_clear_is_said_of_the_step_before_one_that_is_asked_for(
    tmp_path: Path, begin: Callable[[DaemonPort, Beside], Awaitable[None]]
) -> None:
    """Else the next call passes though that step is not sealed, and its sources' work is lost."""
    async with Beside(tmp_path) as beside:
        await beside.port.begin({}, CALL)
        await begin(beside.port, beside)
        sent = beside.port.send_begin({}, {**CALL, "call": "c3"})
        assert sent is not None
        assert not sent.is_first


async def until_ahead(beside: Beside) -> None:
    """One step where no source sees, so that calls wait for nothing from now on."""
    beside.stage.observing = False
    await beside.brackets.begin("s", [call("1")])
    beside.brackets.finish("s", back("1"))
    await beside.brackets.settle()
    assert beside.port._lines is not None
    async with asyncio.timeout(20):
        while not beside.port._lines.is_ahead:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_calls_follow_each_other_without_an_answer_where_no_source_sees(
    tmp_path: Path,
) -> None:
    """As many as may be under way: the next one waits, and each is a step of its own."""
    async with Beside(tmp_path) as beside:
        await until_ahead(beside)
        for number in range(MAX_AHEAD // 2):
            beginning = beside.brackets.begin("s", [call(str(number))])
            with pytest.raises(StopIteration):
                beginning.send(None)  # it waits for nothing: no turn of the loop
            beside.brackets.finish("s", back(str(number)))
        async with asyncio.timeout(20):
            await beside.brackets.begin("s", [call("last")])
        beside.brackets.finish("s", back("last"))
        told = await beside.told()
    steps = range(MAX_AHEAD // 2 + 2)
    assert told == [
        event
        for step in steps
        for event in (f"began {step}", "called go", "returned ok", f"ended {step}")
    ]


def refuse(*_: object) -> None:
    raise NotKeptError("the disk is full")


async def test_a_call_whose_step_is_refused_after_it_has_passed_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came back before the refusal, which no other step is ended by."""
    async with Beside(tmp_path) as beside:
        await until_ahead(beside)
        with monkeypatch.context() as full:
            full.setattr(beside.stage.conductor, "begin_at_once", refuse)
            await beside.brackets.begin("s", [call("2", "lost")])
            beside.brackets.finish("s", back("2"))
            await beside.brackets.settle()
        await beside.brackets.begin("s", [call("3", "a")])
        beside.brackets.finish("s", back("3", "of a"))
        assert (await beside.told())[4:] == [
            *("missed called", "missed returned", "began 1", "called a", "returned of a", "ended 1")
        ]


async def test_a_call_beside_one_whose_step_is_refused_begins_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Beside(tmp_path) as beside:
        await until_ahead(beside)
        with monkeypatch.context() as full:
            full.setattr(beside.stage.conductor, "begin_at_once", refuse)
            await beside.brackets.begin("s", [call("2", "lost")])
            beginning = asyncio.create_task(beside.brackets.begin("s", [call("3", "a")]))
            assert beside.port._lines is not None
            await asyncio.wait(list(beside.port._lines._answers))
        await beginning
        beside.brackets.finish("s", back("2"))
        beside.brackets.finish("s", back("3", "of a"))
        assert (await beside.told())[4:] == [
            *("missed called", "missed returned", "began 1", "called a", "returned of a", "ended 1")
        ]


async def remove_socket(beside: Beside) -> None:
    (beside.folder / "steps.socket").unlink()


async def leave_file(beside: Beside) -> None:
    await remove_socket(beside)
    (beside.folder / "steps.socket").write_text("nobody listens here")


async def say_another_folder(beside: Beside) -> None:
    """As where the daemon runs in a container, and its state folder is mounted elsewhere there."""
    assert beside.control is not None
    where = beside.control.where
    announce(beside.folder, where, "E", Path("/var/lib/elsewhere/steps.socket"))


@pytest.mark.parametrize(
    ("prepare", "passes"),
    [(remove_socket, False), (leave_file, False), (say_another_folder, True)],
)
async def test_a_socket_that_is_not_there_costs_no_step(
    tmp_path: Path, prepare: Callable[[Beside], Awaitable[None]], passes: bool
) -> None:
    """The port is there, too; and the socket is looked for in the state folder that is given."""
    async with Beside(tmp_path) as beside:
        await prepare(beside)
        assert (await beside.port.begin({}, CALL)).number == 0
        await beside.port.end(BegunStep("E", 0))
        await beside.stage.conductor.wait_sealed(0)
        await until_clear(beside.port)
        sent = beside.port.send_begin({}, {**CALL, "call": "c2"})
        assert sent is not None
        assert sent.is_first is passes
        assert (await beside.port.begin({}, CALL, sent.answer)).number == 1

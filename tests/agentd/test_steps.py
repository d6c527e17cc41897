"""Steps: what may begin and end, what is only said twice, and when a step is sealed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentd.core.wire_limits import EVENT_BYTES, UnfitError
from agentd.journal.journal import Journal
from agentd.journal.recorder import Recorder
from agentd.session.settling import StepSealer
from agentd.session.step_controller import Conductor, NotKeptError
from agentd.session.step_state import StepError, Steps

REFUSED: dict[str, tuple[str, Callable[[Steps], object]]] = {
    "the first is not 0": ("", lambda steps: steps.begins(1)),
    "one is left out": ("b0 e0", lambda steps: steps.begins(2)),
    "one that is over": ("b0 e0 b1", lambda steps: steps.begins(0)),
    "end before any": ("", lambda steps: steps.ends(0)),
    "end of the one before": ("b0 e0 b1", lambda steps: steps.ends(0)),
    "end of one to come": ("b0", lambda steps: steps.ends(1)),
    "begin after the close": ("b0 e0 c", lambda steps: steps.begins(1)),
    "end after the close": ("b0 c", lambda steps: steps.ends(0)),
}


def told(story: str) -> Steps:
    """Steps after a story such as ``b0 e0 s0 b1 c``."""
    steps = Steps()
    kinds = {"b": "step.began", "e": "step.ended", "s": "step.sealed", "c": "episode.closed"}
    for seq, word in enumerate(story.split(), 1):
        data: dict[str, Any] = {"step": int(word[1:])} if word[1:] else {"reason": "r"}
        steps.note(seq, kinds[word[0]], data)
    return steps


@pytest.mark.parametrize(("story", "ask"), REFUSED.values(), ids=REFUSED)
def test_refused(story: str, ask: Callable[[Steps], object]) -> None:
    """The refusal says what was wanted."""
    with pytest.raises(StepError, match="wanted"):
        ask(told(story))


def test_said_again_is_no_new_step() -> None:
    """The current step begun or ended again is a repetition, not an error."""
    assert told("").begins(0)
    assert told("b0").begins(None), "a step need not be ended for the next one to begin"
    assert not told("b0").begins(0)
    assert told("b0").ends(0)
    assert not told("b0 e0").ends(0)
    assert not told("b0 e0 s0").ends(0)


def test_a_command_is_remembered_by_its_number() -> None:
    """The highest command in the journal is where the channel goes on."""
    steps = Steps()
    steps.note(1, "step.began", {"step": 0, "command": 4})
    steps.note(2, "step.ended", {"step": 0})
    assert steps.command == 4


class Stage:
    """A conductor over a real journal, and the sources that it asks: fences take ``fence_s``
    seconds and bring ``late``, work before a seal takes ``probe_s`` and brings an answer."""

    def __init__(
        self,
        folder: Path,
        quiet_ms: int = 0,
        settle_ms: int = 1000,
        fence_s: float = 0.0,
        **room: int,
    ) -> None:
        self.journal = Journal(folder / "j", "E", **room)
        self.recorder = Recorder(self.journal)
        self.fence_s = fence_s
        self.probe_s: float | None = None
        self.late: list[str] = []
        self.observing = True
        self.told_sealed: list[int] = []
        self.fenced_again: list[str] = []
        self.sealer = StepSealer(["file.created"], quiet_ms, settle_ms)
        self.conductor = Conductor(self.recorder, Steps(), self.sealer, self)

    async def fence(self) -> None:
        await asyncio.sleep(self.fence_s)
        while self.late:
            self.recorder.append("files", self.late.pop(0), {})

    async def fence_late(self) -> None:
        self.fenced_again.append(self.kinds[-1])

    async def see_again(self) -> None:
        """Nothing was restarted here."""

    async def before_first_step(self) -> None:
        """Nothing is recorded here."""

    async def before_seal(self, step: int | None, *, closing: bool = False) -> None:
        if self.probe_s is not None:
            await asyncio.sleep(self.probe_s)
            self.recorder.append(
                "probe", "probe.answered", {"step": step, "when": "close" if closing else "step"}
            )

    def lose_step_work(self) -> None:
        if self.observing:
            self.recorder.append("journal", "events.dropped", {"source": "probe", "count": 1})

    def after_seal(self, step: int) -> None:
        self.told_sealed.append(step)

    @property
    def kinds(self) -> list[str]:
        self.journal.flush()
        return [kind for _, kind, _ in self.journal.rows()]

    def why(self) -> str:
        """Why the last step was sealed."""
        self.journal.flush()
        why: str = [
            data["reason"] for _, kind, data in self.journal.rows() if kind == "step.sealed"
        ][-1]
        return why

    async def sealed(self) -> float:
        """End step 0 and wait for its seal; seconds that it took."""
        loop = asyncio.get_running_loop()
        await self.conductor.begin(0)
        before = loop.time()
        await self.conductor.end(0)
        async with asyncio.timeout(20):
            sealed = await self.conductor.wait_sealed(0)
        took = loop.time() - before
        # Not the journal's last: an event may come between the seal and who waits for it.
        self.journal.flush()
        seals = [seq for seq, kind, _ in self.journal.rows() if kind == "step.sealed"]
        assert seals == [sealed]
        return took


async def test_work_at_a_steps_end_comes_before_its_seal(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.probe_s = 0.01
    await stage.sealed()
    assert stage.kinds == ["step.began", "step.ended", "probe.answered", "step.sealed"]
    assert stage.told_sealed == [0]
    await stage.conductor.close("done")
    assert stage.kinds[4:] == ["probe.answered", "episode.closed"]


async def test_work_that_the_next_step_interrupts_is_done_before_that_begins(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path)
    await stage.conductor.begin(0)
    stage.probe_s = 30.0  # the first time; the seal that the next step makes does not wait so long
    await stage.conductor.end(0)
    assert stage.sealer.waiting
    await asyncio.sleep(0)  # the seal's own task begins its work
    stage.probe_s = 0.0
    await stage.conductor.begin(1)
    assert stage.kinds == [
        "step.began",
        "step.ended",
        "probe.answered",
        "step.sealed",
        "step.began",
    ]
    await stage.conductor.close("done")


async def test_a_step_that_the_next_one_waits_for_is_sealed_as_if_it_had_been_ended(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, quiet_ms=20)
    await stage.conductor.advance(0, "first")
    stage.late.append("file.created")
    said = await stage.conductor.advance(1, "second", command=7)
    assert stage.kinds == ["step.began", "step.ended", "file.created", "step.sealed", "step.began"]
    assert (stage.why(), said.step, said.seq) == ("quiet", 1, 5)
    assert await stage.conductor.advance(1, "second", command=7) == said, "again is no new step"
    assert stage.kinds[-1] == "step.began"


async def test_the_next_one_does_not_wait_for_a_seal_that_is_there(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    await stage.sealed()
    await stage.conductor.advance()
    assert stage.kinds == ["step.began", "step.ended", "step.sealed", "step.began"]


async def test_a_step_may_not_be_left_out_by_waiting(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    await stage.conductor.begin(0)
    with pytest.raises(StepError, match="wanted 1"):
        await stage.conductor.advance(2)
    assert stage.kinds == ["step.began"], "the step that runs goes on"


async def test_work_at_the_end_of_a_step_that_nobody_ended(tmp_path: Path) -> None:
    """The next step's beginning is its end."""
    stage = Stage(tmp_path)
    stage.probe_s = 0.0
    await stage.conductor.begin(0)
    await stage.conductor.begin(1)
    assert stage.kinds == ["step.began", "probe.answered", "step.began"]


async def test_what_was_under_way_is_journalled_before_the_seal(tmp_path: Path) -> None:
    """The fence brings late observations into the step, and with no quiet wanted the seal follows
    at once."""
    stage = Stage(tmp_path)
    await stage.conductor.begin(0)
    stage.late.append("file.created")
    await stage.conductor.end(0)
    await stage.conductor.wait_sealed(0)
    assert stage.kinds == ["step.began", "step.ended", "file.created", "step.sealed"]
    assert stage.why() == "quiet"


async def test_a_seal_waits_for_quiet(tmp_path: Path) -> None:
    """Each event prolongs the wait: events over a longer time than ``quiet_ms`` stand before the
    seal, which comes ``quiet_ms`` after the last."""
    stage = Stage(tmp_path, quiet_ms=300)
    loop = asyncio.get_running_loop()
    await stage.conductor.begin(0)
    await stage.conductor.end(0)
    first = last = loop.time()
    count = 0
    while last - first < 0.4:
        stage.recorder.append("files", "file.created", {})
        last = loop.time()
        count += 1
        await asyncio.sleep(0.02)
    await stage.conductor.wait_sealed(0)
    assert loop.time() - last >= 0.3
    assert stage.kinds[-count - 1 :] == ["file.created"] * count + ["step.sealed"]


async def test_a_seal_does_not_wait_for_ever(tmp_path: Path) -> None:
    """Where it never gets quiet, settle_ms ends the wait and says so."""
    stage = Stage(tmp_path, quiet_ms=1000, settle_ms=1200)

    async def disturb() -> None:
        while True:
            stage.recorder.append("files", "file.created", {})
            await asyncio.sleep(0.02)

    disturber = asyncio.create_task(disturb())
    assert await stage.sealed() >= 1.2
    disturber.cancel()
    assert stage.why() == "settle_ms"


async def test_the_next_step_seals_the_one_before(tmp_path: Path) -> None:
    """A step that still settles is fenced and sealed at once when the next one begins."""
    stage = Stage(tmp_path, quiet_ms=5000, settle_ms=5000)
    await stage.conductor.begin(0)
    await stage.conductor.end(0)
    stage.late.append("file.created")
    assert (await stage.conductor.begin()).step == 1
    assert stage.kinds[-3:] == ["file.created", "step.sealed", "step.began"]
    assert stage.why() == "next"
    assert not stage.sealer.waiting


async def test_a_step_begun_without_an_end_of_the_one_before(tmp_path: Path) -> None:
    """The boundary itself is enough: the sources are fenced, nothing is made up."""
    stage = Stage(tmp_path)
    await stage.conductor.begin()
    stage.late.append("file.created")
    await stage.conductor.begin()
    assert stage.kinds == ["step.began", "file.created", "step.began"]


async def test_close_ends_the_open_step_and_nothing_follows(tmp_path: Path) -> None:
    """What the fence brings belongs to the last step; what comes after the close is not
    journalled."""
    stage = Stage(tmp_path, quiet_ms=5000)
    await stage.conductor.begin(0)
    stage.late.append("file.created")
    said = await stage.conductor.close("done")
    assert stage.recorder.append("files", "file.created", {}) is None
    assert stage.kinds == ["step.began", "step.ended", "file.created", "episode.closed"]
    assert await stage.conductor.close("again") == said
    with pytest.raises(StepError, match="closed"):
        await stage.conductor.begin(1)


async def test_words_said_twice_have_one_number(tmp_path: Path) -> None:
    """Begin, end and tool calls repeated give the first one's number."""
    stage = Stage(tmp_path)
    conductor = stage.conductor
    assert await conductor.begin(0, {"a": 1}) == await conductor.begin(0, {"a": 1})
    assert await conductor.say(
        "agent.tool_called", {"call": "c", "tool": "t", "arguments": {}}
    ) == (await conductor.say("agent.tool_called", {"call": "c", "tool": "t", "arguments": {}}))
    assert await conductor.end(0) == await conductor.end(0)
    assert stage.kinds[:3] == ["step.began", "agent.tool_called", "step.ended"]


async def test_boundaries_asked_for_at_once_are_put_in_order(tmp_path: Path) -> None:
    """Ten next steps asked for together are ten steps, each with its number."""
    stage = Stage(tmp_path, fence_s=0.001)
    said = await asyncio.gather(*(stage.conductor.begin() for _ in range(10)))
    assert [one.step for one in said] == list(range(10))
    assert [one.seq for one in said] == list(range(1, 11))


async def test_a_step_that_the_journal_cannot_take_has_not_begun(tmp_path: Path) -> None:
    """A full journal refuses the word, and the machine does not move."""
    stage = Stage(tmp_path)
    stage.journal.full = "no room"
    with pytest.raises(NotKeptError, match="no room"):
        await stage.conductor.begin(0)
    assert stage.conductor.steps.current is None
    stage.recorder.flush()
    assert (await stage.conductor.begin(0)).step == 0


def full_disk(stage: Stage) -> None:
    """SQLite's own "database or disk is full", from the next commit on."""
    stage.journal.store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    stage.journal.store.limit_pages(stage.journal.store.pages())
    while stage.journal.flush():
        stage.recorder.append("cdp", "page.title_changed", {"title": "x" * 5_000})
    stage.journal.full = (
        None  # nobody has noticed yet: the next word is the first that the disk refuses
    )


async def test_a_disk_that_fills_at_a_steps_end(tmp_path: Path) -> None:
    """The harness hears that it is not kept; the step has ended for all that, and seals when there
    is room."""
    stage = Stage(tmp_path)
    await stage.conductor.begin(0)
    full_disk(stage)
    with pytest.raises(NotKeptError):
        await stage.conductor.end(0)
    with pytest.raises(NotKeptError):
        await stage.conductor.end(0)  # said again while it is full: still not on disk
    stage.journal.store.limit_pages(0)
    async with asyncio.timeout(20):
        assert await stage.conductor.wait_sealed(0)
    assert (await stage.conductor.end(0)).seq == stage.conductor.steps.seq_of("step.ended")
    kinds = stage.kinds
    assert (kinds.count("step.ended"), kinds.count("step.sealed")) == (1, 1)


async def test_a_disk_that_fills_at_the_close(tmp_path: Path) -> None:
    """Whoever waits for the close is told once the event is numbered, whether the harness says it
    again or not."""
    stage = Stage(tmp_path)
    await stage.conductor.begin(0)
    await stage.conductor.end(0)
    await stage.conductor.wait_sealed(0)
    full_disk(stage)
    with pytest.raises(NotKeptError):
        await stage.conductor.close("done")
    assert stage.conductor.closed.is_set()
    with pytest.raises(NotKeptError):
        await stage.conductor.close("done")
    stage.journal.store.limit_pages(0)
    said = await stage.conductor.close("done")
    assert stage.kinds[-1] == "episode.closed"
    assert said.seq == stage.journal.last


async def test_a_seal_that_finds_no_room_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody waits for the reward, and nobody else would say it again."""
    stage = Stage(tmp_path, quiet_ms=50)
    await stage.conductor.begin(0)
    await stage.conductor.end(0)
    stage.journal.full = "no room"
    tried, append = asyncio.Event(), stage.recorder.append

    def noted(source: str, kind: str, data: dict[str, Any]) -> int | None:
        if kind == "step.sealed":
            tried.set()
        return append(source, kind, data)

    monkeypatch.setattr(stage.recorder, "append", noted)
    async with asyncio.timeout(20):
        await tried.wait()
    assert "step.sealed" not in [kind for _, kind, _ in stage.journal.rows()]
    stage.recorder.flush()
    async with asyncio.timeout(20):
        assert await stage.conductor.wait_sealed(0)


async def test_a_source_that_overstays_between_a_refused_seal_and_the_next_step_is_fenced_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work before the seal was done when the journal refused it; the next step's fence comes
    after that, and what overstays it belongs to the step that is sealed then."""
    stage = Stage(tmp_path, quiet_ms=50)
    await stage.conductor.begin(0)
    await stage.conductor.end(0)
    stage.journal.full = "no room"
    tried, append = asyncio.Event(), stage.recorder.append

    def noted(source: str, kind: str, data: dict[str, Any]) -> int | None:
        if kind == "step.sealed":
            tried.set()
        return append(source, kind, data)

    monkeypatch.setattr(stage.recorder, "append", noted)
    async with asyncio.timeout(20):
        await tried.wait()
        assert stage.fenced_again == []
        stage.recorder.flush()
        await stage.conductor.begin(1)
    sealed = stage.kinds.index("step.sealed")
    assert len(stage.fenced_again) == 1
    assert stage.fenced_again[0] == stage.kinds[sealed - 1], "before the seal"


async def test_what_no_segment_could_hold_is_no_word(tmp_path: Path) -> None:
    """An action from a harness in the same process has passed no port: it is refused, and no step
    begins."""
    stage = Stage(tmp_path)
    with pytest.raises(UnfitError, match="longer than"):
        await stage.conductor.begin(0, "x" * EVENT_BYTES)
    assert stage.conductor.steps.current is None
    await stage.conductor.begin(0, "x")
    assert stage.kinds == ["step.began"]


async def test_a_seal_is_awaited_again_after_a_restart(tmp_path: Path) -> None:
    """A daemon killed between a step's end and its seal seals it when it is back."""
    stage = Stage(tmp_path, quiet_ms=5000)
    await stage.conductor.begin(0)
    await stage.conductor.end(0)
    stage.sealer.stop()
    stage.recorder.close()
    again = Stage(tmp_path)
    for seq, kind, data in again.journal.rows("steps"):
        again.conductor.steps.note(seq, kind, data)
    await again.conductor.resume()
    async with asyncio.timeout(20):
        assert await again.conductor.wait_sealed(0) == 3
    assert again.why() == "quiet"


CALL: dict[str, Any] = {"call": "c", "tool": "go", "arguments": {}}


class Overtaken(Stage):
    """Where a tool call runs already while the sources do their last work of step 0."""

    async def before_seal(self, step: int | None, *, closing: bool = False) -> None:
        if step == 0:
            self.conductor.begin_at_once(None, CALL)
        await super().before_seal(step, closing=closing)


async def test_a_step_that_began_at_once_is_finished_before_the_next_one(tmp_path: Path) -> None:
    """Whoever waited for the end of step 0 begins step 2, after the sources' work for step 1."""
    stage = Overtaken(tmp_path)
    stage.probe_s = 0.0
    await stage.conductor.begin()
    assert (await stage.conductor.begin()).step == 2
    stage.journal.flush()
    assert [(kind, data.get("step")) for _, kind, data in stage.journal.rows()] == [
        ("step.began", 0),
        ("events.dropped", None),
        ("step.began", 1),
        ("agent.tool_called", None),
        ("probe.answered", 0),
        ("probe.answered", 1),
        ("step.began", 2),
    ]


async def test_a_seal_is_of_no_step_that_began_at_once_meanwhile(tmp_path: Path) -> None:
    stage = Overtaken(tmp_path)
    await stage.conductor.begin()
    await stage.conductor.end()
    assert await stage.conductor.wait_sealed(0) is None
    assert stage.kinds[2:] == ["events.dropped", "step.sealed", "step.began", "agent.tool_called"]
    assert not stage.conductor.steps.sealed


async def test_what_is_lost_by_a_step_that_begins_at_once_stands_right_before_it(
    tmp_path: Path,
) -> None:
    """No other connection's line comes between: the step that it began would be lost unseen."""
    stage = Stage(tmp_path)
    await stage.conductor.begin()
    others = [{**CALL, "call": "d"}]

    def look() -> None:
        if others:
            stage.conductor.begin_at_once(None, others.pop())

    stage.recorder.look_before(look)
    assert stage.conductor.begin_at_once(None, CALL).step == 1
    stage.recorder.append("files", "file.created", {})
    assert stage.kinds == [
        *("step.began", "events.dropped", "step.began", "agent.tool_called"),
        *("events.dropped", "step.began", "agent.tool_called", "file.created"),
    ]


async def test_a_step_that_cannot_begin_at_once_leaves_the_one_before_its_seal(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, quiet_ms=20)
    await stage.conductor.begin()
    await stage.conductor.end()
    stage.journal.full = "no room"
    with pytest.raises(NotKeptError):
        stage.conductor.begin_at_once(None, CALL)
    stage.recorder.flush()
    async with asyncio.timeout(20):
        assert await stage.conductor.wait_sealed(0)


async def test_nothing_begins_at_once_while_the_episode_is_being_closed(tmp_path: Path) -> None:
    """Its sources would observe nothing of it, and it would be worth 0."""
    stage = Stage(tmp_path)
    await stage.sealed()
    assert stage.conductor.is_clear
    stage.probe_s = 0.01
    closing = asyncio.create_task(stage.conductor.close("done"))
    await asyncio.sleep(0)
    assert not stage.conductor.is_clear
    with pytest.raises(StepError, match="being closed"):
        stage.conductor.begin_at_once(None, CALL)
    await closing
    assert stage.kinds[2:] == ["step.sealed", "probe.answered", "episode.closed"]

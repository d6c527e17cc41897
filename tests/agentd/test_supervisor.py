"""The supervisor: a source fails alone, its blindness is on record, and nobody waits for the
blind."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentd.core.patience import Patience
from agentd.core.settings import DaemonSettings, RecordSettings, arguments_of
from agentd.core.source import Sink, SourceLostError
from agentd.journal.journal import Journal
from agentd.journal.recorder import Recorder
from agentd.session.settling import StepSealer
from agentd.session.step_controller import Conductor
from agentd.session.step_state import Steps
from agentd.session.supervisor import FENCE_S, TABLE, UNREPORTED, Supervisor, unwatched_sources
from detectors.model.kinds import KINDS, SOURCES, UNHEARD
from tests.support.logs import clicked, created, ruleset, run


class Scripted:
    """A source whose lives are a list of errors; after the last one it stays. ``None``: it ends by
    itself."""

    def __init__(
        self, name: str, *ends: Exception | None, early: bool = False, fence_s: float = 0.0
    ) -> None:
        self.name = name
        self.ends = list(ends)
        self.early = early
        self.fence_s = fence_s
        self.fences = 0

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        if not (self.early and self.ends):
            ready()
        if self.ends:
            end = self.ends.pop(0)
            if end is None:
                return
            raise end
        sink("tab.opened", {"tab": self.name})
        await asyncio.Event().wait()

    async def fence(self, timeout_s: float) -> None:
        self.fences += 1
        if self.fence_s < 0:
            raise RuntimeError("no fence today")
        await asyncio.sleep(self.fence_s)


def told(recorder: Recorder) -> list[tuple[str, Any, Any]]:
    """(kind, source, reason) of every gap, and the tabs."""
    recorder.flush()
    return [
        (kind, data.get("source", data.get("tab")), data.get("reason"))
        for _, kind, data in recorder.journal.rows()
    ]


def events(recorder: Recorder) -> list[tuple[str, Any]]:
    """(kind, data) of all that the journal has."""
    recorder.flush()
    return [(kind, data) for _, kind, data in recorder.journal.rows()]


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(Journal(tmp_path / "j", "E"))


async def started(recorder: Recorder, *sources: Scripted, patience: float = 1.0) -> Supervisor:
    supervisor = Supervisor(sources, recorder, patience=Patience(patience))
    supervisor.start()
    async with asyncio.timeout(20):
        while len([kind for kind, *_ in told(recorder) if kind == "tab.opened"]) < len(sources):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return supervisor


async def test_a_source_is_a_gap_until_it_is_ready(recorder: Recorder) -> None:
    """Its gap begins with the daemon and ends with its baseline reported."""
    supervisor = await started(recorder, Scripted("cdp"))
    assert told(recorder) == [
        ("gap.began", "cdp", "starting"),
        ("gap.ended", "cdp", None),
        ("tab.opened", "cdp", None),
    ]
    assert supervisor.states == {"cdp": "ready"}
    await supervisor.stop()


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (SourceLostError("the browser is gone"), "the browser is gone"),
        (KeyError("frame"), "crashed: KeyError: 'frame'"),
        (None, "the source ended by itself"),
    ],
    ids=["lost", "crashed", "ended"],
)
async def test_a_lost_source_is_a_gap_and_comes_back(
    recorder: Recorder, end: Exception | None, reason: str
) -> None:
    """However it ends: a gap with its reason, another try, and the other sources know nothing of
    it."""
    supervisor = await started(recorder, Scripted("cdp", end), Scripted("files"))
    gaps = [what for what in told(recorder) if what[1] == "cdp" and what[0].startswith("gap")]
    assert gaps == [
        ("gap.began", "cdp", "starting"), ("gap.ended", "cdp", None),
        ("gap.began", "cdp", reason), ("gap.ended", "cdp", None),
    ]  # fmt: skip
    assert [what for what in told(recorder) if what[1] == "files"].count(
        ("gap.began", "files", "starting")
    ) == 1
    await supervisor.stop()


async def test_a_source_that_fails_before_it_is_ready_has_one_gap(recorder: Recorder) -> None:
    """Three vain tries are one blindness, not three."""
    lost = [SourceLostError("no browser yet")] * 3
    supervisor = await started(recorder, Scripted("cdp", *lost, early=True))
    assert [kind for kind, *_ in told(recorder)] == ["gap.began", "gap.ended", "tab.opened"]
    await supervisor.stop()


async def test_after_a_restart_each_source_that_saw_is_a_gap(recorder: Recorder) -> None:
    """Also one that is not started any more; one whose gap is open has no second one."""
    for kind, source in (
        ("began", "cdp"),
        ("ended", "cdp"),
        ("began", "files"),
        ("began", "ax"),
        ("ended", "ax"),
    ):
        recorder.append("journal", f"gap.{kind}", {"source": source, "reason": "r"})
    recorder.flush()
    before = recorder.journal.last
    supervisor = Supervisor([Scripted("cdp"), Scripted("files")], recorder)
    supervisor.recall(recorder.journal.rows("journal"))
    assert told(recorder)[before:] == [
        ("gap.began", "ax", "daemon restarted"), ("gap.began", "cdp", "daemon restarted"),
    ]  # fmt: skip
    assert set(supervisor.gaps) == {"ax", "cdp", "files"}


class Returning(Scripted):
    """A source that sees once ``sees`` is set."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.sees = asyncio.Event()

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        await self.sees.wait()
        await super().run(sink, ready)


@pytest.mark.parametrize(
    ("returns", "blind_before", "reward"),
    [(True, False, 0.0), (False, False, None), (False, True, None)],
    ids=["it sees again", "it does not", "it did not see before"],
)
async def test_a_step_begins_after_a_restart_once_the_sources_that_saw_see_again(
    recorder: Recorder, returns: bool, blind_before: bool, reward: float | None
) -> None:
    """Who begins it has not heard of the restart: the service told that the daemon was ready. What
    did not see before, or does not see in time, is not waited for."""
    gap = {"source": "cdp", "reason": "r"}
    recorder.append("journal", "gap.began", gap)
    if not blind_before:
        recorder.append("journal", "gap.ended", gap)
    recorder.flush()
    source = Returning("cdp")
    patience = Patience(60.0 if returns or blind_before else 0.001)
    supervisor = Supervisor([source], recorder, patience=patience)
    supervisor.recall(recorder.journal.rows("journal"))
    supervisor.start()
    conductor = Conductor(recorder, Steps(), StepSealer([], 0, 1000), supervisor)
    async with asyncio.timeout(20):
        begins = asyncio.create_task(conductor.begin(0))
        if returns:
            await asyncio.sleep(0)
            assert not begins.done()
            source.sees.set()
        await begins
        await conductor.end(0)
        await conductor.wait_sealed(0)
    await supervisor.stop()
    rules = ruleset({"id": "thanked", "when": {"text_visible": {"text": "Thank you"}}})
    assert [one.reward for one in run(rules, *events(recorder))] == [reward]


async def test_after_a_restart_alarms_are_over_until_they_are_raised_again(
    recorder: Recorder,
) -> None:
    """The sources know nothing of what they raised before: what is over by then would be told of
    for ever."""
    for kind, of in (
        ("raised", "deep"),
        ("raised", "many"),
        ("ended", "deep"),
        ("raised", "odd"),
        ("raised", None),
    ):
        recorder.append(
            "journal", f"alarm.{kind}", {"source": "files"} | ({} if of is None else {"part": of})
        )
    recorder.flush()
    before = recorder.journal.last
    Supervisor([], recorder).recall(recorder.journal.rows("journal"))
    recorder.flush()
    said = [(kind, data) for seq, kind, data in recorder.journal.rows() if seq > before]
    assert said == [
        ("alarm.ended", {"source": "files", "part": "many"}),
        ("alarm.ended", {"source": "files", "part": "odd"}),
        ("alarm.ended", {"source": "files"}),
    ]


TEXTS = ["text.appeared", "text.disappeared"]
ASKED = sorted(name for name, kind in KINDS.items() if kind.asked and kind.source == "cdp")
FEWER: dict[str, tuple[list[str] | None, list[str], list[str]]] = {
    "fewer": (TEXTS, ["text.appeared"], ["text.disappeared"]),
    "none": (TEXTS, [], TEXTS),
    "another": (["text.appeared"], ["text.disappeared"], ["text.appeared"]),
    "of another source too": (["text.appeared", "widget.added"], [], ["text.appeared"]),
    "as before": (TEXTS, TEXTS, []),
    "more": ([], TEXTS, []),
    "by an older daemon, which may have been": (None, ASKED[1:], ASKED[:1]),
}
"""What the daemon was asked for before its restart and is asked for after it → the kinds of the
browser's that are a gap from then on."""


@pytest.mark.parametrize(("before", "now", "lacking"), FEWER.values(), ids=FEWER)
async def test_what_a_restarted_daemon_is_no_longer_asked_for_is_a_gap(
    recorder: Recorder, before: list[str] | None, now: list[str], lacking: list[str]
) -> None:
    """Also after the source was lost: the gap of all of it ends those of its parts."""
    asked = {} if before is None else {"asked": before}
    opened: dict[str, object] = {"task": "t", "digest": "d", **asked}
    recorder.append("journal", "episode.opened", opened)
    recorder.flush()
    supervisor = Supervisor([Scripted("cdp", SourceLostError("gone"))], recorder, asked=now)
    supervisor.recall(recorder.journal.rows("journal"))
    supervisor.start()
    async with asyncio.timeout(20):
        while ("tab.opened", "cdp", None) not in told(recorder):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await supervisor.stop()
    gaps = [("gap.ended", None), *(("gap.began", kind) for kind in lacking)]
    assert [
        (kind, data.get("part"))
        for _, kind, data in recorder.journal.rows("journal")
        if kind == "gap.ended" or data.get("reason") == UNREPORTED
    ] == gaps * 2


@pytest.mark.parametrize(("now", "worth"), [([], None), (TEXTS, 0.0)], ids=["fewer", "as before"])
async def test_steps_after_a_restart_with_fewer_kinds_are_unknown(
    recorder: Recorder, now: list[str], worth: float | None
) -> None:
    rules = ruleset({"id": "thanked", "when": {"text_visible": {"text": "Thank you"}}})

    def add_step(step: int) -> None:
        recorder.append("steps", "step.began", {"step": step})
        recorder.append("cdp", *clicked("Go"))
        recorder.append("steps", "step.sealed", {"step": step, "reason": "quiet"})

    opened = {"task": "t", "digest": "d", "asked": TEXTS}
    recorder.append("journal", "episode.opened", opened)
    add_step(0)
    recorder.flush()
    supervisor = Supervisor([Scripted("cdp")], recorder, asked=now)
    supervisor.recall(recorder.journal.rows("journal"))
    supervisor.start()
    async with asyncio.timeout(20):
        while supervisor.gaps:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    add_step(1)
    add_step(2)
    await supervisor.stop()
    assert [reward.reward for reward in run(rules, *events(recorder))] == [0.0, worth, worth]


async def test_fences_do_not_wait_for_the_blind_nor_for_ever(recorder: Recorder) -> None:
    """A blind source is passed over, an endless fence has its limit."""
    slow, quick = Scripted("cdp", fence_s=30.0), Scripted("ax")
    supervisor = await started(recorder, slow, quick)
    blind = Scripted("files")
    supervisor._sources.append(blind)
    supervisor.began("files", "lost")
    loop = asyncio.get_running_loop()
    before = loop.time()
    await supervisor.fence()
    assert loop.time() - before < FENCE_S * 20
    assert (slow.fences, quick.fences, blind.fences) == (1, 1, 0)
    await supervisor.stop()


@pytest.mark.parametrize("fence_s", [0.0, 30.0], ids=["quick", "slow"])
async def test_a_fence_that_fails_is_on_record(recorder: Recorder, fence_s: float) -> None:
    """What its source had to report by then may be lost: the step must not count as seen. Another
    that overstays its fence hides nothing of that, and itself reports later."""
    others = Scripted("cdp", fence_s=fence_s), Scripted("files")
    supervisor = await started(recorder, *others, Scripted("ax", fence_s=-1))
    before = recorder.journal.last
    await supervisor.fence()
    why = "its fence failed: RuntimeError: no fence today"
    assert told(recorder)[before:] == [("events.dropped", "ax", why)]
    await supervisor.stop()


class Sleeping(Scripted):
    """A source that reports nothing before it is ``awake``, and then that a file was made."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.awake = asyncio.Event()
        self.sink: Sink | None = None

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        self.sink = sink
        await super().run(sink, ready)

    async def fence(self, timeout_s: float) -> None:
        self.fences += 1
        await self.awake.wait()
        assert self.sink is not None
        self.sink("file.created", created("a.txt")[1])


LATE: dict[str, tuple[bool, list[str], float | None]] = {
    "awake by the seal": (True, ["step.ended", "file.created", "step.sealed"], 1.0),
    "asleep at the seal": (False, ["step.ended", "events.dropped", "step.sealed"], None),
}


@pytest.mark.parametrize(("wakes", "kinds", "worth"), LATE.values(), ids=LATE)
async def test_a_source_that_overstays_its_fence_is_fenced_again_before_the_seal(
    recorder: Recorder,
    monkeypatch: pytest.MonkeyPatch,
    wakes: bool,
    kinds: list[str],
    worth: float | None,
) -> None:
    """What it reports then is of the step in which it happened. Where it reports nothing the step
    is null: 0 would say that nothing happened."""
    monkeypatch.setattr("agentd.session.supervisor.LATE_S", 60.0 if wakes else 0.05)
    source = Sleeping("files")
    supervisor = await started(recorder, source)
    conductor = Conductor(recorder, Steps(), StepSealer(["file.created"], 0, 0), supervisor)
    await conductor.begin(0)
    await conductor.end(0)
    async with asyncio.timeout(20):
        while source.fences < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        if wakes:
            source.awake.set()
        await conductor.wait_sealed(0)
    rows = list(recorder.journal.rows())
    assert [kind for _, kind, _ in rows][-3:] == kinds
    made = {"id": "m", "component": "ui", "when": {"file_matches": {"name": "a.txt"}}}
    rules = ruleset(made, weights={"ui": 1.0})
    (reward,) = run(rules, *((kind, data) for _, kind, data in rows))
    assert reward.reward == worth
    await supervisor.stop()


class Slow(Scripted):
    """A source that reports what happened, and only then is past its fence, 0.5 s later."""

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        self.sink = sink
        await super().run(sink, ready)

    has_reported = False

    async def fence(self, timeout_s: float) -> None:
        await super().fence(timeout_s)
        if self.fences > 1 and not self.has_reported:  # the first is of the step's beginning
            self.has_reported = True
            self.sink("file.created", created("a.txt")[1])


@pytest.mark.parametrize(("patience", "worth"), [(1, None), (40, 1.0)])
@pytest.mark.parametrize(
    ("fence_s", "late_s"),
    [(FENCE_S, 0.001), (0.001, 0.1)],
    ids=["by the first fence", "by the second"],
)
async def test_a_source_slower_than_its_deadlines_is_known_with_more_patience(
    recorder: Recorder,
    monkeypatch: pytest.MonkeyPatch,
    fence_s: float,
    late_s: float,
    patience: int,
    worth: float | None,
) -> None:
    """The same source, the same step: null without patience, and never another reward."""
    monkeypatch.setattr("agentd.session.supervisor.FENCE_S", fence_s)
    monkeypatch.setattr("agentd.session.supervisor.LATE_S", late_s)
    supervisor = await started(recorder, Slow("files", fence_s=0.5), patience=patience)
    conductor = Conductor(recorder, Steps(), StepSealer(["file.created"], 0, 0), supervisor)
    await conductor.begin(0)
    await conductor.end(0)
    async with asyncio.timeout(20):
        await conductor.wait_sealed(0)
    made = {"id": "m", "component": "ui", "when": {"file_matches": {"name": "a.txt"}}}
    rules = ruleset(made, weights={"ui": 1.0})
    events = [(kind, data) for _, kind, data in recorder.journal.rows()]
    (reward,) = run(rules, *events)
    assert reward.reward == worth
    await supervisor.stop()


class Stepping(Scripted):
    """A source that works at a step's end: it fails there, or takes ``fence_s`` seconds."""

    async def before_seal(self, step: int | None, *, closing: bool) -> None:
        await self.fence(0.0)

    def after_seal(self, step: int) -> None: ...


async def test_work_at_a_steps_end_is_waited_for_with_more_patience(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentd.session.supervisor.SEAL_S", 0.2)
    supervisor = await started(recorder, Stepping("screen", fence_s=0.5), patience=60)
    before = recorder.journal.last
    await supervisor.before_seal(0)
    assert told(recorder)[before:] == []
    await supervisor.stop()


async def test_work_that_is_lost_at_a_steps_end_is_on_record(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that fails or overstays there has not said what it should: the step must not count
    as seen."""
    monkeypatch.setattr("agentd.session.supervisor.SEAL_S", 0.2)
    supervisor = await started(
        recorder, Stepping("probe", fence_s=-1), Stepping("screen", fence_s=30.0), Stepping("ax")
    )
    before = recorder.journal.last
    await supervisor.before_seal(0)
    assert told(recorder)[before:] == [
        (
            "events.dropped",
            "probe",
            "its work at a step's end failed: RuntimeError: no fence today",
        ),
        ("events.dropped", "screen", "its work at a step's end overstayed its budget"),
    ]
    await supervisor.stop()


class Opening(Scripted):
    """A source that reports what the agent begins with: it fails, or takes ``fence_s`` seconds."""

    async def before_first_step(self) -> None:
        await self.fence(0.0)


async def test_what_an_agent_begins_with_is_asked_for_and_costs_no_step(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing depends on it: a source that fails or overstays there leaves every step known."""
    monkeypatch.setattr("agentd.session.supervisor.SEAL_S", 0.2)
    sources = Opening("cdp"), Opening("probe", fence_s=-1), Opening("screen", fence_s=30.0)
    supervisor = await started(recorder, *sources)
    before = recorder.journal.last
    await supervisor.before_first_step()
    assert [source.fences for source in sources] == [1, 1, 1]
    assert told(recorder)[before:] == []
    await supervisor.stop()


def test_every_source_of_a_kind_has_a_row_in_the_table() -> None:
    """Else a task that hears its kinds would be worth 0, and not null, where nobody watched."""
    assert set(TABLE) == set(SOURCES) - UNHEARD, (
        "expected a row of TABLE in agentd/session/supervisor.py for each source that"
        " detectors/model/kinds/__init__.py has kinds of: docs/how-to/add-a-source.md"
    )


def test_every_source_that_is_not_given_is_a_gap_that_names_its_option() -> None:
    reasons = unwatched_sources(DaemonSettings(), {"hears": None})
    assert set(reasons) == set(TABLE)
    options = {name.replace("_", "-") for name in arguments_of(RecordSettings)}
    for name, reason in reasons.items():
        assert set(re.findall(r"--([a-z-]+)", reason)) <= options, name

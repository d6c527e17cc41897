"""The supervisor: each source in a task of its own, so that one fails alone, with a gap on record.

A source is a gap until it is ready, again from the moment it is lost, and after a restart of the
daemon. Here stands the broad ``except`` of the daemon: a source is code at the mercy of a
browser, a desktop, a disk. (Another is in `StepStreams.take_lines`, so that no source is lost by
what a gateway wrote.)
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import structlog

from agentd.core.backoff import Backoff
from agentd.core.extras import display_for, require_extra
from agentd.core.patience import DEFAULT_PATIENCE, Patience
from agentd.core.plan import EpisodePlan
from agentd.core.settings import DaemonSettings
from agentd.core.source import (
    FenceLateError,
    OpeningSource,
    RecallingSource,
    Source,
    SourceLostError,
    StepSource,
)
from agentd.journal.recorder import Recorder
from detectors.model.kinds import KINDS, asked_kinds

FENCE_S = 0.1
LATE_S = 2.0
"""The time that a source which overstayed its fence has before the step's seal, in seconds. One
that does not keep to it is waited for twice as long."""
SEAL_S = 10.0
"""The longest that all work before one seal may take together, in seconds; each source has a budget
of its own."""
RETURN_S = 10.0
"""How long the first step that begins after a restart waits for the sources that saw before it, in
seconds."""
MAX_RETRY_S = 2.0
"""The longest wait before a lost source is tried again, in seconds; the first is 0.1."""

UNREPORTED = (
    "the daemon was restarted, and no longer reports it: only if the task, or --also, asks for it"
)

log = structlog.get_logger(__name__)


Make = Callable[[], Source]
"""Makes a source; raises `UsageError` where an extra or a display that it needs is missing."""


def _cdp(settings: DaemonSettings, plan: EpisodePlan) -> Make | None:
    """Return how the browser's source is made, None where nothing says where the browser is."""
    connect = settings.connect
    if connect is not None:
        return lambda: connect(plan)
    if settings.cdp is None and settings.profile is None:
        return None

    def make() -> Source:
        from agentd.sources.cdp import CdpSource

        return CdpSource(settings.cdp, settings.profile, plan, patience=settings.patience)

    return make


def _files(settings: DaemonSettings, plan: EpisodePlan) -> Make | None:
    """Return how the source of watched folders is made, None where none is watched."""
    if not settings.files:
        return None

    def make() -> Source:
        from agentd.sources.files import FilesSource

        return FilesSource(dict(settings.files), settings.own_paths, settings.patience)

    return make


def _reader(settings: DaemonSettings, plan: EpisodePlan) -> Make | None:
    """Return how the source of read files is made, None where the task reads none."""
    if not settings.files or not plan.get("file_reads"):
        return None

    def make() -> Source:
        from agentd.sources.reader.source import ReaderSource

        return ReaderSource(
            plan, dict(settings.files), settings.own_paths, patience=settings.patience
        )

    return make


def _ax(settings: DaemonSettings, plan: EpisodePlan) -> Make | None:
    """Return how the desktop's source is made, None where it is not asked for."""
    if not settings.desktop:
        return None

    def make() -> Source:
        require_extra("--desktop", "desktop", "xcffib")
        from agentd.sources.ax import AxSource

        return AxSource(plan, patience=settings.patience)

    return make


def _processes(settings: DaemonSettings, plan: EpisodePlan) -> Make | None:
    """Return how the source of processes is made, None where it is not asked for."""
    whose = settings.processes
    if whose is None:
        return None

    def make() -> Source:
        require_extra("--processes", "desktop", "psutil")
        from agentd.sources.processes import ProcessesSource

        return ProcessesSource(whose, plan, patience=settings.patience)

    return make


def _clipboard(settings: DaemonSettings, plan: EpisodePlan) -> Make | None:
    """Return how the clipboard's source is made, None where it is not asked for."""
    words = settings.clipboard
    if words is None:
        return None

    def make() -> Source:
        require_extra("--clipboard", "desktop", "xcffib")
        from agentd.sources.clipboard import ClipboardSource

        return ClipboardSource(display_for("--clipboard"), words, plan, patience=settings.patience)

    return make


def _screen(settings: DaemonSettings, plan: EpisodePlan) -> Make | None:
    """Return how the source of screenshots is made, None where it is not asked for."""
    if settings.screen is None:
        return None

    def make() -> Source:
        require_extra("--screen", "desktop", "PIL", "mss")
        from agentd.sources.screen import screen_source

        return screen_source(settings, plan)

    return make


def _probes(settings: DaemonSettings, plan: EpisodePlan) -> Make | None:
    """Return how the source of probes is made, None where the task asks none."""
    if not plan.get("probes"):
        return None

    def make() -> Source:
        from agentd.sources.probes import ProbesSource

        return ProbesSource(
            plan,
            cdp=settings.cdp,
            profile=settings.profile,
            files=dict(settings.files),
            allow_commands=settings.allow_commands,
            line=settings.line,
        )

    return make


class SourceRow(NamedTuple):
    """A source of the daemon. ``find`` returns what makes it, or None where neither the settings
    nor the task's plan ask for it: then it is a gap of every task that needs it. ``given_by`` names
    the option that asks for it, for the reason of that gap."""

    given_by: str
    find: Callable[[DaemonSettings, EpisodePlan], Make | None]


TABLE: Mapping[str, SourceRow] = {
    "cdp": SourceRow("--cdp or --profile", _cdp),
    "files": SourceRow("--files", _files),
    "ax": SourceRow("--desktop", _ax),
    "processes": SourceRow("--processes", _processes),
    "clipboard": SourceRow("--clipboard", _clipboard),
    "screen": SourceRow("--screen", _screen),
    "probe": SourceRow("task with probes", _probes),
    "reader": SourceRow("--files, or no task whose rules read files", _reader),
}
"""Every source by the name that its kinds have in `detectors.model.kinds`, in the order in which
they are started. docs/how-to/add-a-source.md says what else a new one needs."""


def sources_of(settings: DaemonSettings, plan: EpisodePlan) -> list[Source]:
    """Make the sources that the settings and the task's plan ask for; raises `UsageError`."""
    plan = {
        **plan,
        "mask": [*plan.get("mask", ()), *settings.mask],
        "visual": settings.visual_max if settings.visual else 0,
    }
    found = [row.find(settings, plan) for row in TABLE.values()]
    return [make() for make in found if make is not None]


def unwatched_sources(settings: DaemonSettings, plan: EpisodePlan) -> dict[str, str]:
    """Return the sources that the task needs and the daemon was not given, each with the reason."""
    kinds = plan.get("hears")
    needed = set(TABLE)  # a recording made for no task in particular may be scored by any
    if kinds is not None:
        needed = {KINDS[kind].source for kind in kinds if kind in KINDS}
    return {
        name: f"not watched: the daemon was given no {row.given_by}"
        for name, row in TABLE.items()
        if name in needed and row.find(settings, plan) is None
    }


class Supervisor:
    """Runs ``sources`` until `stop`.

    ``gaps``: sources that see nothing now, each with the reason; ``changed`` is set, and made anew,
    whenever a gap begins or ends. ``unwatched``: sources that the daemon was not given, with the
    reason; ``needed``: whether a task depends on them (a recording on none); ``asked``: the kinds
    marked *asked* that the sources report. ``patience`` multiplies `FENCE_S`, `LATE_S`, `SEAL_S`
    and `RETURN_S`.
    """

    def __init__(
        self,
        sources: Iterable[Source],
        recorder: Recorder,
        unwatched: Mapping[str, str] | None = None,
        *,
        needed: bool = True,
        asked: Collection[str] = (),
        patience: Patience = DEFAULT_PATIENCE,
    ) -> None:
        self._patience = patience
        self._sources = list(sources)
        self._unwatched = unwatched or {}
        self._needed = needed
        self._asked = frozenset(asked)
        # Source → the kinds that it reported before a restart and is no longer asked for.
        self._unreported: dict[str, list[str]] = {}
        self._recorder = recorder
        self._tasks: list[asyncio.Task[None]] = []
        self._late: list[Source] = []  # those that overstayed the last fence
        self._returning: set[str] = set()  # those that saw before a restart, until a step begins
        self._started = False
        self.changed = asyncio.Event()
        self.gaps: dict[str, str] = {}

    @property
    def states(self) -> dict[str, str]:
        """Every source with "ready" or "gap"."""
        return {
            source.name: "gap" if source.name in self.gaps else "ready" for source in self._sources
        }

    @property
    def awaited(self) -> dict[str, str]:
        """The sources whose sight a first step waits for, each with the reason why it does not see.

        Of those that nobody gave, the ones that the task needs.
        """
        return {
            name: why
            for name, why in self.gaps.items()
            if self._needed or name not in self._unwatched
        }

    @property
    def lacking(self) -> list[str]:
        """Those of `awaited` that will not see before the daemon is started with other options."""
        return [name for name in self.awaited if name in self._unwatched]

    @property
    def ready(self) -> bool:
        """Whether every source sees: those that were given, and those that the task needs."""
        return self._started and not self.awaited

    def began(self, name: str, reason: str) -> None:
        """Record that ``name`` sees nothing from now on, unless that is on record."""
        if name not in self.gaps:
            self.gaps[name] = reason
            self._recorder.append("journal", "gap.began", {"source": name, "reason": reason})
            self._change()

    def _ended(self, name: str) -> None:
        """End the gap of a source that sees again; what it never reports begins as gaps of its
        parts."""
        if self.gaps.pop(name, None) is not None:
            self._recorder.append("journal", "gap.ended", {"source": name})
            # A gap of the whole source ends those of its parts, so these begin anew after it.
            for kind in self._unreported.get(name, ()):
                gap = {"source": name, "part": kind, "reason": UNREPORTED}
                self._recorder.append("journal", "gap.began", gap)
            log.info("The source sees.", source=name)
            self._change()

    def _change(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def remind(self, rows: Callable[[str], Iterator[tuple[int, str, dict[str, object]]]]) -> None:
        """Give the sources that want it what they reported before a restart, out of the journal."""
        for source in self._sources:
            if isinstance(source, RecallingSource):
                source.recall(rows(source.name))

    def recall(self, events: Iterable[tuple[int, str, dict[str, Any]]]) -> None:
        """Rebuild from the journal's own events which gaps are open, then open one for each source
        that saw.

        What raised alarms before is found out anew, and raises them again where it still does.
        Kinds that the daemon was asked for before and is not asked for now are gaps from here on.
        """
        watched = frozenset(source.name for source in self._sources)
        names = set(watched)
        alarms: dict[tuple[str, str | None], None] = {}
        for _, kind, data in events:
            key = (data.get("source", ""), data.get("part"))
            if kind == "episode.opened":
                self._note_unreported(data.get("asked"))
            elif kind == "alarm.raised":
                alarms[key] = None
            elif kind == "alarm.ended":
                alarms.pop(key, None)
            elif "part" in data:
                continue  # partial gaps end with their source's own, and are reported anew
            elif kind == "gap.began":
                self.gaps[data["source"]] = data["reason"]
                names.add(data["source"])
            elif kind == "gap.ended":
                self.gaps.pop(data["source"], None)
        self._returning = set(watched - self.gaps.keys())
        for name in sorted(names):
            self.began(name, "daemon restarted")
        for name, of in alarms:
            part = {} if of is None else {"part": of}
            self._recorder.append("journal", "alarm.ended", {"source": name, **part})

    def _note_unreported(self, before: object) -> None:
        """Note the kinds that the sources no longer report. ``before``: the kinds that the journal
        says were asked for, no list in one of an older daemon: then any may have been."""
        kinds = before if isinstance(before, list) else asked_kinds({"also": list(KINDS)})
        unreported = defaultdict(list)
        for kind in kinds:
            if kind in KINDS and kind not in self._asked:
                unreported[KINDS[kind].source].append(kind)
        self._unreported = dict(unreported)
        if isinstance(before, list) and unreported:
            log.warning(
                "The daemon is no longer asked for kinds of events that it reported before: what"
                " depends on them is unobserved from here on.",
                kinds=[kind for of_source in unreported.values() for kind in of_source],
            )

    def start(self) -> None:
        """Start every source; each is a gap until it is ready."""
        for name, reason in self._unwatched.items():
            self.began(name, reason)
            if self._needed:
                log.warning(
                    "The task needs a source that is not watched: its steps will be unobserved.",
                    source=name,
                    why=reason,
                )
        for source in self._sources:
            self.began(source.name, "starting")
            keeping = self._keep(source)
            self._tasks.append(asyncio.create_task(keeping, name=f"source {source.name}"))
        self._started = True
        self._change()

    async def all_ready(self) -> None:
        """Wait until every source that was given sees at the same time."""
        while not self._started or self.gaps.keys() - self._unwatched.keys():
            await self.changed.wait()

    async def _keep(self, source: Source) -> None:
        """Run a source, and start it again whenever it ends, each time after a longer wait;
        meanwhile it is a gap."""
        backoff = Backoff(longest_s=MAX_RETRY_S)
        sink = self._recorder.sink(source.name)

        def ready() -> None:
            backoff.reset()
            self._ended(source.name)

        while True:
            try:
                await source.run(sink, ready)
                reason = "the source ended by itself"
            except SourceLostError as lost:
                reason = str(lost) or "lost"
            except Exception as crash:
                reason = f"crashed: {type(crash).__name__}: {crash}"[:500]
                log.error(
                    "A source crashed; it is started again.", source=source.name, exc_info=crash
                )
            log.warning("The source sees nothing; trying again.", source=source.name, why=reason)
            self.began(source.name, reason)
            # What keeps it from seeing now, and no longer that it starts.
            self.gaps[source.name] = reason
            await backoff.wait()

    async def fence(self) -> None:
        """Wait until what happened so far is journalled, at most `FENCE_S`; blind sources are not
        waited for.

        A source whose fence fails may not have reported what happened: `events.dropped`. One that
        overstays its fence is fenced again before the step is sealed.
        """
        self._late = await self._fence(self._sources, self._patience.extend(FENCE_S))

    async def _fence(self, sources: Iterable[Source], longest_s: float) -> list[Source]:
        """Fence those of ``sources`` that see; return the ones that did not come to the end."""
        fences = {
            asyncio.create_task(source.fence(longest_s)): source
            for source in sources
            if source.name not in self.gaps
        }
        await _wait_for(fences, longest_s * 2)
        late = []
        for fence, source in fences.items():
            if _is_late(fence):
                late.append(source)
            elif (why := _why_lost(fence)) is not None:
                self._record_loss(source.name, f"its fence {why}")
        return late

    async def fence_late(self) -> None:
        """Fence those again that overstayed the last fence. What does not come to the end in
        `LATE_S` is a `events.dropped`: else a step would count as observed of which a source may
        still have something to report."""
        late, self._late = self._late, []
        longest_s = self._patience.extend(LATE_S)
        for source in await self._fence(late, longest_s):
            self._record_loss(source.name, f"its fence was not over within {longest_s:g} s")

    async def see_again(self) -> None:
        """Wait, once after a restart and at most `RETURN_S`, until the sources that saw before it
        see again: who begins a step may not have heard of the restart, and it would be unknown."""
        try:
            async with asyncio.timeout(self._patience.extend(RETURN_S)):
                while self._returning & self.gaps.keys():
                    await self.changed.wait()
        except TimeoutError:
            log.warning("A step begins before all sources see again.", gaps=self.gaps)
        self._returning.clear()

    async def before_first_step(self) -> None:
        """Let the sources that report what the agent begins with do so, at most `SEAL_S`.

        Nothing depends on their reports: one that fails is logged.
        """
        works = [
            asyncio.create_task(source.before_first_step())
            for source in self._sources
            if isinstance(source, OpeningSource) and source.name not in self.gaps
        ]
        await _wait_for(works, self._patience.extend(SEAL_S))
        for why in filter(None, map(_why_lost, works)):
            log.warning("What the first step begins with is not recorded.", why=why)

    async def before_seal(self, step: int | None, *, closing: bool = False) -> None:
        """Fence those again that are late, then let the sources that work at the ends of steps do
        so, at most `SEAL_S`.

        Those with a gap are not asked. Work that fails or takes too long is a `events.dropped`.
        """
        await self.fence_late()
        works = {
            asyncio.create_task(source.before_seal(step, closing=closing)): name
            for name, source in self._step_sources()
        }
        await _wait_for(works, self._patience.extend(SEAL_S))
        for work, name in works.items():
            why = _why_lost(work)
            if why is not None:
                self._record_loss(name, f"its work at a step's end {why}")

    @property
    def observing(self) -> bool:
        """Whether a source sees, so that what it has not reported yet is to be waited for."""
        return any(source.name not in self.gaps for source in self._sources)

    def lose_step_work(self) -> None:
        """Record that what is left to do at the end of the current step is not done: no source is
        known to have reported all of it."""
        self._late = []
        for source in self._sources:
            if source.name not in self.gaps:
                why = "its work at a step's end was not done: the next step's call ran already"
                self._record_loss(source.name, why)

    def _step_sources(self) -> list[tuple[str, StepSource]]:
        """Return the sources that work at the ends of steps, but those with a gap."""
        return [
            (source.name, source)
            for source in self._sources
            if isinstance(source, StepSource) and source.name not in self.gaps
        ]

    def _record_loss(self, name: str, why: str) -> None:
        """Record that a source's report is lost: the step must not count as observed."""
        lost = {"source": name, "count": 1, "reason": why[:500]}
        self._recorder.append("journal", "events.dropped", lost)
        log.warning("A source's report is lost.", source=name, why=why)

    def after_seal(self, step: int) -> None:
        """Have the sources that work at the ends of steps follow that this one is sealed."""
        for _, source in self._step_sources():
            source.after_seal(step)

    async def stop(self) -> None:
        """Stop every source and wait for its end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()


async def _wait_for(works: Collection[asyncio.Task[None]], longest_s: float) -> None:
    """Wait until all works are done, at most ``longest_s``; what is not done by then is
    cancelled."""
    if not works:
        return
    try:
        await asyncio.wait(works, timeout=longest_s)
    finally:
        for work in works:
            work.cancel()


def _is_late(fence: asyncio.Task[None]) -> bool:
    """Whether a fence was not over in time."""
    if not fence.done() or fence.cancelled():
        return True
    return isinstance(fence.exception(), FenceLateError)


def _why_lost(work: asyncio.Task[None]) -> str | None:
    """Return what became of work that did not end well; None: it did."""
    if not work.done() or work.cancelled():
        return "overstayed its budget"
    error = work.exception()
    return None if error is None else f"failed: {type(error).__name__}: {error}"

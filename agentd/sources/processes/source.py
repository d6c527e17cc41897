"""Joins the fold with the connector or, where the kernel does not report, looks at /proc."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import structlog

from agentd.core.patience import DEFAULT_PATIENCE, Patience
from agentd.core.plan import EpisodePlan
from agentd.core.source import FenceLateError, Sink, SourceLostError
from agentd.core.worker_thread import SourceThread
from agentd.masking import Masker
from agentd.sources.processes.connector import ANSWER_S, Connector, ProcessMessage
from agentd.sources.processes.fold import ProcessFold, ProcessObservation
from agentd.sources.processes.look import ProcessFacts, is_kernels, look, look_at_all, now, pids
from detectors.model.optional_values import pick_keys

POLL_S = 0.1
"""How often /proc is looked at where the kernel does not report, in seconds."""
AGAIN_S = 1.0
"""How often what is known to run is looked at again then, in seconds; what just split: always."""
YOUNG_S = 2.0
_IDLE_S = 60.0

log = structlog.get_logger(__name__)


class ProcessesSource:
    """Watches ``whose`` processes: "all", a user's, or one (by its id) with all that comes from it.

    ``plan``: the episode's, of which ``mask`` is read. ``ask_kernel`` False: only look at /proc.
    ``patience`` multiplies how long the kernel has for its answer.
    """

    name = "processes"

    def __init__(
        self,
        whose: str,
        plan: EpisodePlan,
        *,
        ask_kernel: bool = True,
        patience: Patience = DEFAULT_PATIENCE,
    ) -> None:
        self._patience = patience
        self._whose = whose
        self._masker = Masker(plan.get("mask", ()))
        self._ask_kernel = ask_kernel
        self._live: tuple[SourceThread, _ProcessWatch] | None = None
        self._told: dict[int, dict[str, object]] = {}

    def recall(self, events: Iterable[tuple[int, str, Mapping[str, object]]]) -> None:
        """Take in, before the first `run`, what was reported before a restart of the daemon."""
        for _, kind, data in events:
            self._follow(kind, data)

    def _follow(self, kind: str, data: Mapping[str, Any]) -> None:
        """Remember which processes were told, for a restart of the source."""
        if kind == "process.started":
            self._told[data["pid"]] = pick_keys(data, ("pid", "name"))
        elif kind == "process.ended":
            self._told.pop(data["pid"], None)

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        """Report what runs, then what starts and ends; raises `SourceLostError` when it can see no
        longer."""
        answer_s = self._patience.extend(ANSWER_S) if self._ask_kernel else None
        watch = _ProcessWatch(self._whose, self._masker, answer_s)
        before, self._told = self._told, {}

        def tell(kind: str, data: Mapping[str, object]) -> None:
            self._follow(kind, data)
            sink(kind, data)

        def begun() -> None:
            """Report what ended while nobody watched, then that the source sees."""
            for pid in before.keys() - self._told.keys():  # ended while nobody watched
                sink("process.ended", before[pid])
            before.clear()
            ready()

        worker = SourceThread("processes", watch.work, tell, begun)
        self._live = worker, watch
        try:
            await worker.run()
        finally:
            self._live = None
            self._told = before | self._told  # of a life that did not begin nothing is forgotten

    async def fence(self, timeout_s: float) -> None:
        """Return once every process that started or ended before is reported. Raises
        `FenceLateError` where that takes longer than ``timeout_s`` seconds."""
        if self._live is not None:
            worker, watch = self._live
            if not await worker.ask(lambda: watch.look(worker, closely=True), timeout_s):
                raise FenceLateError


class _ProcessWatch:
    """One life of the source, in its thread. ``answer_s``: how long the kernel has to answer, in
    seconds; None: it is not asked."""

    def __init__(self, whose: str, masker: Masker, answer_s: float | None) -> None:
        self._whose = whose
        self._fold = ProcessFold(whose, os.getpid(), masker.mask_arguments)
        self._answer_s = answer_s
        self._connector: Connector | None = None
        self._ticks = 0
        self._no_programs: frozenset[int] = frozenset()

    def work(self, worker: SourceThread) -> None:
        """Watch until the worker is stopped; raises `SourceLostError`."""
        # First: what starts while the baseline is read waits in the connector's buffer.
        if self._answer_s is not None:
            self._connector = Connector.open(self._answer_s)
        try:
            self._begin(worker)
            while not worker.stopping:
                if self._connector is not None:
                    worker.pause(_IDLE_S, self._connector.fileno)
                else:
                    worker.pause(POLL_S)
                self.look(worker)
                worker.answer()
        except OSError as error:
            raise SourceLostError(f"processes can't be watched: {error.strerror}") from None
        finally:
            if self._connector is not None:
                self._connector.close()

    def _begin(self, worker: SourceThread) -> None:
        """Tell all processes as the start state; without word from the kernel an alarm says so.
        Raises `SourceLostError`."""
        for facts in look_at_all():
            _tell(worker, self._fold.ran(facts.pid, facts, baseline=True))
        if self._whose.isdecimal() and self._fold.facts_of(int(self._whose)) is None:
            raise SourceLostError(f"--processes {self._whose}: no such process runs")
        if self._connector is None:
            reason = (
                f"the kernel does not tell of processes here: one that lives less than {POLL_S:g} s"
                " may be missed"
            )
            worker.tell("alarm.raised", {"source": "processes", "reason": reason})
            log.warning("Processes are looked for, not told of.", every_s=POLL_S)
        worker.ready()

    def look(self, worker: SourceThread, *, closely: bool = False) -> None:
        """Report all that happened until now; not ``closely``, what has long been known is not
        looked at each time."""
        if self._connector is None:
            self._poll(worker, all_again=closely)
            return
        for message in self._connector.read():
            self._follow(worker, message)

    def _follow(self, worker: SourceThread, message: ProcessMessage) -> None:
        """Fold a message of the kernel; lost ones are an alarm, and all processes are looked at
        anew."""
        match message.what:
            case "forked":
                self._fold.forked(message.pid, message.parent)
            case "ran":
                _tell(worker, self._fold.ran(message.pid, look(message.pid)))
            case "ended":
                _tell(worker, self._fold.ended(message.pid))
            case "overrun":
                reason = (
                    "the kernel told of more processes than were read: those that lived shortly are"
                    " not known"
                )
                worker.tell("events.dropped", {"source": "processes", "reason": reason})
                log.warning(
                    "The kernel told of more processes than were read; looking at all of them."
                )
                self._poll(worker, all_again=True)

    def _poll(self, worker: SourceThread, *, all_again: bool = False) -> None:
        """Compare all processes with those that are known; new and young ones are looked at, now
        and then all."""
        there = pids()
        for pid in self._fold.pids - there:
            _tell(worker, self._fold.ended(pid))
        self._ticks += 1
        is_due = all_again or self._ticks % round(AGAIN_S / POLL_S) == 0
        self._no_programs &= there
        for pid in sorted(there - self._no_programs):
            before = self._fold.facts_of(pid)
            if before is None or is_due or _is_young(before):
                _tell(worker, self._observe(pid, before))

    def _observe(self, pid: int, before: ProcessFacts | None) -> list[ProcessObservation]:
        """Look at a process that is known by ``before``; returns what is news of it."""
        facts = look(pid)
        if facts is None:
            if is_kernels(pid):
                self._no_programs |= {pid}
            return []
        if facts.over:
            self._no_programs |= {pid}
            return self._fold.ended(pid)
        if before is None:
            return self._meet(facts)
        if before.born != facts.born:
            return [*self._fold.ended(pid), *self._observe(pid, None)]
        if _is_another(before, facts, told=self._fold.is_reported(pid)):
            return self._fold.ran(pid, facts)
        return []

    def _meet(self, facts: ProcessFacts) -> list[ProcessObservation]:
        """Report a process that polling found; one that is like its parent has only split off."""
        above = self._fold.facts_of(facts.parent)
        if above is not None and (above.name, above.arguments) == (facts.name, facts.arguments):
            self._fold.split(facts)
            return []
        return self._fold.ran(facts.pid, facts)


def _is_young(facts: ProcessFacts) -> bool:
    return now() - facts.born < YOUNG_S


def _is_another(before: ProcessFacts, after: ProcessFacts, *, told: bool) -> bool:
    """Return whether another program runs in the process.

    A program may rewrite its own command line, so that counts only for one that has just split.
    """
    if not told and _is_young(after) and after.arguments is not None:
        return (before.name, before.arguments) != (after.name, after.arguments)
    if before.program is not None and after.program is not None:
        return before.program != after.program
    # A program may rewrite its name too, but hardly both where it runs on.
    if after.arguments is None:
        return False
    return before.name != after.name and before.arguments != after.arguments


def _tell(worker: SourceThread, observations: Iterable[ProcessObservation]) -> None:
    """Report observations from the source's own thread."""
    for observation in observations:
        worker.tell(observation.kind, observation.data)

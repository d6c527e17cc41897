"""The desktop source: one child at a time, its messages folded and reported to the sink; texts read
when they rested."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum

import structlog

from agentd.core.patience import DEFAULT_PATIENCE, Patience
from agentd.core.plan import EpisodePlan
from agentd.core.source import Sink
from agentd.masking import Masker
from agentd.sources.ax.child import Child
from agentd.sources.ax.fold import AxObservation, DesktopFold
from agentd.sources.ax.messages import Message
from agentd.sources.ax.model import handle
from agentd.sources.ax.remembered import Remembered
from agentd.sources.ax.x_input import DisplayListener
from detectors.model.kinds import reported_kinds

REST_S = 0.2
"""How long a text must rest before it is reported, in seconds; a fence does not wait for that."""
MAX_REST_S = 2.0
"""How long one that never rests is waited for."""
REVIEW_S = 1.0
SEAL_S = 1.0
"""The longest that a step's seal waits for a desktop that goes on changing, in seconds."""

log = structlog.get_logger(__name__)


class AxSource:
    """Watches the desktop of ``environ`` (DISPLAY, DBUS_SESSION_BUS_ADDRESS, AT_SPI_BUS_ADDRESS),
    by default ours.

    ``plan``: the episode's, of which ``hears``, ``also``, ``mask`` and ``quiet_ms`` are read.
    ``patience`` multiplies how long child, programs and display have for an answer.
    """

    name = "ax"

    def __init__(
        self,
        plan: EpisodePlan,
        environ: Mapping[str, str] = os.environ,
        make_fold: Callable[[Masker], DesktopFold] = DesktopFold,
        patience: Patience = DEFAULT_PATIENCE,
    ) -> None:
        self._patience = patience
        self._make_fold = make_fold
        self._environ = dict(environ)
        self._kinds = reported_kinds(plan)
        self._masker = Masker(plan.get("mask", ()))
        self._quiet_s = (plan.get("quiet_ms") or 50) / 1000
        self._remembered = Remembered()
        self._live: _ListenerRun | None = None

    def recall(self, events: Iterable[tuple[int, str, Mapping[str, object]]]) -> None:
        """Take in what a daemon before this one reported of programs and windows."""
        self._remembered.recall(events)

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        """Report what is there, then what happens; raises `SourceLostError` when child or bus is
        gone."""
        child = await Child.start(self._environ, self._patience)
        fold = self._make_fold(self._masker)
        live = _ListenerRun(child, fold, self._kinds, self._remembered, sink, self._patience)
        review = asyncio.create_task(live.review(), name="ax review")
        try:
            async for message in child.messages():
                live.take(message)
                if message["t"] == "ready":
                    live.compare(self._environ.get("DISPLAY"))
                    self._live = live
                    ready()
        finally:
            self._live = None
            await live.end()
            review.cancel()
            await asyncio.gather(review, return_exceptions=True)
            await child.end()

    async def fence(self, timeout_s: float) -> None:
        """Return once all that programs reported before, and what texts hold now, is in the sink,
        or after ``timeout_s`` seconds."""
        if self._live is not None:
            await self._live.fence(timeout_s)

    async def before_seal(self, step: int | None, *, closing: bool) -> None:
        """Wait until no text changes any more, at most `SEAL_S`, and report what they hold.

        A child that did not answer once in that time is a `events.dropped`: nobody knows what
        happened.
        """
        if self._live is not None:
            longest_s = self._patience.extend(SEAL_S)
            await self._live.wait_settled(self._quiet_s, longest_s, closing=closing)

    def after_seal(self, step: int) -> None:
        """Do nothing: texts are read before the seal."""


class Passed(IntEnum):
    """How far a fence came: not at all, past what programs reported, past what texts hold."""

    NONE = 0
    HEARD = 1
    READ = 2


class _ListenerRun:
    """One child's life: its messages, its fences, and the display beside it."""

    def __init__(
        self,
        child: Child,
        fold: DesktopFold,
        kinds: frozenset[str],
        remembered: Remembered,
        sink: Sink,
        patience: Patience,
    ) -> None:
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._child = child
        self._fold = fold
        self._kinds = kinds
        self._remembered = remembered
        self._sink = sink
        self._display: DisplayListener | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due_since = 0.0
        self._heard_at = 0.0
        self._fences: dict[int, asyncio.Event] = {}
        self._number = 0
        if kinds & {"widget.added", "widget.removed"}:
            child.say({"c": "children"})

    def compare(self, display: str | None) -> None:
        """Report what was there before this attachment and is not now, and listen to the X display
        from now on."""
        self._display = DisplayListener(
            display, self.take, self._child.say, self._sink, self._patience
        )
        windows = self._fold.model.windows
        open_ = {handle(id_) for id_, window in windows.items() if window.open}
        self._remembered.compare(self._programs(), open_, self._sink)
        log.info("The desktop is watched.", programs=sorted(self._programs()))

    def _programs(self) -> set[str]:
        """Return the names of the programs that are known."""
        return {app.name for app in self._fold.model.apps.values()}

    def take(self, message: Message) -> None:
        """Follow one message of the child."""
        match message["t"]:
            case "fence":
                passed = self._fences.pop(message["n"], None)
                if passed is not None:
                    passed.set()
            case "unread":
                self._drop("what the accessibility child said can't be read")
            case "hit":
                if self._display is not None:
                    self._display.hit(message)
            case _:
                self._feed(message)

    def _feed(self, message: Message) -> None:
        """Fold a message, report what comes of it, and read what is due once events rest."""
        message.setdefault("at", round(self._loop.time() * 1000))
        for observation in self._fold.feed(message):
            self._tell(observation)
        if not self._fold.due:
            return
        if message["t"] == "event":
            self._heard_at = self._loop.time()
        if self._timer is None:
            self._due_since = self._loop.time()
            self._timer = self._loop.call_later(REST_S, self._rested)

    def _tell(self, observation: AxObservation) -> None:
        """Remember an observation, and report it if its kind is asked for."""
        self._remembered.follow(observation.kind, observation.data)
        if observation.kind in self._kinds or observation.kind.startswith(("gap.", "alarm.")):
            self._sink(observation.kind, observation.data)

    def _rested(self) -> None:
        """Read the widgets that are due, or wait on while events come, but not for ever."""
        now = self._loop.time()
        due = min(self._heard_at + REST_S, self._due_since + MAX_REST_S)
        if now < due:
            self._timer = self._loop.call_at(due, self._rested)
            return
        self._timer = None
        ids = self._fold.take_due()
        if ids:
            self._child.say({"c": "read", "ids": ids})

    async def fence(self, timeout_s: float) -> Passed:
        """See `AxSource.fence`: twice where the first brought something that has to be read."""
        passed = Passed.NONE

        async def pass_fences() -> None:
            """Pass what was done before this moment: events, clicks that still run, then what those
            left to be read."""
            nonlocal passed
            await self._fence()
            passed = Passed.HEARD
            if self._display is not None:
                await self._display.wait_settled()
            if self._fold.due:
                await self._fence()

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await pass_fences()
                passed = Passed.READ
        return passed

    async def _fence(self) -> None:
        self._number += 1
        passed = self._fences[self._number] = asyncio.Event()
        self._child.say({"c": "fence", "n": self._number, "ids": self._fold.take_due()})
        await passed.wait()

    async def wait_settled(self, quiet_s: float, longest_s: float, *, closing: bool) -> None:
        """Fence again and again until nothing was due for ``quiet_s``, and no program is waited
        for. ``closing``: what is not read now never is."""
        deadline = self._loop.time() + longest_s
        passed = Passed.NONE
        while True:
            passed = max(passed, await self.fence(deadline - self._loop.time()))
            quiet_at = self._heard_at + quiet_s
            if self._display is not None and self._display.is_undecided:
                quiet_at = self._loop.time() + REVIEW_S
            wait = min(quiet_at, deadline) - self._loop.time()
            if wait <= 0:
                break
            await asyncio.sleep(wait)
        if self._display is not None:
            self._display.decide()
        if passed < (Passed.READ if closing else Passed.HEARD):
            self._drop(f"the accessibility child did not answer within {longest_s:g} s")

    def _drop(self, reason: str) -> None:
        log.warning("Something of the desktop is lost.", why=reason)
        self._sink("events.dropped", {"source": "ax", "count": 1, "reason": reason})

    async def review(self) -> None:
        """Look every `REVIEW_S` whether programs that run unobserved ended, or were started
        again."""
        while True:
            await asyncio.sleep(REVIEW_S)
            self._remembered.review(self._programs(), self._sink)
            if self._display is not None:
                self._display.review(app.pid for app in self._fold.model.apps.values())

    async def end(self) -> None:
        """Stop the timer and the display, and let go who waits at a fence."""
        if self._display is not None:
            await self._display.close()
        if self._timer is not None:
            self._timer.cancel()
        for passed in self._fences.values():
            passed.set()

"""The clipboard source: every change of owner or content, with the text where its owner gives it.

Reading is what any program does that pastes: it takes no ownership and changes nothing of what the
next paste gives. There is one exception, a program that gives its selection away once and no more
(``xclip -loops 1``): for such a sandbox there is ``unread_reason``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

import structlog

from agentd.core.patience import DEFAULT_PATIENCE, Patience
from agentd.core.plan import EpisodePlan
from agentd.core.source import Sink
from agentd.core.worker_thread import SourceThread
from agentd.masking import Masker
from agentd.sources.clipboard.display import ClipboardDisplay, Owned, program
from agentd.sources.clipboard.reading import WHOLE_S, Reader, SelectionReading
from detectors.model.kinds.desktop import ClipboardChanged

MAX_TEXT_LENGTH = 10_000
"""Characters of a text that are reported."""
REST_S = 0.2
"""How long PRIMARY must rest, in seconds: to a mouse that selects each letter is a new one."""
UNSEEN = ("timeout", "refused", "unasked")
"""Why there is no text where there may be one, which nobody but its owner knows."""
STEP_S = 1.0
"""The longest that a step's seal waits for a text that the fence did not bring, in seconds."""
CLOSE_S = WHOLE_S + 1.0
"""The same of the episode's close: longer than any text is read."""
_IDLE_S = 60.0
_NOW = 0  # X's CurrentTime

log = structlog.get_logger(__name__)


class ClipboardSource:
    """Watches the selections of the X display ``display`` (as in ``:0``).

    ``words``: "clipboard", "primary" or both, and "unread" where texts are not to be asked for.
    ``plan``: the episode's, of which ``mask`` is read. ``patience`` multiplies how long an owner
    has for its text.
    """

    name = "clipboard"

    def __init__(
        self,
        display: str,
        words: Collection[str],
        plan: EpisodePlan,
        patience: Patience = DEFAULT_PATIENCE,
    ) -> None:
        self._patience = patience
        self._display = display
        self._words = words
        self._masker = Masker(plan.get("mask", ()))
        self._live: tuple[SourceThread, _ClipboardWatch] | None = None
        self._late = False

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        """Report what is held, then every change; raises `SourceLostError` when the display is
        gone."""
        watch = _ClipboardWatch(self._display, self._words, self._masker, self._patience)
        worker = SourceThread("clipboard", watch.work, sink, ready)
        self._live = worker, watch
        try:
            await worker.run()
        finally:
            self._live = None

    async def fence(self, timeout_s: float) -> None:
        """Return once every change before is reported, at most after ``timeout_s`` seconds."""
        if self._live is not None:
            worker, watch = self._live
            self._late = not await worker.ask(watch.catch_up, timeout_s)

    async def before_seal(self, step: int | None, *, closing: bool) -> None:
        """Wait for what the last fence did not bring: an owner may take its time. What does not
        come then is a loss."""
        if self._live is None or not self._late:
            return
        worker, _ = self._live
        longest_s = self._patience.extend(CLOSE_S if closing else STEP_S)
        await self.fence(longest_s)
        if self._late:
            reason = f"what was copied was not read within {longest_s:g} s"
            worker.sink("events.dropped", {"source": self.name, "reason": reason})

    def after_seal(self, step: int) -> None:
        """Do nothing: texts are read before the seal."""


class _ClipboardWatch:
    """One life of the source, in its thread."""

    def __init__(
        self, display: str, words: Collection[str], masker: Masker, patience: Patience
    ) -> None:
        self._patience = patience
        self._name = display
        self._words = words
        self._masker = masker
        self._selections: dict[int, str] = {}
        self._resting: dict[int, tuple[Owned, float]] = {}

    def work(self, worker: SourceThread) -> None:
        """Watch until the worker is stopped; raises `SourceLostError` when the display is gone."""
        self._worker = worker
        self._display = display = ClipboardDisplay(self._name)
        try:
            self._reader = Reader(
                display,
                lambda s: worker.pause(s, display.fileno),
                lambda: worker.stopping,
                self._patience,
            )
            self._begin()
            while not worker.stopping:
                self._look()
                worker.answer()
                # What a round trip brought along is in memory already: no descriptor shows it.
                self._look()
                worker.pause(self._until_rested(), display.fileno)
        finally:
            display.close()

    def _begin(self) -> None:
        """Watch the selections that are asked for, and tell what stands in them at the start."""
        for word in ("clipboard", "primary"):
            if word in self._words:
                selection = self._display.atom(word.upper())
                self._selections[selection] = word
                self._display.watch(selection)
        for selection in self._selections:
            owner = self._display.owner(selection)
            if owner:
                self._tell(Owned(selection, owner, _NOW), baseline=True)
        self._worker.ready()

    def catch_up(self) -> None:
        """Report all that changed until now."""
        self._display.sync()
        self._look()
        for owned, _ in list(self._resting.values()):
            self._tell(owned)
        self._resting.clear()

    def _look(self) -> None:
        """Tell each change; of what is only marked, once it rests."""
        for _ in self._reader.take_in():
            pass  # an answer that came too late
        changes = self._reader.others
        while changes and not self._worker.stopping:
            owned = changes.popleft()
            if self._selections[owned.selection] == "primary":
                self._resting[owned.selection] = owned, time.monotonic() + REST_S
            elif not self._claimed_again(owned):
                self._tell(owned)
        for owned, rested in list(self._resting.values()):
            if rested <= time.monotonic():
                del self._resting[owned.selection]
                self._tell(owned)

    def _claimed_again(self, owned: Owned) -> bool:
        """Return whether the same owner took the same selection again since: programs do so in
        bursts, for one copy."""
        return any(other[:2] == owned[:2] for other in self._reader.others)

    def _until_rested(self) -> float:
        """Return the seconds until the next marked text has rested."""
        return min(
            (rested - time.monotonic() for _, rested in self._resting.values()), default=_IDLE_S
        )

    def _tell(self, owned: Owned, *, baseline: bool = False) -> None:
        """Report what a selection holds, unless its owner took it again meanwhile."""
        data: ClipboardChanged = {"selection": self._selections[owned.selection]}
        if owned.owner:
            self._add_owner(data, owned.owner)
            reading = self._read(owned)
            if reading.unread == "superseded" and self._claimed_again(owned):
                return
            self._add_text(data, reading)
        else:
            data["length"] = 0
        if baseline:
            data["baseline"] = True
            self._worker.tell("clipboard.changed", data)
        elif data.get("unread_reason") in UNSEEN:
            self._tell_unseen(data)
        else:
            self._worker.tell("clipboard.changed", data)

    def _tell_unseen(self, data: ClipboardChanged) -> None:
        """Report a change whose text may be there and is not known, in a gap of its own."""
        part = {"source": "clipboard", "part": "text"}
        reason = (
            f"the text that was copied to {data['selection']} is not known: {data['unread_reason']}"
        )
        self._worker.tell("gap.began", part | {"reason": reason})
        self._worker.tell("clipboard.changed", data)
        self._worker.tell("gap.ended", part)

    def _read(self, owned: Owned) -> SelectionReading:
        """Read what the owner has, or say why not: nobody asks, or it is no more."""
        if "unread" in self._words:
            return SelectionReading(unread="unasked")
        if any(other.selection == owned.selection for other in self._reader.others):
            return SelectionReading(unread="superseded")
        return self._reader.read(owned.selection, owned.time)

    def _add_owner(self, data: ClipboardChanged, window: int) -> None:
        """Add which program owns the selection, as far as that is known."""
        pid = self._display.pid(window)
        name = program(pid) if pid else ""
        app = self._display.app(window) or name
        if app:
            data["app"] = app
        if name:
            data["pid"] = pid

    def _add_text(self, data: ClipboardChanged, reading: SelectionReading) -> None:
        """Add the text without secrets, or why there is none."""
        if reading.types:
            data["types"] = list(reading.types)
        if reading.unread is not None or reading.start is None:
            data["unread_reason"] = reading.unread or "no text"
            return
        text = self._masker.mask_text(reading.start)
        data["text"] = text[:MAX_TEXT_LENGTH]
        data["length"] = reading.length
        if text == reading.start:  # the hash of a short secret gives it away
            data["sha256"] = reading.sha256
        if reading.length > MAX_TEXT_LENGTH:
            data["cut"] = True

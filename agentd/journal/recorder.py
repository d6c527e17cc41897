"""Where all observations meet: stamps the time, numbers them in the journal, calls the listeners.

Commits are grouped: an event waits at most `FLUSH_S` in memory, and whoever needs it on disk now
calls `flush`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import structlog

from agentd.core.clock import EpisodeClock
from agentd.core.source import Sink
from agentd.journal.journal import SEGMENT_EVENTS, Journal
from detectors.model.kinds import KINDS

FLUSH_S = 0.005
RETRY_S = 0.5
"""How often a full disk is tried again, in seconds."""

LOOKS = "visual"
"""The source of what was seen, whichever source reports it: its loss leaves no step unknown."""
VISUAL_KINDS = frozenset(name for name, kind in KINDS.items() if kind.source == LOOKS)
OF_SOURCES = frozenset(("gap.began", "gap.ended", "alarm.raised", "alarm.ended", "events.dropped"))
"""The journal's own kinds that a source may report."""

_SOURCE_OF_KIND = dict.fromkeys(VISUAL_KINDS, LOOKS) | dict.fromkeys(OF_SOURCES, "journal")

log = structlog.get_logger(__name__)


class Listener(Protocol):
    """Called with every event just numbered, on the loop's thread."""

    def __call__(self, source: str, kind: str) -> None: ...


class Recorder:
    """The one way into the journal. Not thread-safe: call it on the loop's thread."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        origin, boot, last = journal.clock_marks()
        self.clock = EpisodeClock.resume(origin, boot, last)
        journal.set_clock(self.clock.origin)
        self._listeners: list[Listener] = []
        self._look: Callable[[], None] | None = None
        self._is_looking = False
        self._timer: asyncio.TimerHandle | None = None
        self._was_full = False
        self.closed = False
        """Whether the episode is closed: then nothing follows, and `append` takes nothing."""

    def listen(self, listener: Listener) -> None:
        """Call ``listener`` with every event from now on."""
        self._listeners.append(listener)

    def look_before(self, look: Callable[[], None]) -> None:
        """Call ``look`` before each event of a source is numbered: what it appends comes first."""
        self._look = look

    def append(self, source: str, kind: str, data: Mapping[str, object]) -> int | None:
        """Journal one event now; returns its number.

        None: it had to be dropped, which is counted and journalled in its turn.
        """
        if source != "steps":
            self.look()
        if self.closed:
            return None
        seq = self.journal.append(source, kind, data, self.clock.now())
        if seq is not None:
            self.closed = kind == "episode.closed"
            for listener in self._listeners:
                listener(source, kind)
        if self.journal.pending >= SEGMENT_EVENTS:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self.flush)
        return seq

    def look(self) -> None:
        """Have what was written before now numbered first, unless that is under way."""
        if self._look is not None and not self._is_looking:
            with self.looking_later():
                self._look()

    @contextmanager
    def looking_later(self) -> Iterator[None]:
        """Number what is appended within without looking first, so that nothing comes between."""
        was_looking, self._is_looking = self._is_looking, True
        try:
            yield
        finally:
            self._is_looking = was_looking

    def adopt(self, through: int, head: str, at: int) -> int:
        """Go on after the service's log, as the journal does, and after its time ``at``; see
        `Journal.adopt`."""
        lacking = self.journal.adopt(through, head, at)
        self.clock.adopt(at)
        self.journal.set_clock(self.clock.origin)
        return lacking

    def sink(self, source: str) -> Sink:
        """Return what a source of that name reports into."""

        def report(kind: str, data: Mapping[str, object]) -> None:
            self.append(_SOURCE_OF_KIND.get(kind, source), kind, data)

        return report

    def flush(self) -> bool:
        """Put everything appended on disk.

        False: the disk is full; it is tried again every `RETRY_S`, without another call.
        """
        self._disarm()
        kept = self.journal.flush(self.clock.now())
        if not kept or self.journal.pending:
            delay = FLUSH_S if kept else RETRY_S
            self._timer = asyncio.get_running_loop().call_later(delay, self.flush)
        self._log_change(full=not kept)
        return kept

    def _log_change(self, *, full: bool) -> None:
        """Log that the journal is full, or no longer so, once each."""
        if full == self._was_full:
            return
        self._was_full = full
        if full:
            log.error(
                "The journal takes no more events; what comes is counted as dropped.",
                why=self.journal.full,
            )
        else:
            log.info("The journal takes events again.")

    def _disarm(self) -> None:
        """Cancel the timer of the next commit, if one runs."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        """Flush for the last time and close the journal's file."""
        self._disarm()
        self.journal.flush(self.clock.now())
        self.journal.flush()
        self.journal.close()

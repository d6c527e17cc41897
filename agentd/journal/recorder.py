"""Where all observations meet: stamps the time, numbers them in the journal, wakes whom they
concern.

Commits are grouped: an event waits at most `FLUSH_S` in memory, and whoever needs it on disk now
calls `flush`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

import structlog

from agentd.core.clock import EpisodeClock
from agentd.core.source import Sink
from agentd.journal.journal import SEGMENT_EVENTS, Journal
from detectors.model.kinds import KINDS

FLUSH_S = 0.005
RETRY_S = 0.5
"""How often a full disk is tried again, in seconds."""

LOOKS = "visual"
"""Whoever tells it, what was seen is of a source of its own: that it is lost is a loss of nothing that counts."""
VISUAL_KINDS = frozenset(name for name, kind in KINDS.items() if kind.source == LOOKS)
OF_SOURCES = frozenset(("gap.began", "gap.ended", "alarm.raised", "alarm.ended", "journal.dropped"))
"""The journal's own kinds that a source may tell."""

log = structlog.get_logger(__name__)


class Listener(Protocol):
    """Told of every event just numbered, on the loop's thread."""

    def __call__(self, source: str, kind: str) -> None: ...


class Recorder:
    """The one way into the journal. Not thread-safe: call it on the loop's thread."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        origin, boot, last = journal.clock_marks()
        self.clock = EpisodeClock.resume(origin, boot, last)
        journal.set_clock(self.clock.origin)
        self._listeners: list[Listener] = []
        self._timer: asyncio.TimerHandle | None = None
        self._was_full = False
        self.closed = False
        """Whether the episode is closed: then nothing follows, and `append` takes nothing."""

    def listen(self, listener: Listener) -> None:
        """Tell ``listener`` of every event from now on."""
        self._listeners.append(listener)

    def append(self, source: str, kind: str, data: Mapping[str, Any]) -> int | None:
        """Journal one event now; None if it had to be dropped, which is counted and journalled in
        its turn."""
        if self.closed:
            return None
        self.closed = kind == "episode.closed"
        seq = self.journal.append(source, kind, data, self.clock.now())
        if seq is None:
            self.closed = False
        else:
            for listener in self._listeners:
                listener(source, kind)
        if self.journal.pending >= SEGMENT_EVENTS:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self.flush)
        return seq

    def adopt(self, through: int, head: str, at: int) -> int:
        """Go on after the service's log, as the journal does, and after its time ``at``; see
        `Journal.adopt`."""
        lacking = self.journal.adopt(through, head, at)
        self.clock.adopt(at)
        self.journal.set_clock(self.clock.origin)
        return lacking

    def sink(self, source: str) -> Sink:
        """What a source of that name reports into."""

        def report(kind: str, data: Mapping[str, Any]) -> None:
            self.append(
                "journal" if kind in OF_SOURCES else LOOKS if kind in VISUAL_KINDS else source,
                kind,
                data,
            )

        return report

    def flush(self) -> bool:
        """Put everything appended on disk; False where the disk is full: it is tried again by
        itself."""
        self._disarm()
        kept = self.journal.flush(self.clock.now())
        if not kept or self.journal.pending:
            self._timer = asyncio.get_running_loop().call_later(
                RETRY_S if not kept else FLUSH_S, self.flush
            )
        self._tell(full=not kept)
        return kept

    def _tell(self, *, full: bool) -> None:
        if full and not self._was_full:
            log.error(
                "The journal takes no more events; what comes is counted as dropped.",
                why=self.journal.full,
            )
        elif self._was_full and not full:
            log.info("The journal takes events again.")
        self._was_full = full

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        """Flush for the last time and close the journal's file."""
        self._disarm()
        self.journal.flush(self.clock.now())
        self.journal.flush()
        self.journal.close()

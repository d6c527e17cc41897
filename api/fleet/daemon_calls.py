"""When an episode's daemon was last heard of, by this replica's own monotonic clock.

A daemon outside the fleet sends no beats, and one with an episode few, but it always waits for
commands, at most for `CALL` of the time after which a sandbox is lost, and then calls again; its
segments count, too. Each replica is told of both, wherever they came in. Of a daemon that never
called since this replica began, nothing was heard since then.
"""

from __future__ import annotations

import time

from api.core.notify import CALLED, LOG, Notifier, called_of
from detectors.model.caches import SizedCache
from detectors.model.memory import size_of

CALL = 1 / 2
SILENT = 3 / 4
"""How long a daemon waits for commands, and after how long it counts as silent, as parts of the
time after which a sandbox of the fleet is lost."""
AGAIN = 1 / 9
"""How soon after a call that all replicas were told of they are told of another one, as a part of
the time after which a daemon counts as silent: each word is a transaction of Postgres."""
CALLS_BYTES = 16 * 1024 * 1024
"""Bytes of the calls that are remembered: of some 60,000 daemons."""
_NEARLY_ALL = 0.9


class DaemonCalls:
    """The latest call of each daemon. One that did not call for ``silent_s`` is silent."""

    def __init__(self, notifier: Notifier, silent_s: float) -> None:
        self._notifier, self._silent_s = notifier, silent_s
        self._began = time.monotonic()
        self.kept: SizedCache[str, float] = SizedCache(CALLS_BYTES)
        for what in (CALLED, LOG):
            notifier.subscribe(what, self.note_call)

    def spread_call(self, episode: str) -> None:
        """The episode's daemon called here just now: tell every replica, unless they heard of it a
        moment ago."""
        called = self.kept.get(episode)
        if called is None or time.monotonic() - called >= self._silent_s * AGAIN:
            self._notifier.tell(called_of(episode))

    def note_call(self, episode: str) -> None:
        """The episode's daemon called just now, here or at another replica."""
        now = time.monotonic()
        self.kept.put(episode, now, size_of([episode, now]))

    def called_at(self, episode: str) -> float | None:
        """When the episode's daemon called last, in this process's monotonic time; None where that
        is not known."""
        return self.kept.get(episode)

    def silent_s(self, episode: str) -> float:
        """How long the episode's daemon has not called; 0 while it may be about to."""
        called = self.kept.get(episode)
        if called is None and self.kept.bytes > _NEARLY_ALL * self.kept.max_bytes:
            return 0.0  # it may have been forgotten for others
        silent = time.monotonic() - (self._began if called is None else called)
        return silent if silent > self._silent_s else 0.0

"""The episode's clock: nanoseconds since it opened, never going backwards, whatever happens to the
process.

CLOCK_MONOTONIC counts on through a restart of the process but starts anew at a boot. So the origin
is kept with the boot that it belongs to, and on another boot the clock continues from the last time
journalled.
"""

from __future__ import annotations

import time
from pathlib import Path

GRAIN_NS = 10_000
"""Times are rounded down to ten microseconds: finer ones are noise of the daemon's own, and a tenth
of the log's bytes."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Return the id of the running boot of this machine; "" where the system has none."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


class EpisodeClock:
    """``now()`` is nanoseconds since the episode opened, at least the last one given out."""

    def __init__(self, origin: int, last: int) -> None:
        self.origin = origin
        self._last = last

    @classmethod
    def resume(cls, origin: int | None, boot: str, last: int) -> EpisodeClock:
        """Return the clock of a journal that has ``origin`` and ``boot`` on record.

        ``origin``: None for a new episode; ``last``: the time of the journal's last event. Both are
        nanoseconds.
        """
        now = time.monotonic_ns()
        if origin is None or not boot or boot != boot_id():
            origin = now - last
        return cls(origin, last)

    def adopt(self, at: int) -> None:
        """Go on from ``at``, a time that was given out before and forgotten here, unless it is
        later already."""
        if at > self.now():
            self.origin = time.monotonic_ns() - at
            self._last = at

    def now(self) -> int:
        """Return the time of an event that is journalled now, in nanoseconds."""
        since = time.monotonic_ns() - self.origin
        self._last = max(self._last, since - since % GRAIN_NS)
        return self._last

"""Programs that run on but did not come back to the accessibility bus after it died: nothing of them is seen."""

from __future__ import annotations

from pathlib import Path

from agentd.sources.base import Sink

REASON = "unobservable: it runs, but did not come back to the accessibility bus after that was lost; start it again"


class Missing:
    """``names``: those that are told as missing, with their process ids."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.names: dict[str, int] = {}

    def expect(self, before: dict[str, int], now: set[str]) -> None:
        """Of the programs that were there ``before`` (name, process id), tell of those that still run and are not."""
        for name, pid in sorted(before.items()):
            if name not in now and _runs(pid):
                self.names[name] = pid
                self._sink("gap.began", {"source": "ax", "of": name, "reason": REASON})
                self._sink("alarm.raised", {"source": "ax", "of": name, "reason": REASON})

    def appeared(self, name: str) -> None:
        """A program is on the bus."""
        if self.names.pop(name, None) is not None:
            self._end(name)

    def review(self) -> None:
        """One that ended is missed no more."""
        for name, pid in list(self.names.items()):
            if not _runs(pid):
                del self.names[name]
                self._end(name)

    def _end(self, name: str) -> None:
        self._sink("gap.ended", {"source": "ax", "of": name})
        self._sink("alarm.ended", {"source": "ax", "of": name})


def _runs(pid: int) -> bool:
    """Whether a process with that id runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False

"""What was told of programs and windows, across the lives of the child and of the daemon.

Ids on the accessibility bus live as long as the bus, so what was there before a loss and is not
after it is told as gone, late as it is. A program that runs on but did not come back to the bus, as
when the bus itself died, is not gone: nothing of it is seen, and that is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agentd.core.source import Sink

REASON = (
    "unobservable: it runs, but did not come back to the accessibility bus after that was lost;"
    " start it again"
)


class Remembered:
    """Programs (name to process id) and windows (id to what was told last). ``missing``: programs
    that run unseen."""

    def __init__(self) -> None:
        self.programs: dict[str, int] = {}
        self.windows: dict[str, dict[str, Any]] = {}
        self.missing: set[str] = set()

    def follow(self, kind: str, data: Mapping[str, Any]) -> None:
        """Something was told."""
        match kind:
            case "app.appeared":
                self.programs[data["app"]] = data.get("pid", 0)
            case "app.vanished":
                self.programs.pop(data["app"], None)
            case "window.opened" | "window.titled":
                self.windows[data["window"]] = {
                    key: value
                    for key, value in data.items()
                    if key in ("app", "window", "role", "title")
                }
            case "window.closed":
                self.windows.pop(data["window"], None)

    def recall(self, events: Iterable[tuple[int, str, Mapping[str, Any]]]) -> None:
        """Follow what a daemon before this one told."""
        for _, kind, data in events:
            self.follow(kind, data)

    def compare(self, programs: set[str], windows: set[str], sink: Sink) -> None:
        """After a new attachment: tell what is gone, and which programs run unseen."""
        unseen = {
            name for name, pid in self.programs.items() if name not in programs and _runs(pid)
        }
        for window, data in list(self.windows.items()):
            if window not in windows and data["app"] not in unseen:
                self._say(sink, "window.closed", data)
        for name in sorted(self.programs.keys() - programs - unseen):
            self._say(sink, "app.vanished", {"app": name})
        self.missing = unseen
        for name in sorted(unseen):
            sink("gap.began", {"source": "ax", "of": name, "reason": REASON})
            sink("alarm.raised", {"source": "ax", "of": name, "reason": REASON})

    def review(self, programs: set[str], sink: Sink) -> None:
        """A missing program may have ended, or come back as another process."""
        for name in sorted(self.missing):
            if name in programs or not _runs(self.programs.get(name, 0)):
                self.missing.discard(name)
                for window, data in list(self.windows.items()):
                    if data["app"] == name and name not in programs:
                        self._say(sink, "window.closed", self.windows[window])
                if name not in programs:
                    self._say(sink, "app.vanished", {"app": name})
                sink("gap.ended", {"source": "ax", "of": name})
                sink("alarm.ended", {"source": "ax", "of": name})

    def _say(self, sink: Sink, kind: str, data: dict[str, Any]) -> None:
        self.follow(kind, data)
        sink(kind, data)


def _runs(pid: int) -> bool:
    """Whether a process with that id runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False

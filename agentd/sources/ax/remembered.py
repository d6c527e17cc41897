"""What was reported of programs and windows, across the lives of the child and of the daemon.

Ids on the accessibility bus live as long as the bus, so what was there before a loss and is not
after it is reported as gone, late as it is. A program that runs on but did not come back to the
bus, as when the bus itself died, is not gone: nothing of it is observed, which is a gap.
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
        self.windows: dict[str, dict[str, object]] = {}
        self.missing: set[str] = set()

    def follow(self, kind: str, data: Mapping[str, Any]) -> None:
        """Take in one event that was reported."""
        match kind:
            case "app.appeared":
                self.programs[data["app"]] = data.get("pid", 0)
            case "app.vanished":
                self.programs.pop(data["app"], None)
            case "window.opened" | "window.title_changed":
                kept = data.keys() & {"app", "window", "role", "title"}
                self.windows[data["window"]] = {
                    key: value for key, value in data.items() if key in kept
                }
            case "window.closed":
                self.windows.pop(data["window"], None)

    def recall(self, events: Iterable[tuple[int, str, Mapping[str, object]]]) -> None:
        """Take in what a daemon before this one reported."""
        for _, kind, data in events:
            self.follow(kind, data)

    def compare(self, programs: set[str], windows: set[str], sink: Sink) -> None:
        """Report, after a new attachment, what is gone and which programs run unobserved.

        ``programs``: the names of those on the bus; ``windows``: the ids of those that are open.
        """
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
            sink("gap.began", {"source": "ax", "part": name, "reason": REASON})
            sink("alarm.raised", {"source": "ax", "part": name, "reason": REASON})

    def review(self, programs: set[str], sink: Sink) -> None:
        """Look whether a missing program ended, or came back as another process."""
        for name in sorted(self.missing):
            if name not in programs and _runs(self.programs.get(name, 0)):
                continue
            self.missing.discard(name)
            if name not in programs:
                for data in list(self.windows.values()):
                    if data["app"] == name:
                        self._say(sink, "window.closed", data)
                self._say(sink, "app.vanished", {"app": name})
            sink("gap.ended", {"source": "ax", "part": name})
            sink("alarm.ended", {"source": "ax", "part": name})

    def _say(self, sink: Sink, kind: str, data: dict[str, object]) -> None:
        self.follow(kind, data)
        sink(kind, data)


def _runs(pid: int) -> bool:
    """Return whether a process with that id runs; one that ended and was not waited for does
    not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False

"""What one step did on the desktop, to files, and by tools, counted from its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from api.stages.model.words import plain
from detectors.model.types import Event

MAX_PRESSED = 20


@dataclass(slots=True)
class DeskStep:
    """What came in one step."""

    opened: int = 0
    closed: int = 0
    dialogs: int = 0
    pressed: list[str] = field(default_factory=list)
    """Names of buttons and menu items that were activated, as plain words."""
    written: int = 0
    switched: int = 0
    made: int = 0
    changed: int = 0
    moved: int = 0
    lost: int = 0
    read: int = 0
    programs: list[str] = field(default_factory=list)
    copied: int = 0
    calls: list[str] = field(default_factory=list)
    """Tools with their arguments, as texts."""
    failures: int = 0
    answered: int = 0
    notices: int = 0
    seen: float = -1.0
    """The share of the screen that the step's picture shows changed; -1 without one."""

    def fold(self, event: Event) -> None:
        """Count one more event of the step."""
        count = _COUNTERS.get(event.kind)
        if count is not None and not event.data.get("baseline") and not event.data.get("initial"):
            count(self, event.data)

    @property
    def quiet(self) -> bool:
        """Whether nothing came of it on the desktop."""
        counts = (self.opened, self.closed, self.written, self.switched, self.copied, self.answered)
        files = (self.made, self.changed, self.moved, self.lost)
        return not (any(counts) or any(files) or self.calls or self.pressed)


def _open(step: DeskStep, data: Mapping[str, Any]) -> None:
    step.opened += 1
    step.dialogs += data.get("role") in ("dialog", "alert")


def _press(step: DeskStep, data: Mapping[str, Any]) -> None:
    if len(step.pressed) < MAX_PRESSED:
        step.pressed.append(plain(str(data["widget"].get("name") or "")))


def _call(step: DeskStep, data: Mapping[str, Any]) -> None:
    if len(step.calls) < MAX_PRESSED:
        step.calls.append(f"{data.get('tool')} {data.get('arguments')}"[:2_000])


def _return(step: DeskStep, data: Mapping[str, Any]) -> None:
    step.failures += not data.get("ok")


def _begin(step: DeskStep, data: Mapping[str, Any]) -> None:
    if len(step.programs) < MAX_PRESSED:
        step.programs.append(plain(str(data.get("name") or "")))


def _look(step: DeskStep, data: Mapping[str, Any]) -> None:
    changed = data.get("changed")
    step.seen = float(changed) if isinstance(changed, int | float) else step.seen


def _counter(name: str) -> Callable[[DeskStep, Mapping[str, Any]], None]:
    def count(step: DeskStep, data: Mapping[str, Any]) -> None:
        setattr(step, name, getattr(step, name) + 1)

    return count


_COUNTERS: dict[str, Callable[[DeskStep, Mapping[str, Any]], None]] = {
    "window.opened": _open,
    "window.closed": _counter("closed"),
    "widget.activated": _press,
    "widget.text_changed": _counter("written"),
    "widget.value_changed": _counter("switched"),
    "widget.state_changed": _counter("switched"),
    "file.created": _counter("made"),
    "file.modified": _counter("changed"),
    "file.moved": _counter("moved"),
    "file.deleted": _counter("lost"),
    "file.read": _counter("read"),
    "process.started": _begin,
    "clipboard.changed": _counter("copied"),
    "agent.tool_called": _call,
    "agent.tool_returned": _return,
    "agent.answered": _counter("answered"),
    "notification.shown": _counter("notices"),
    "screen.captured": _look,
}

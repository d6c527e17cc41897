"""What one step did, folded from its events before it is a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from api.stages.model.screen import Filled, Screen, shown
from detectors.types import Event


@dataclass(slots=True)
class Step:
    """What one step did, before it is a row."""

    typed: bool = False
    clicks: list[Mapping[str, Any]] = field(default_factory=list)
    changed: list[tuple[Filled | None, Filled]] = field(default_factory=list)
    came: list[str] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    before: int = 0
    errors: int = 0
    status: int = 0
    dialog: int = 0
    downloaded: int = 0
    navigated: int = 0
    tabs: int = 0
    in_view: float = 0.0

    def hear(self, event: Event, screen: Screen) -> None:
        """One more event of it, before the screen takes it."""
        hear = _HEARS.get(event.kind)
        if hear is not None and not event.data.get("baseline"):
            hear(self, screen, event.data)


def types_keys(action: Any) -> bool:
    """Whether the harness says that keys were used."""
    said = str(action)[:200].lower()
    return any(word in said for word in ("type", "fill", "press", "key", "text"))


def _clicked(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    if data.get("trusted"):
        step.clicks.append(data["element"])


def _filled(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    key = (str(data.get("frame")), str(data["field"]))
    before = screen.fields.get(key)
    screen.fill(data)
    after = screen.fields.get(key)
    if after is not None and after != before:
        step.changed.append((before, after))


def _element(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    step.added += 1
    step.came.append(shown(data["element"]).name)


def _text(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    step.added += 1
    step.came.append(str(data["text"]))


def _gone(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    step.removed += 1


def _went(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    step.navigated += bool(data.get("main"))


def _answered(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    if data.get("type") in ("Document", "XHR", "Fetch"):
        status = int(data.get("status") or 0)
        step.status = max(step.status, status // 100)
        step.errors += status >= 400


def _broke(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    step.errors += not data.get("canceled")


def _dialog(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    step.dialog += 1
    step.came.append(str(data.get("message") or ""))


def _download(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    step.downloaded += 1


def _tab(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    step.tabs += 1


_HEARS = {
    "element.clicked": _clicked,
    "field.filled": _filled,
    "element.appeared": _element,
    "text.appeared": _text,
    "element.disappeared": _gone,
    "text.disappeared": _gone,
    "page.navigated": _went,
    "request.finished": _answered,
    "request.failed": _broke,
    "page.failed": _broke,
    "dialog.opened": _dialog,
    "download.began": _download,
    "download.finished": _download,
    "tab.opened": _tab,
}

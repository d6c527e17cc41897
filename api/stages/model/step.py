"""What one step did, folded from its events before it is a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from api.stages.model.screen import Filled, Screen, shown_element
from detectors.model.types import Event


@dataclass(slots=True)
class Step:
    """What one step did, before it is a row."""

    typed: bool = False
    clicks: list[Mapping[str, Any]] = field(default_factory=list)
    hovered: list[str] = field(default_factory=list)
    focused: Mapping[str, Any] | None = None
    drops: list[Mapping[str, Any]] = field(default_factory=list)
    doubles: int = 0
    pasted: int = 0
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

    @property
    def quiet(self) -> bool:
        """Nothing on screen, in fields or in addresses changed."""
        return not (
            self.added or self.removed or self.changed or self.navigated or self.tabs or self.dialog
        )

    def hear(self, event: Event, screen: Screen) -> None:
        """One more event of it, before the screen takes it."""
        hear = _HEARS.get(event.kind)
        if hear is not None and not event.data.get("baseline"):
            hear(self, screen, event.data)


def types_keys(action: Any) -> bool:
    """Whether the harness says that keys were used."""
    said = str(action)[:200].lower()
    return any(word in said for word in ("type", "fill", "press", "key", "text"))


def typed_text(action: Any) -> str:
    """The text that the harness says is typed; nothing where it says none."""
    if not isinstance(action, Mapping):
        return ""
    return next(
        (
            str(action[name])[:200]
            for name in ("text", "value")
            if isinstance(action.get(name), str)
        ),
        "",
    )


def _clicked(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    if data.get("trusted"):
        element = data["element"]
        if (
            step.focused is not None
            and element.get("role") == "generic"
            and not element.get("name")
        ):
            data = {
                **data,
                "element": step.focused,
            }  # the press went to it, and then the page changed
        step.clicks.append(data)


def _focused(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    if data.get("trusted"):
        step.focused = data["element"]


def _hovered(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    if data.get("trusted"):
        step.hovered.append(shown_element(data["element"]).name)


def _doubled(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    step.doubles += bool(data.get("trusted"))


def _dropped(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    if data.get("trusted") and isinstance(data.get("element"), Mapping):
        step.drops.append(data)


def _pasted(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    step.pasted += 1


def _filled(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    key = (str(data.get("frame")), str(data["field"]))
    before = screen.fields.get(key)
    screen.fill(data)
    after = screen.fields.get(key)
    if after is not None and after != before:
        step.changed.append((before, after))


def _element(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    step.added += 1
    step.came.append(shown_element(data["element"]).name)


def _text(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    step.added += 1
    step.came.append(str(data["text"]))


def _remove_field(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
    step.removed += 1


def _navigate(step: Step, screen: Screen, data: Mapping[str, Any]) -> None:
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
    "element.double_clicked": _doubled,
    "element.dropped": _dropped,
    "element.focused": _focused,
    "element.hovered": _hovered,
    "text.pasted": _pasted,
    "field.filled": _filled,
    "element.appeared": _element,
    "text.appeared": _text,
    "element.disappeared": _remove_field,
    "text.disappeared": _remove_field,
    "page.navigated": _navigate,
    "request.finished": _answered,
    "request.failed": _broke,
    "page.failed": _broke,
    "dialog.opened": _dialog,
    "download.began": _download,
    "download.finished": _download,
    "tab.opened": _tab,
}

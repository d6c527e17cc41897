"""What one step did, folded from its events before it is a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from api.stages.model.screen import EventData, Filled, Screen, field_key, shown_element
from detectors.model.types import Event, Json

MAX_ACTION = 200
"""Characters of what the harness says of its action that are read."""


@dataclass(slots=True)
class Step:
    """What one step did, before it is a row."""

    typed: bool = False
    clicks: list[EventData] = field(default_factory=list)
    hovered: list[str] = field(default_factory=list)
    focused: EventData | None = None
    drops: list[EventData] = field(default_factory=list)
    doubles: int = 0
    pasted: int = 0
    changed: list[tuple[Filled | None, Filled]] = field(default_factory=list)
    """Fields before and after."""
    appeared: list[str] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    before: int = 0
    """The size of the screen when it began."""
    errors: int = 0
    status: int = 0
    dialog: int = 0
    downloaded: int = 0
    navigated: int = 0
    tabs: int = 0
    in_view: float = 0.0

    @property
    def quiet(self) -> bool:
        """Whether nothing on screen, in fields or in addresses changed."""
        counts = (self.added, self.removed, self.navigated, self.tabs, self.dialog)
        return not self.changed and not any(counts)

    def fold(self, event: Event, screen: Screen) -> None:
        """Apply one more event of the step; ``screen`` is as it was before the event."""
        apply = _HANDLERS.get(event.kind)
        if apply is not None and not event.data.get("baseline"):
            apply(self, screen, event.data)


def types_keys(action: Json) -> bool:
    """Whether the harness says that keys were used."""
    text = str(action)[:MAX_ACTION].lower()
    return any(word in text for word in ("type", "fill", "press", "key", "text"))


def typed_text(action: Json) -> str:
    """Return the text that the harness says is typed; an empty one where it says none."""
    if isinstance(action, Mapping):
        for name in ("text", "value"):
            if isinstance(action.get(name), str):
                return str(action[name])[:MAX_ACTION]
    return ""


def _add_click(step: Step, screen: Screen, data: EventData) -> None:
    if not data.get("trusted"):
        return
    element = data["element"]
    nameless = element.get("role") == "generic" and not element.get("name")
    if step.focused is not None and nameless:
        # The press went to what has the focus, and then the page changed.
        data = {**data, "element": step.focused}
    step.clicks.append(data)


def _set_focus(step: Step, screen: Screen, data: EventData) -> None:
    if data.get("trusted"):
        step.focused = data["element"]


def _add_hover(step: Step, screen: Screen, data: EventData) -> None:
    if data.get("trusted"):
        step.hovered.append(shown_element(data["element"]).name)


def _count_double_click(step: Step, screen: Screen, data: EventData) -> None:
    step.doubles += bool(data.get("trusted"))


def _add_drop(step: Step, screen: Screen, data: EventData) -> None:
    if data.get("trusted") and isinstance(data.get("element"), Mapping):
        step.drops.append(data)


def _count_paste(step: Step, screen: Screen, data: EventData) -> None:
    step.pasted += 1


def _fill(step: Step, screen: Screen, data: EventData) -> None:
    key = field_key(data)
    before = screen.fields.get(key)
    screen.fill(data)
    after = screen.fields.get(key)
    if after is not None and after != before:
        step.changed.append((before, after))


def _add_element(step: Step, screen: Screen, data: EventData) -> None:
    step.added += 1
    step.appeared.append(shown_element(data["element"]).name)


def _add_text(step: Step, screen: Screen, data: EventData) -> None:
    step.added += 1
    step.appeared.append(str(data["text"]))


def _count_removal(step: Step, screen: Screen, data: EventData) -> None:
    step.removed += 1


def _navigate(step: Step, screen: Screen, data: EventData) -> None:
    step.navigated += bool(data.get("main"))


def _add_response(step: Step, screen: Screen, data: EventData) -> None:
    if data.get("type") in ("Document", "XHR", "Fetch"):
        status = int(data.get("status") or 0)
        step.status = max(step.status, status // 100)
        step.errors += status >= 400


def _add_failure(step: Step, screen: Screen, data: EventData) -> None:
    step.errors += not data.get("canceled")


def _open_dialog(step: Step, screen: Screen, data: EventData) -> None:
    step.dialog += 1
    step.appeared.append(str(data.get("message") or ""))


def _count_download(step: Step, screen: Screen, data: EventData) -> None:
    step.downloaded += 1


def _count_tab(step: Step, screen: Screen, data: EventData) -> None:
    step.tabs += 1


_HANDLERS = {
    "element.clicked": _add_click,
    "element.double_clicked": _count_double_click,
    "element.dropped": _add_drop,
    "element.focused": _set_focus,
    "element.hovered": _add_hover,
    "text.pasted": _count_paste,
    "field.filled": _fill,
    "element.appeared": _add_element,
    "text.appeared": _add_text,
    "element.disappeared": _count_removal,
    "text.disappeared": _count_removal,
    "page.navigated": _navigate,
    "request.finished": _add_response,
    "request.failed": _add_failure,
    "page.failed": _add_failure,
    "dialog.opened": _open_dialog,
    "download.began": _count_download,
    "download.finished": _count_download,
    "tab.opened": _count_tab,
}

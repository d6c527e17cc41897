"""The fold over an episode's events to what an agent could have observed: bounded in items and in
bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import orjson

from api.rewards.observation import (
    ClipboardJson,
    DialogJson,
    FieldJson,
    FileJson,
    FocusJson,
    ObservationJson,
    PageJson,
    ScreenshotJson,
    TabJson,
    WindowJson,
)
from detectors.model.json_value import is_number, object_or_empty, text_or_none
from detectors.model.types import Event

MAX_FIELDS = 200
MAX_FILES = 200
MAX_WINDOWS = 50
MAX_TEXT = 1_000
"""Characters of one field's value and of one clipboard's text."""
MAX_PART_BYTES = 32_768
"""Bytes of one list in an observation; of what is longer the newest are kept."""
MAX_FRAMES = 64
"""Documents whose trees are remembered."""

Item = TypeVar("Item")


SOURCE_OF_PART = {
    "fields": "cdp",
    "file_list": "files",
    "windows": "ax",
    "clipboard": "clipboard",
    "screenshot": "screen",
}
"""The parts that are null where their source reported nothing at all."""
NO_EVENT = "the event with its tree is not in the log"
NO_TREES = "no page was recorded: the task has no `observations`"


class ObservedState:
    """What is known of the screen and the disk after the events so far."""

    def __init__(self) -> None:
        self._episode = ""
        self._summary: ObservationJson | None = None
        self._tabs: dict[str, TabJson] = {}
        self._fields: dict[tuple[str, str], tuple[FieldJson, bool]] = {}
        self._files: dict[tuple[str, str], FileJson] = {}
        self._windows: dict[tuple[str, str], WindowJson] = {}
        self._clipboard: dict[str, ClipboardJson] = {}
        self._dialog: DialogJson | None = None
        self._focused: FocusJson | None = None
        self._screenshot: ScreenshotJson | None = None
        self._stored: set[str] = set()
        self._pages: dict[str, PageJson] | None = None
        self._trees: dict[str, list[dict[str, Any]]] = {}
        self._sources: set[str] = set()
        self._gaps: dict[str, str] = {}
        self._handlers: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            "tab.opened": self._open_tab,
            "tab.closed": self._close_tab,
            "page.navigated": self._navigate,
            "page.title_changed": self._change_title,
            "frame.detached": self._detach_frame,
            "field.filled": self._fill_field,
            "field.removed": self._remove_field,
            "element.focused": self._focus_element,
            "widget.focused": self._focus_widget,
            "dialog.opened": self._open_dialog,
            "dialog.closed": self._close_dialog,
            "file.present": self._put_file,
            "file.created": self._put_file,
            "file.modified": self._put_file,
            "file.moved": self._move_file,
            "file.deleted": self._delete_file,
            "window.opened": self._put_window,
            "window.title_changed": self._put_window,
            "window.activated": self._activate_window,
            "window.closed": self._close_window,
            "clipboard.changed": self._change_clipboard,
            "screen.captured": self._take_screenshot,
            "visual.screenshot_taken": self._store_screenshot,
            "visual.tree_recorded": self._record_tree,
            "gap.began": self._begin_gap,
            "gap.ended": self._end_gap,
        }

    def apply(self, event: Event) -> None:
        """Take one event of the log."""
        self._episode = event.episode
        handler = self._handlers.get(event.kind)
        if handler is not None:
            handler(event.data)
        if handler is not None or event.source not in self._sources:
            self._sources.add(event.source)
            self._summary = None

    def summary(self) -> ObservationJson:
        """Return the observation as the wire has it; not to be changed."""
        if self._summary is None:
            self._summary = self._summarise()
        return self._summary

    def _summarise(self) -> ObservationJson:
        """Return the state as an observation, long lists cut to the newest."""
        cut: list[str] = []
        parts: dict[str, Any] = {
            "fields": _newest(
                "fields", [known for known, _ in self._fields.values()], MAX_FIELDS, cut
            ),
            "file_list": _newest("file_list", self._files.values(), MAX_FILES, cut),
            "windows": _newest("windows", self._windows.values(), MAX_WINDOWS, cut),
            "clipboard": {name: known.copy() for name, known in self._clipboard.items()},
            "screenshot": self._with_path(),
        }
        missing = self._missing(parts)
        return {
            "tabs": {tab: known.copy() for tab, known in self._tabs.items()},
            "filled_fields": sum(is_full for _, is_full in self._fields.values()),
            "files": len(self._files),
            "dialog": self._dialog,
            "pages": None if self._pages is None else list(self._pages.values()),
            "focused": self._focused,
            "fields": parts["fields"],
            "file_list": parts["file_list"],
            "windows": parts["windows"],
            "clipboard": parts["clipboard"],
            "screenshot": parts["screenshot"],
            "missing": missing,
            "cut": cut,
        }

    def _missing(self, parts: dict[str, object]) -> dict[str, str]:
        """Return why parts are not known, and make null those of which nothing is."""
        missing: dict[str, str] = {}
        for part, source in SOURCE_OF_PART.items():
            if source in self._gaps:
                missing[part] = f"{source}: {self._gaps[source]}"
            elif source not in self._sources:
                missing[part] = f"the log has nothing of the source {source}"
                parts[part] = None
        if self._pages is None:
            missing["pages"] = NO_TREES
        elif "cdp" in self._gaps:
            missing["pages"] = f"cdp: {self._gaps['cdp']}"
        return missing

    def _with_path(self) -> ScreenshotJson | None:
        """Return the last picture, with an address where it is stored."""
        shot = self._screenshot
        if shot is None or shot["sha256"] not in self._stored:
            return shot
        return {**shot, "path": f"/v1/episodes/{self._episode}/screenshots/{shot['sha256']}"}

    # -- pages

    def _open_tab(self, data: Mapping[str, Any]) -> None:
        self._tabs.setdefault(str(data.get("tab")), {"url": data.get("url"), "title": None})

    def _close_tab(self, data: Mapping[str, object]) -> None:
        tab = str(data.get("tab"))
        self._tabs.pop(tab, None)
        self._forget(lambda _, of_tab: of_tab == tab)

    def _navigate(self, data: Mapping[str, Any]) -> None:
        """Note a tab's address, and forget what stood in the document before."""
        tab, frame, is_main = str(data.get("tab")), str(data.get("frame")), bool(data.get("main"))
        if is_main:
            self._tabs.setdefault(tab, {"url": None, "title": None})["url"] = data.get("url")
        if not data.get("same_document"):
            self._forget(lambda of_frame, of_tab: of_frame == frame or (is_main and of_tab == tab))

    def _change_title(self, data: Mapping[str, Any]) -> None:
        known: TabJson = {"url": data.get("url"), "title": None}
        self._tabs.setdefault(str(data.get("tab")), known)["title"] = data.get("title")

    def _detach_frame(self, data: Mapping[str, object]) -> None:
        frame = str(data.get("frame"))
        if self._pages is not None:
            self._pages.pop(frame, None)

    def _forget(self, is_gone: Callable[[str, str], bool]) -> None:
        """Forget what stood in documents that are gone, by their frame and tab."""
        self._fields = {
            key: (known, is_full)
            for key, (known, is_full) in self._fields.items()
            if not is_gone(key[0], known["tab"])
        }
        if self._pages is not None:
            self._pages = {
                frame: page
                for frame, page in self._pages.items()
                if not is_gone(frame, page["tab"])
            }

    def _fill_field(self, data: Mapping[str, object]) -> None:
        key = (str(data.get("frame")), str(data.get("field")))
        checked = data.get("checked")
        is_full = bool(checked) if checked is not None else data.get("value") not in ("", [])
        self._fields.pop(key, None)
        self._fields[key] = (_field(data), is_full)

    def _remove_field(self, data: Mapping[str, object]) -> None:
        self._fields.pop((str(data.get("frame")), str(data.get("field"))), None)

    def _focus_element(self, data: Mapping[str, Any]) -> None:
        element = _mapping(data.get("element"))
        self._focused = {
            "role": element.get("role"),
            "name": element.get("name"),
            "tab": str(data.get("tab")),
        }

    def _focus_widget(self, data: Mapping[str, Any]) -> None:
        widget = _mapping(data.get("widget"))
        self._focused = {
            "role": widget.get("role"),
            "name": widget.get("name"),
            "app": str(data.get("app")),
        }

    def _open_dialog(self, data: Mapping[str, Any]) -> None:
        self._dialog = {"type": data.get("type"), "message": data.get("message")}

    def _close_dialog(self, _data: Mapping[str, object]) -> None:
        self._dialog = None

    def _record_tree(self, data: Mapping[str, Any]) -> None:
        """Note a document's tree, or why there is none."""
        frame, digest = str(data.get("frame")), str(data.get("sha256"))
        if "tree" in data:
            self._trees[digest] = data["tree"]
            while len(self._trees) > MAX_FRAMES:
                del self._trees[next(iter(self._trees))]
        self._pages = {} if self._pages is None else self._pages
        tree = self._trees.get(digest)
        self._pages[frame] = {
            "tab": str(data.get("tab")),
            "frame": frame,
            "main": bool(data.get("main")),
            "tree": tree,
            "cut": bool(data.get("cut")),
            "reason": data.get("reason") or (NO_EVENT if tree is None else None),
        }
        self._focus_in(str(data.get("tab")), tree)

    def _focus_in(self, tab: str, tree: Iterable[Mapping[str, Any]] | None) -> None:
        """Note the element that has the focus, where a tree says which."""
        for node in tree or ():
            if node.get("focused"):
                self._focused = {"role": node.get("role"), "name": node.get("name"), "tab": tab}

    # -- files, desktop, screen

    def _put_file(self, data: Mapping[str, Any]) -> None:
        key = (str(data.get("root")), str(data.get("path")))
        self._files.pop(key, None)
        self._files[key] = {
            "root": key[0],
            "path": key[1],
            "size": data.get("size"),
            "sha256": data.get("sha256"),
        }

    def _move_file(self, data: Mapping[str, object]) -> None:
        self._files.pop((str(data.get("root")), str(data.get("from"))), None)
        self._put_file(data)

    def _delete_file(self, data: Mapping[str, object]) -> None:
        self._files.pop((str(data.get("root")), str(data.get("path"))), None)

    def _put_window(self, data: Mapping[str, object], *, is_active: bool = False) -> None:
        """Note a window with its title, and whether it is active."""
        key = (str(data.get("app")), str(data.get("window")))
        known = self._windows.get(key)
        self._windows[key] = {
            "app": key[0],
            "role": str(data.get("role")),
            "title": str(data.get("title")),
            "active": is_active or (known is not None and known["active"]),
        }

    def _activate_window(self, data: Mapping[str, object]) -> None:
        self._windows = {key: {**known, "active": False} for key, known in self._windows.items()}
        self._put_window(data, is_active=True)

    def _close_window(self, data: Mapping[str, object]) -> None:
        self._windows.pop((str(data.get("app")), str(data.get("window"))), None)

    def _change_clipboard(self, data: Mapping[str, Any]) -> None:
        """Note what a selection holds, its text cut."""
        known = ClipboardJson()
        for name in ("text", "sha256", "length", "types", "app", "unread_reason", "cut"):
            if name in data:
                known[name] = data[name]
        text = text_or_none(known.get("text")) or ""
        if len(text) > MAX_TEXT:
            known["text"] = text[:MAX_TEXT]
            known["cut"] = True
        self._clipboard[str(data.get("selection"))] = known

    def _take_screenshot(self, data: Mapping[str, Any]) -> None:
        """Note the last picture of the screen."""
        self._screenshot = {
            "sha256": str(data.get("sha256")),
            "format": str(data.get("format")),
            "width": _pixels(data.get("width")),
            "height": _pixels(data.get("height")),
            "step": data.get("step"),
            "path": None,
        }

    def _store_screenshot(self, data: Mapping[str, object]) -> None:
        self._stored.add(str(data.get("sha256")))

    # -- gaps

    def _begin_gap(self, data: Mapping[str, object]) -> None:
        if "part" not in data:
            self._gaps[str(data.get("source"))] = str(data.get("reason"))

    def _end_gap(self, data: Mapping[str, object]) -> None:
        if "part" not in data:
            source = str(data.get("source"))
            self._sources.add(source)
            self._gaps.pop(source, None)


def _field(data: Mapping[str, Any]) -> FieldJson:
    """Return a field with what it holds; of a secret one only whether it holds something."""
    element = _mapping(data.get("element"))
    known: FieldJson = {
        "tab": str(data.get("tab")),
        "frame": str(data.get("frame")),
        "role": element.get("role"),
        "name": element.get("name") or element.get("attr_name") or element.get("id"),
    }
    value = data.get("value")
    if "has_value" in data:
        known["has_value"] = bool(data["has_value"])
    elif "checked" in data:
        known["checked"] = bool(data["checked"])
    elif isinstance(value, str) and len(value) > MAX_TEXT:
        known["value"] = value[:MAX_TEXT]
        known["cut"] = True
    else:
        known["value"] = value
    if data.get("cut"):
        known["cut"] = True
    return known


def _newest(part: str, items: Iterable[Item], maximum: int, cut: list[str]) -> list[Item]:
    """Return the last of ``items`` that fit, in their order; ``cut`` learns that some did not."""
    every = list(items)
    kept: list[Item] = []
    left = MAX_PART_BYTES
    for item in reversed(every[-maximum:]):
        left -= len(orjson.dumps(item))
        if left < 0:
            break
        kept.append(item)
    if len(kept) < len(every):
        cut.append(part)
    return kept[::-1]


def _mapping(value: object) -> Mapping[str, Any]:
    return object_or_empty(value)


def _pixels(value: object) -> int:
    """A picture's side; 0 for what is no number."""
    return int(value) if is_number(value) else 0

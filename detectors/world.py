"""The past, folded small: what a rule may lean on beside the event at hand.

Serialisable, and bounded whatever the length of the episode: each table has a cap and forgets its oldest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from detectors.matchers.text import text_key
from detectors.types import Event

MAX_FRAMES = 64
MAX_FIELDS = 128
"""Per frame."""
MAX_DOWNLOADS = 64
MAX_TEXT = 1024
"""Characters kept of one field's value; a longer one can't equal a text that a task names."""


@dataclass(slots=True)
class World:
    """``frames``: frame → {tab, url, fields: {field key → last field.filled data with its seq}};
    ``downloads``: suggested file name → [seq of download.began, step]."""

    frames: dict[str, dict[str, Any]] = field(default_factory=dict)
    downloads: dict[str, list[int]] = field(default_factory=dict)

    def url(self, frame: str) -> str:
        """The frame's address, or an empty text if it was never seen."""
        known = self.frames.get(frame)
        return known["url"] if known else ""

    def fields(self, frame: str) -> dict[str, dict[str, Any]]:
        """The frame's fields as last seen, by field key."""
        known = self.frames.get(frame)
        return known["fields"] if known else {}


def fold(world: World, event: Event, step: int) -> None:
    """Take one event into the world, in place; ``step`` is the one that runs (-1 before the first)."""
    match event.kind:
        case "page.navigated":
            _navigate(world, event)
        case "field.filled":
            _fill(world, event)
        case "frame.detached":
            world.frames.pop(str(event.data.get("frame")), None)
        case "tab.closed":
            tab = event.data.get("tab")
            for frame in [f for f, known in world.frames.items() if known["tab"] == tab]:
                del world.frames[frame]
        case "download.began":
            world.downloads[str(event.data.get("name"))] = [event.seq, step]
            _cap(world.downloads, MAX_DOWNLOADS)


FOLDED = frozenset(("page.navigated", "field.filled", "frame.detached", "tab.closed", "download.began"))
"""The kinds that `fold` takes in."""


def invalidated(event: Event) -> tuple[str, ...]:
    """The reading keys whose truth this event replaces: what was read under them no longer stands.

    A rule that tells of a state uses one of these forms as its key; then a new address, title, value or
    content that the rule does not confirm makes its reading fall to 0 by itself.
    """
    data = event.data
    match event.kind:
        case "page.navigated":
            frame = data.get("frame")
            return (f"url:{frame}",) if data.get("same_document") else (f"url:{frame}", f"doc:{frame}")
        case "page.titled":
            return (f"title:{data.get('tab')}",)
        case "field.filled":
            return (f"field:{data.get('frame')}:{data.get('field')}",)
        case "frame.detached":
            return (f"url:{data.get('frame')}", f"doc:{data.get('frame')}")
        case "tab.closed":
            return (f"title:{data.get('tab')}", f"url:{data.get('tab')}", f"doc:{data.get('tab')}")
        case "file.created" | "file.modified" | "file.deleted" | "file.present":
            return (file_key(data, data.get("path")),)
        case "file.moved":
            return (file_key(data, data.get("from")), file_key(data, data.get("path")))
    return ()


def file_key(data: Any, path: Any) -> str:
    """The reading key of a file."""
    return f"file:{data.get('root')}/{path}"


def field_names(data: Any) -> tuple[str, ...]:
    """Index keys under which a task may name this field: accessible name, HTML name, id."""
    element = data.get("element") or {}
    found = (element.get("name"), element.get("attr_name"), element.get("id"))
    return tuple(text_key(name) for name in found if isinstance(name, str) and name)


def _navigate(world: World, event: Event) -> None:
    data = event.data
    frame = str(data.get("frame"))
    known = world.frames.pop(frame, None)
    kept = known["fields"] if known and data.get("same_document") else {}
    world.frames[frame] = {"tab": data.get("tab"), "url": str(data.get("url")), "fields": kept}
    _cap(world.frames, MAX_FRAMES)


def _fill(world: World, event: Event) -> None:
    data = event.data
    frame = str(data.get("frame"))
    known = world.frames.setdefault(frame, {"tab": data.get("tab"), "url": "", "fields": {}})
    fields = known["fields"]
    key = str(data.get("field"))
    fields.pop(key, None)
    element = data.get("element") or {}
    fields[key] = {
        "element": {part: _short(element.get(part)) for part in ("name", "attr_name", "id", "type")},
        "value": _short(data.get("value")),
        "checked": data.get("checked"),
        "seq": event.seq,
        "trusted": data.get("trusted") is not False,
    }
    _cap(fields, MAX_FIELDS)
    _cap(world.frames, MAX_FRAMES)


def _short(value: Any) -> Any:
    # The world is stored with every segment; a pasted book is not a form field's value that a task names.
    if isinstance(value, list):
        return [_short(item) for item in value[:32]]
    return value[:MAX_TEXT] if isinstance(value, str) else value


def _cap(table: dict[str, Any], most: int) -> None:
    while len(table) > most:
        del table[next(iter(table))]

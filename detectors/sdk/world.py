"""The past, folded small: what a rule may lean on beside the event at hand.

Serialisable, and bounded whatever the length of the episode: each table has a cap and forgets its
oldest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict, TypeVar

from detectors.matchers.plain import ANY_KEY, text_key
from detectors.matchers.url import MAX_URL
from detectors.model.codec import canonical, sha256
from detectors.model.safe_json import as_list, mapping
from detectors.model.types import Event, Json

MAX_FRAMES = 64
MAX_FIELDS = 64
"""Per frame."""
MAX_DOWNLOADS = 64
MAX_CALLS = 64
MAX_PROBES = 32
MAX_ANSWER = 8192
"""Bytes kept of what a probe answered at the start; of a longer answer nothing is kept."""
MAX_TEXT = 1024
"""Characters kept of any field's value."""
MAX_LONG = 65_536
"""Characters kept of a frame's longer values, together; of what is more nothing is kept, so that
nobody knows it."""
MAX_NAME = 256
FIELD = "field:"
"""How the reading keys of fields begin."""
SHOWN = ("element", "text")
"""The forms of reading keys of what stands in a page now, of which the world keeps nothing."""

Entry = TypeVar("Entry")
StoredValue = str | list[Json] | None
"""A field's value; None where it is none, or too long to be kept."""


class FieldState(TypedDict):
    """A field as last told. ``long``: the sha256 of a value that is too long to keep; ``seq``: the
    event that told it; ``trusted``: a user filled it in; ``hidden``: nobody could see it;
    ``gone``: it stands in its frame no more; ``masked``: the daemon masked something in its
    names."""

    names: list[str]
    value: StoredValue
    checked: bool | None
    long: str | None
    has_value: bool
    cut: bool
    seq: int
    trusted: bool
    hidden: NotRequired[bool]
    gone: NotRequired[bool]
    masked: NotRequired[bool]


class FrameState(TypedDict):
    """A frame's tab, its address as last seen, and its fields by their keys. ``document``: the
    address from which its document was loaded, where that is another; empty where nobody knows;
    ``failed``: the server answered that document with an error; ``main``: it is its tab's main
    frame."""

    tab: str
    url: str
    fields: dict[str, FieldState]
    document: NotRequired[str]
    failed: NotRequired[bool]
    main: NotRequired[bool]


@dataclass(slots=True)
class World:
    """``downloads``: download → [suggested file name, seq of download.began, step, bytes once it is
    in, seq of that]; ``calls``: tool call → [tool, seq, step]; ``probes``: probe → [its answer at
    the start]; ``navigated``: some frame's address was told, so that one without was forgotten."""

    frames: dict[str, FrameState] = field(default_factory=dict)
    downloads: dict[str, list[Json]] = field(default_factory=dict)
    calls: dict[str, list[Json]] = field(default_factory=dict)
    probes: dict[str, list[Json]] = field(default_factory=dict)
    navigated: bool = False

    def url(self, frame: str) -> str:
        """The frame's address, or an empty text if it was never seen."""
        known = self.frames.get(frame)
        return known["url"] if known else ""

    def document(self, frame: str) -> str:
        """The address from which the frame's document was loaded, whatever page script has put
        there since; an empty text if nobody knows."""
        known = self.frames.get(frame)
        return known.get("document", known["url"]) if known else ""

    def is_failed(self, frame: str) -> bool:
        """Whether the server answered the frame's document with an error."""
        known = self.frames.get(frame)
        return known is not None and known.get("failed", False)

    def main_frame(self, tab: str) -> str:
        """The tab's main frame: of the tab's own name, but where a prerendered page took its
        place."""
        if tab in self.frames:
            return tab
        main = (
            name
            for name, known in self.frames.items()
            if known["tab"] == tab and known.get("main", False)
        )
        return next(main, tab)

    def fields(self, frame: str) -> dict[str, FieldState]:
        """The frame's fields as last seen, by field key."""
        known = self.frames.get(frame)
        return known["fields"] if known else {}


PARTS = ("frames", "downloads", "calls", "probes", "navigated")


def fold(world: World, event: Event, step: int) -> None:
    """Take one event into the world, in place; ``step`` is the one that runs (-1 before the
    first)."""
    taken = _FOLDS.get(event.kind)
    if taken is not None:
        taken(world, event, step)


def invalidated_keys(event: Event, world: World) -> tuple[str, ...]:
    """The reading keys whose truth this event replaces, but for `fields_left`: what was read under
    them no longer stands.

    ``world`` is as it was before the event. A rule that tells of a state uses one of these forms as
    its key; then a new address, title, value or content that the rule does not confirm makes its
    reading fall to 0 by itself.
    """
    replaced = _REPLACED.get(event.kind)
    return () if replaced is None else replaced[1](event.data, world)


def fields_left(event: Event, world: World) -> tuple[str, ...]:
    """The reading keys of the fields in the documents that this event ends; there may be many."""
    left = _LEFT.get(event.kind)
    frames = () if left is None else left(event.data, world)
    return tuple([f"{FIELD}{frame}:{key}" for frame in frames for key in world.fields(frame)])


def _document(data: Mapping[str, Json], world: World) -> tuple[str, ...]:
    return () if data.get("same_document") else (str(data.get("frame")),)


def _documents(data: Mapping[str, Json], world: World) -> tuple[str, ...]:
    tab = str(data.get("tab"))
    return tuple(
        sorted({tab, *(frame for frame, known in world.frames.items() if known["tab"] == tab)})
    )


def documents_left(event: Event, world: World) -> tuple[str, ...]:
    """How the reading keys begin of all that stands in the documents that this event ends."""
    left = _LEFT.get(event.kind)
    frames = () if left is None else left(event.data, world)
    return tuple([f"{form}:{frame}:" for frame in frames for form in SHOWN])


_KeysOf = Callable[[Mapping[str, Json], World], tuple[str, ...]]
_LEFT: dict[str, _KeysOf] = {
    "page.navigated": _document,
    "frame.detached": lambda data, _: (str(data.get("frame")),),
    "tab.closed": _documents,
}


def _left_fields(data: Mapping[str, Json], world: World) -> tuple[str, ...]:
    frame = str(data.get("frame"))
    return (f"url:{frame}",) if data.get("same_document") else (f"url:{frame}", f"doc:{frame}")


def _tab_left(data: Mapping[str, Json], world: World) -> tuple[str, ...]:
    frames = _documents(data, world)
    return (
        f"title:{data.get('tab')}",
        *(f"{what}:{frame}" for frame in frames for what in ("url", "doc")),
    )


def _file_changed(data: Mapping[str, Json], world: World) -> tuple[str, ...]:
    return (file_key(data, data.get("path")),)


def _file_deleted(data: Mapping[str, Json], world: World) -> tuple[str, ...]:
    return (file_key(data, data.get("path")), file_key(data, data.get("path"), "exists"))


def _file_moved(data: Mapping[str, Json], world: World) -> tuple[str, ...]:
    left = data.get("from")
    return (file_key(data, left), file_key(data, left, "exists"), file_key(data, data.get("path")))


def _process(data: Mapping[str, Json], world: World) -> tuple[str, ...]:
    return (f"process:{data.get('pid')}",)  # the same pid again: it became another program


_FILE, _FILES = ("file",), ("file", "exists")
_REPLACED: dict[str, tuple[tuple[str, ...], _KeysOf]] = {
    "page.navigated": (("url", "doc"), _left_fields),
    "page.title_changed": (("title",), lambda data, _: (f"title:{data.get('tab')}",)),
    "field.filled": (
        ("field",),
        lambda data, _: (f"{FIELD}{data.get('frame')}:{data.get('field')}",),
    ),
    "element.state_changed": (("element",), lambda data, _: (shown_key("element", data),)),
    "text.shown": (("text",), lambda data, _: (shown_key("text", data),)),
    "field.removed": (
        ("field",),
        lambda data, _: (f"{FIELD}{data.get('frame')}:{data.get('field')}",),
    ),
    "frame.detached": (
        ("url", "doc"),
        lambda data, _: (f"url:{data.get('frame')}", f"doc:{data.get('frame')}"),
    ),
    "tab.closed": (("title", "url", "doc"), _tab_left),
    "file.created": (_FILE, _file_changed),
    "file.modified": (_FILE, _file_changed),
    "file.present": (_FILE, _file_changed),
    "file.deleted": (_FILES, _file_deleted),
    "file.moved": (_FILES, _file_moved),
    "file.read": (("read",), lambda data, _: (reading_key(data),)),
    "window.title_changed": (("window",), lambda data, _: (window_key(data),)),
    "window.closed": (("window",), lambda data, _: (window_key(data),)),
    "widget.state_changed": (("widget",), lambda data, _: (widget_key(data, data.get("state")),)),
    "widget.text_changed": (("widget",), lambda data, _: (widget_key(data, "text"),)),
    "clipboard.changed": (("clipboard",), lambda data, _: (f"clipboard:{data.get('selection')}",)),
    "process.started": (("process",), _process),
    "process.ended": (("process",), _process),
    "probe.answered": (("probe",), lambda data, _: (f"probe:{data.get('probe')}",)),
}
STATEFUL = frozenset(_REPLACED)
"""The kinds that can make an earlier reading untrue, though no rule hears them."""
REPLACES = {
    kind: frozenset((*forms, *(("field", *SHOWN) if kind in _LEFT else ())))
    for kind, (forms, _) in _REPLACED.items()
}
"""The forms (`form_of`) of the reading keys that events of each of these kinds can replace."""


def form_of(key: str) -> str:
    """What a reading key is about: all before its first colon."""
    return key.partition(":")[0]


def shown_key(form: str, data: Mapping[str, Json]) -> str:
    """The reading key of how an element or a text of a page stands now."""
    return f"{form}:{data.get('frame')}:{data.get('key')}"


def file_key(data: Mapping[str, Json], path: Json, what: str = "file") -> str:
    """The reading key of a file's content, or with ``exists`` of its being there."""
    return f"{what}:{data.get('root')}/{path}"


def reading_key(data: Mapping[str, Json]) -> str:
    """The reading key of what stands in a file, by what was asked: another question's answer leaves
    it alone."""
    return f"read:{data.get('as')}:{data.get('query') or ''}:{data.get('root')}/{data.get('path')}"


def window_key(data: Mapping[str, Json]) -> str:
    """The reading key of a desktop window's being there under its title."""
    return f"window:{data.get('app')}/{data.get('window')}"


def widget_key(data: Mapping[str, Json], what: Json) -> str:
    """The reading key of a widget's state or text. By role and name: child indices shift as widgets
    come and go."""
    widget = mapping(data.get("widget"))
    name = widget.get("id") or f"{widget.get('role')}:{widget.get('name')}"
    return f"widget:{data.get('app')}/{data.get('window')}/{name}:{what}"


def _download(event: Event) -> str:
    return str(event.data.get("download"))[:MAX_NAME]


def field_keys(event: Event) -> tuple[str, ...]:
    """Index keys of the field that a ``field.filled`` event is about; where something was masked in
    its names, those of any."""
    return (ANY_KEY,) if _has_masked_names(event.data) else field_names(event.data)


def _has_masked_names(data: Mapping[str, Json]) -> bool:
    return "masked" in data and "element" in as_list(data["masked"])


def field_names(data: Mapping[str, Json]) -> tuple[str, ...]:
    """Index keys under which a task may name this field: accessible name, HTML name, id."""
    element = mapping(data.get("element"))
    found = (element.get("name"), element.get("attr_name"), element.get("id"))
    return tuple([text_key(name) for name in found if isinstance(name, str) and name])


def _navigate(world: World, event: Event, step: int) -> None:
    data = event.data
    frame = str(data.get("frame"))
    world.navigated = True
    known = world.frames.pop(frame, None)
    kept = known["fields"] if known and data.get("same_document") else {}
    url = str(data.get("url"))[: MAX_URL + 1]
    state: FrameState = {"tab": str(data.get("tab")), "url": url, "fields": kept}
    document, failed = _document_after(data, known)
    if document != url:
        state["document"] = document
    if failed:
        state["failed"] = True
    if data.get("main") is True:
        state["main"] = True
    _keep_frame(world, frame, state)


def _document_after(data: Mapping[str, Json], known: FrameState | None) -> tuple[str, bool]:
    """From which address the document was loaded that stands in a frame after a ``page.navigated``
    with ``data``, and whether the server answered it with an error; ``known``: the frame before."""
    if not data.get("same_document"):
        loaded = data.get("document", data.get("url"))
        return str(loaded)[: MAX_URL + 1], type(data.get("status")) is int
    if known is None:
        return "", False
    return known.get("document", known["url"]), known.get("failed", False)


def _fill(world: World, event: Event, step: int) -> None:
    data = event.data
    frame = str(data.get("frame"))
    known = world.frames.pop(frame, None) or {"tab": str(data.get("tab")), "url": "", "fields": {}}
    fields = known["fields"]
    key = str(data.get("field"))[:MAX_NAME]
    before = fields.pop(key, None)
    fields[key] = _filled_field(event, before, fields)
    _cap(fields, MAX_FIELDS)
    _keep_frame(world, frame, known)


def _filled_field(
    event: Event, before: FieldState | None, fields: Mapping[str, FieldState]
) -> FieldState:
    """The state of a field after ``event``; ``before``: its state until then; ``fields``: the
    others of its frame, which share the room for values."""
    data = event.data
    value = data.get("value")
    kept = _stored_value(value, fields)
    checked = data.get("checked") is True if "checked" in data else None
    # Of a value that is too long to keep, enough to know it again.
    long = sha256(canonical(value)) if kept is None and value is not None else None
    echoed = before if before and _is_echo(before, (kept, checked, long)) else None
    state: FieldState = {
        "names": [name[:MAX_NAME] for name in field_names(data)],
        "value": kept,
        "checked": checked,
        "long": long,
        "has_value": data.get("has_value") is True,
        "cut": data.get("cut") is True,
        "seq": event.seq if echoed is None else echoed["seq"],
        "trusted": echoed is not None or data.get("trusted") is not False,
    }
    if data.get("hidden") is True or _stays_hidden(event, echoed):
        state["hidden"] = True
    if _has_masked_names(data):
        state["masked"] = True
    return state


def _stays_hidden(event: Event, echoed: FieldState | None) -> bool:
    """Whether page script only repeats what was typed into a hidden field, ``echoed``."""
    if echoed is None or event.data.get("trusted") is not False:
        return False
    return echoed.get("hidden") is True


def _is_echo(before: FieldState, value: tuple[StoredValue, bool | None, str | None]) -> bool:
    """Whether a field holds what the user typed. Frameworks echo that with an event of their own:
    the same value stays the user's. Two that nobody knows (passwords) are not the same."""
    if not before["trusted"] or value == (None, None, None):
        return False
    return (before["value"], before["checked"], before["long"]) == value


def _remove(world: World, event: Event, step: int) -> None:
    """The field stands in its frame no more; what it held is kept, for forms that come in parts."""
    known = world.fields(str(event.data.get("frame"))).get(str(event.data.get("field"))[:MAX_NAME])
    if known is not None:
        known["gone"] = True


def _detach(world: World, event: Event, step: int) -> None:
    world.frames.pop(str(event.data.get("frame")), None)


def _close_tab(world: World, event: Event, step: int) -> None:
    tab = event.data.get("tab")
    for frame in [f for f, known in world.frames.items() if known["tab"] == tab]:
        del world.frames[frame]


def _begin_download(world: World, event: Event, step: int) -> None:
    name = str(event.data.get("name"))[:MAX_NAME]
    world.downloads[_download(event)] = [name, event.seq, step, None, None]
    _cap(world.downloads, MAX_DOWNLOADS)


def _finish_download(world: World, event: Event, step: int) -> None:
    if begun := world.downloads.get(_download(event)):
        begun[3:] = [event.data.get("size"), event.seq]


def _cancel_download(world: World, event: Event, step: int) -> None:
    world.downloads.pop(_download(event), None)


def _call(world: World, event: Event, step: int) -> None:
    call = str(event.data.get("call"))[:MAX_NAME]
    world.calls[call] = [str(event.data.get("tool"))[:MAX_NAME], event.seq, step]
    _cap(world.calls, MAX_CALLS)


def _answer(world: World, event: Event, step: int) -> None:
    """Keep what a probe answered first, at the start; an answer that came later is nothing to
    compare with."""
    probe, data = str(event.data.get("probe")), event.data
    if data.get("when") != "start" or probe in world.probes or len(world.probes) >= MAX_PROBES:
        return
    kept = (
        step < 0 and data.get("cut") is not True and len(canonical(data.get("value"))) <= MAX_ANSWER
    )
    world.probes[probe[:MAX_NAME]] = [data.get("value")] if kept else []


_FOLDS: dict[str, Callable[[World, Event, int], None]] = {
    "page.navigated": _navigate,
    "field.filled": _fill,
    "field.removed": _remove,
    "frame.detached": _detach,
    "tab.closed": _close_tab,
    "download.began": _begin_download,
    "download.finished": _finish_download,
    "download.canceled": _cancel_download,
    "agent.tool_called": _call,
    "probe.answered": _answer,
}
FOLDED = frozenset(_FOLDS)
"""The kinds that `fold` takes in."""


def _keep_frame(world: World, frame: str, known: FrameState) -> None:
    """Remember a frame as the newest; of too many, the oldest child frame goes before any tab's
    main frame."""
    world.frames[frame] = known
    while len(world.frames) > MAX_FRAMES:
        oldest = next(
            (name for name, one in world.frames.items() if name != one["tab"]),
            next(iter(world.frames)),
        )
        del world.frames[oldest]


def _stored_value(value: Json, others: Mapping[str, FieldState]) -> StoredValue:
    """The value, unless it is none or too long: the world is stored with the log."""
    length = _length(value)
    if length <= MAX_TEXT:
        return value if length >= 0 else None
    long = sum(
        length for other in others.values() if (length := _length(other["value"])) > MAX_TEXT
    )
    return value if long + length <= MAX_LONG else None


def _length(value: Json) -> int:
    """Characters; -1 for what is no value of a field."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return sum(map(len, value))
    return len(value) if isinstance(value, str) else -1


def _cap(table: dict[str, Entry], most: int) -> None:
    while len(table) > most:
        del table[next(iter(table))]

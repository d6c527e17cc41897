"""What older versions of the wire called kinds and fields, and the chain that reads them.

A segment's header names its version. Its bytes stay as they were written, since digests are over
them; `current` converts what was decoded from them, one function a version. A converter leaves an
event that has the newer names as it is, so that lines without a header can be read as the oldest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from detectors.model.types import Event

Converter = Callable[[Event], Event]

KINDS_1_TO_2: Mapping[str, str] = {
    "edge.computed": "reward.estimated",
    "element.opaque": "element.unobservable",
    "file.permitted": "file.mode_changed",
    "journal.dropped": "events.dropped",
    "page.idled": "page.network_idle",
    "page.titled": "page.title_changed",
    "request.answered": "request.response_started",
    "visual.pictured": "visual.screenshot_taken",
    "visual.recorded": "visual.dom_recorded",
    "window.titled": "window.title_changed",
}
"""Kinds of version 1 that version 2 calls otherwise."""

_PART = {"of": "part"}
_RESPONSE = {"answer": "response", "answered_by": "served_from"}
_UNREAD = {"unread": "unread_reason"}
FIELDS_1_TO_2: Mapping[str, Mapping[str, str]] = {
    "gap.began": _PART,
    "gap.ended": _PART,
    "alarm.raised": _PART,
    "alarm.ended": _PART,
    "step.sealed": {"why": "reason"},
    "page.navigated": {"how": "navigation_type", "reconciled": "backfilled"},
    "request.redirected": _RESPONSE,
    "request.finished": {**_RESPONSE, "left": "document_gone", "reconciled": "backfilled"},
    "request.response_started": _RESPONSE,
    "request.failed": _RESPONSE,
    "element.toggled": {"on": "open"},
    "element.dropped": {"onto": "target", "within": "target_ancestors", "place": "index"},
    "field.filled": {"filled": "has_value"},
    "text.copied": {"cut": "removed"},
    "file.present": _UNREAD,
    "file.created": _UNREAD,
    "file.modified": _UNREAD,
    "file.moved": _UNREAD,
    "clipboard.changed": _UNREAD,
    "screen.captured": {"of": "backend", "ms": "delay_ms"},
    "visual.dom_recorded": {"n": "sequence", "now": "sent_ms"},
}
"""Fields of version 1 that version 2 calls otherwise, by the kind's name in version 2."""


def convert_1_to_2(event: Event) -> Event:
    """Convert an event of version 1: kinds and fields whose names had to be explained got names
    that say it."""
    kind = KINDS_1_TO_2.get(event.kind, event.kind)
    names = FIELDS_1_TO_2.get(kind)
    data = event.data if names is None else _rename(event.data, names)
    if names is _PART and isinstance(part := data.get("part"), str) and part in KINDS_1_TO_2:
        data = {**data, "part": KINDS_1_TO_2[part]}
    elif kind in ("request.finished", "request.failed") and isinstance(data.get("hops"), list):
        data = {**data, "hops": [_rename_hop(hop) for hop in data["hops"]]}
    elif kind == "episode.opened" and isinstance(origin := data.get("converted"), dict):
        data = {**data, "converted": _rename(origin, {"vouched": "declared_complete"})}
    return event._replace(kind=kind, data=data)


def _rename_hop(hop: object) -> Any:
    return _rename(hop, _RESPONSE) if isinstance(hop, dict) else hop


def _rename(data: Mapping[str, object], names: Mapping[str, str]) -> Mapping[str, Any]:
    """Rename fields in their places; one whose new name is there already is let be."""
    if not any(old in data and new not in data for old, new in names.items()):
        return data
    return {names.get(name, name): value for name, value in data.items()}


CONVERTERS: tuple[Converter, ...] = (convert_1_to_2,)
"""`CONVERTERS[n]` makes an event of version n + 2 of one of version n + 1."""

WIRE = len(CONVERTERS) + 1
"""The wire version that this code writes, and the newest that it reads."""

OLDEST_WIRE = 1
"""The oldest wire version that is read."""


def current(events: Iterable[Event], wire: int) -> Iterable[Event]:
    """Convert events of version ``wire`` to the version of this build."""
    for converter in CONVERTERS[wire - 1 :]:
        events = map(converter, events)
    return events


def current_kind(kind: str) -> str:
    """Return what this build calls a kind of any version."""
    return KINDS_1_TO_2.get(kind, kind)


def former_kinds(kind: str) -> tuple[str, ...]:
    """Return what older versions called ``kind``, where that is another name."""
    return tuple(old for old, new in KINDS_1_TO_2.items() if new == kind)


def current_path(kind: str, path: tuple[str, ...]) -> tuple[str, ...]:
    """Return what this build calls a path into the data of an event of ``kind`` (its name in this
    build)."""
    names = FIELDS_1_TO_2.get(kind, {})
    if len(path) > 2 and path[0] == "hops" and kind.startswith("request."):
        return (*path[:2], _RESPONSE.get(path[2], path[2]), *path[3:])
    return (names.get(path[0], path[0]), *path[1:]) if path else path


def explain_rename(old: str, new: str) -> str:
    """Say in an error that a name is of an older version; nothing where it is none."""
    return "" if old == new else f"; since wire version {WIRE} it is called {new}"

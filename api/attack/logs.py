"""Transformations of a log: events are left out, held, moved or inserted, and numbered anew.

All of them are pure. They keep the numbers of the log that they are given, so that a caller knows
which events were changed; `renumber_events` makes of the result a log as a daemon would have
written it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from detectors.model.codec import canonical, encode_event
from detectors.model.json_value import JsonObject
from detectors.model.kinds import KINDS
from detectors.model.optional_values import drop_keys, entries_without_none, pick_keys
from detectors.model.types import Event, Json

READINGS = frozenset(("probe.answered", "file.read"))
"""Kinds that say how something stands when the daemon looks, not that anybody did something."""
_STEPS = frozenset(("step.began", "step.ended", "step.sealed"))
_EDGE = "reward.estimated"
"""What the daemon computed of the log as it was: of another log it would be another number."""


def renumber_events(events: Iterable[Event]) -> list[Event]:
    """Number the events from 1, with a clock that never goes back."""
    numbered: list[Event] = []
    at = 0
    for seq, event in enumerate(events, 1):
        at = max(at, event.at)
        numbered.append(event._replace(seq=seq, at=at))
    return numbered


def as_lines(events: Iterable[Event]) -> bytes:
    """Encode the events as the lines of a .jsonl recording."""
    lines = (encode_event(e.seq, e.source, e.kind, e.at, e.data) for e in renumber_events(events))
    return b"".join(line + b"\n" for line in lines)


def make_event(like: Event, kind: str, data: JsonObject) -> Event:
    """Make an event of ``kind`` that happens when ``like`` does."""
    return Event(like.episode, like.seq, KINDS[kind].source, kind, like.at, data)


def change_event(event: Event, **fields: Json) -> Event:
    """Return the event with these fields in its data; one that is None is left out."""
    data = drop_keys(event.data, fields)
    return event._replace(data=data | entries_without_none(fields))


def first_step(events: Sequence[Event]) -> int:
    """Return the index of the first `step.began`, or the length of a log without steps."""
    begins = (n for n, event in enumerate(events) if event.kind == "step.began")
    return next(begins, len(events))


def is_framework(event: Event) -> bool:
    """Whether journal and harness write the event whatever the agent does: the episode's ends, its
    steps, gaps and alarms."""
    return event.kind in _STEPS or (event.source == "journal" and event.kind != _EDGE)


def reading_of(event: Event) -> tuple[Json, ...]:
    """Return what a reading is about: the probe, or the file and what was asked of it."""
    data = event.data
    if event.kind == "probe.answered":
        return ("probe", data.get("probe"))
    return ("read", data.get("root"), data.get("path"), data.get("as"), data.get("query"))


def hold_reading(event: Event, earlier: Event) -> Event:
    """Return a reading that finds what ``earlier`` found, at the moment of ``event``."""
    moment = pick_keys(event.data, ("when", "step"))
    return event._replace(data=drop_keys(earlier.data, _MOMENT) | moment)


_MOMENT = ("when", "step", "baseline")


def stop_after(
    events: Sequence[Event], through: int = 0, keep: Collection[str] = ()
) -> Iterator[Event]:
    """Yield the log of an agent that does nothing after event ``through``, and never more than
    what stood before its first step.

    Steps begin and end as they did, and what is read in them stays as it was last read. Events of
    the kinds in ``keep`` stay wherever they are.
    """
    start = first_step(events)
    readings: dict[tuple[Json, ...], Event] = {}
    for n, event in enumerate(events):
        is_early = n < start or event.seq <= through
        is_reading = event.kind in READINGS
        if is_reading and is_early:
            readings[reading_of(event)] = event
            yield event
        elif is_reading:
            earlier = readings.get(reading_of(event))
            if earlier is not None:
                yield hold_reading(event, earlier)
        elif is_early or event.kind in keep:
            yield event
        elif event.kind == "step.began":
            yield change_event(event, action=None)
        elif is_framework(event):
            yield event


def without(events: Iterable[Event], dropped: Collection[int]) -> Iterator[Event]:
    """Yield the log without the events of these numbers. A reading is not left out: it finds what
    the reading before it found, if there was one."""
    readings: dict[tuple[Json, ...], Event] = {}
    for event in events:
        is_dropped = event.seq in dropped
        if event.kind in READINGS and is_dropped:
            earlier = readings.get(reading_of(event))
            if earlier is not None:
                yield hold_reading(event, earlier)
            continue
        if event.kind in READINGS:
            readings[reading_of(event)] = event
        if not is_dropped and event.kind != _EDGE:
            yield event


def with_inserted(events: Sequence[Event], inserted: Sequence[Event]) -> Iterator[Event]:
    """Yield the log with events inserted at the beginning of its first step."""
    start = first_step(events)
    yield from events[: start + 1]
    if start < len(events):
        yield from (event._replace(at=events[start].at) for event in inserted)
        yield from events[start + 1 :]


def with_first(events: Sequence[Event], moved: Collection[int]) -> Iterator[Event]:
    """Yield the log with the events of these numbers moved to the beginning of its first step."""
    rest = [event for event in events if event.seq not in moved and event.kind != _EDGE]
    return with_inserted(rest, [event for event in events if event.seq in moved])


def map_texts(value: Json, change: Callable[[str], str]) -> Json:
    """Return a JSON value with each text in it changed; names stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_texts(item, change) for item in value]
    if isinstance(value, Mapping):
        return {name: map_texts(item, change) for name, item in value.items()}
    return value


StateKey = tuple[Json, ...]
_KEYS: Mapping[str, Callable[[Mapping[str, Json]], StateKey]] = {
    "tab.opened": lambda data: ("tab", data.get("tab")),
    "page.navigated": lambda data: ("page", data.get("frame")),
    "page.loaded": lambda data: ("loaded", data.get("frame")),
    "page.title_changed": lambda data: ("title", data.get("tab")),
    "field.filled": lambda data: ("field", data.get("frame"), data.get("field")),
    "text.appeared": lambda data: ("text", data.get("frame"), data.get("text")),
    "text.shown": lambda data: ("shown", data.get("frame"), data.get("key")),
    "element.state_changed": lambda data: ("state", data.get("frame"), data.get("key")),
    "element.appeared": lambda data: ("element", data.get("frame"), _bytes(data.get("element"))),
    "file.present": lambda data: ("file", data.get("root"), data.get("path")),
    "file.created": lambda data: ("file", data.get("root"), data.get("path")),
    "file.modified": lambda data: ("file", data.get("root"), data.get("path")),
    "file.moved": lambda data: ("file", data.get("root"), data.get("path")),
    "app.appeared": lambda data: ("app", data.get("app")),
    "window.opened": lambda data: ("window", data.get("app"), data.get("window")),
    "window.title_changed": lambda data: ("window", data.get("app"), data.get("window")),
    "widget.state_changed": lambda data: ("widget", *_widget(data), data.get("state")),
    "widget.text_changed": lambda data: ("widget", *_widget(data), "text"),
    "widget.value_changed": lambda data: ("widget", *_widget(data), "value"),
    "clipboard.changed": lambda data: ("clipboard", data.get("selection")),
    "process.started": lambda data: ("process", data.get("pid")),
    "probe.answered": lambda data: ("probe", data.get("probe")),
    "file.read": lambda data: ("read", data.get("root"), data.get("path"), data.get("query")),
}
"""Of each kind that says how something stands: what it is about."""
_PRESENT = ("root", "path", "name", "size", "sha256", "mode", "mime", "link", "unread_reason")
_OF_DOCUMENT = ("loaded", "field", "text", "shown", "state", "element")
_READS = ("GET", "HEAD", "OPTIONS", "TRACE")


def _bytes(value: Json) -> bytes:
    return canonical(value)


def _widget(data: Mapping[str, Json]) -> StateKey:
    return data.get("app"), data.get("window"), _bytes(data.get("widget"))


def state_key(event: Event) -> StateKey | None:
    """Return what an event says the state of; None for one that says none. Of a request that
    changes something at the server the server keeps the state."""
    if event.kind in _KEYS:
        return _KEYS[event.kind](event.data)
    if event.kind == "request.finished" and event.data.get("method") not in _READS:
        return ("request", event.data.get("method"), event.data.get("url"))
    return None


def end_state(events: Iterable[Event]) -> list[Event]:
    """Return how things stand at the end of a log, as a source reports what it finds on
    attaching."""
    state: dict[StateKey, Event] = {}
    tabs: dict[Json, Json] = {}
    for event in events:
        if "frame" in event.data:
            tabs[event.data["frame"]] = event.data.get("tab")
        _forget_ended(state, tabs, event)
        key = state_key(event)
        if key is not None:
            state.pop(key, None)
            state[key] = event
    return [_as_found(event) for event in state.values()]


def _forget_ended(state: dict[StateKey, Event], tabs: Mapping[Json, Json], event: Event) -> None:
    """Take out what an event ends."""
    data = event.data
    if event.kind == "page.navigated":
        if not data.get("same_document"):
            _forget_frames(state, {data.get("frame")}, _OF_DOCUMENT)
    elif event.kind == "frame.detached":
        _forget_frames(state, {data.get("frame")}, (*_OF_DOCUMENT, "page"))
    elif event.kind == "tab.closed":
        tab = data.get("tab")
        frames = {frame for frame, of_tab in tabs.items() if of_tab == tab}
        state.pop(("tab", tab), None)
        state.pop(("title", tab), None)
        _forget_frames(state, frames, (*_OF_DOCUMENT, "page"))
    elif event.kind in _ENDS:
        sort, *names = _ENDS[event.kind]
        state.pop((sort, *(data.get(name) for name in names)), None)


def _forget_frames(
    state: dict[StateKey, Event], frames: Collection[Json], sorts: Collection[str]
) -> None:
    """Take out the states of these sorts that stand in these frames."""
    for key in list(state):
        if key[0] in sorts and key[1] in frames:
            del state[key]


_ENDS: Mapping[str, tuple[str, ...]] = {
    "field.removed": ("field", "frame", "field"),
    "text.disappeared": ("text", "frame", "text"),
    "file.deleted": ("file", "root", "path"),
    "file.moved": ("file", "root", "from"),
    "window.closed": ("window", "app", "window"),
    "app.vanished": ("app", "app"),
    "process.ended": ("process", "pid"),
}
"""Kinds that end a state: its sort, and the fields that name it."""


def _as_found(event: Event) -> Event:
    """Return the event by which a source that attaches would report the state."""
    kind = event.kind
    data = dict(event.data)
    if kind == "request.finished":
        return event  # a server has no baseline: it took the request before the first step
    if kind.startswith("file.") and kind != "file.read":
        kind = "file.present"
        data = pick_keys(data, _PRESENT)
    elif kind == "window.title_changed":
        kind = "window.opened"
    elif kind == "page.navigated":
        data["same_document"] = False
    elif kind in READINGS:
        data["when"] = "start"
    for name in ("trusted", "commit", "initial", "step", "backfilled", "navigation_type"):
        data.pop(name, None)
    data["baseline"] = True
    return make_event(event, kind, data)


def with_state(events: Sequence[Event], state: Sequence[Event]) -> list[Event]:
    """Return the log with ``state`` standing before its first step, in the place of what stood
    there."""
    start = first_step(events)
    keys = {state_key(event) for event in state}
    before = [
        event for event in events[:start] if is_framework(event) or state_key(event) not in keys
    ]
    at = before[-1].at if before else 0
    standing = [event._replace(at=at) for event in state]
    return [*before, *standing, *events[start:]]

"""rrweb streams: what was done and shown in one page, from its snapshots and mutations.

A step for each thing that the user did: pointer down and its click, a run of input into one field.
A click is the user's where the pointer went down on it before; an input where rrweb says so, or the
field had pointer or focus. Addresses are told where a snapshot has them; what a script does to them
in between is in no stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agentd.sources.cdp.state.masking import Secrets
from detectors.model.json_value import JsonObject, JsonValue, object_or_empty, read_text
from lab.convert.errors import format_value
from lab.convert.rrweb_page import DOWN, INPUT, POINTER, REST_NS, TOUCH, RrwebPage
from lab.convert.source import SourceFile
from lab.convert.tape import Tape

DOM_CONTENT_LOADED, LOAD, FULL, INCREMENTAL, META = 0, 1, 2, 3, 4
"""Types of rrweb's events; others are its plug-ins' and its users' own."""
SHOWS = frozenset(
    (
        "page.title_changed page.scrolled element.clicked element.double_clicked"
        " element.right_clicked element.focused element.toggled field.filled text.appeared"
        " text.disappeared text.selected"
    ).split()
)


def fits(source: SourceFile) -> bool:
    """Whether the first item is an rrweb event."""
    items = _events(source)
    return bool(items) and _event(items[0]) is not None


def read(source: SourceFile) -> RrwebReading:
    """Check the stream's events and give its reading. Raises `ConvertError`."""
    items = _events(source)
    wanted = "{type, data, timestamp}"
    if not items:
        what = format_value(source.value)
        raise source.wrong("", what, f"wanted an array of rrweb events {wanted}")
    events: list[_RrwebEvent] = []
    for number, item in enumerate(items):
        event = _event(item)
        if event is None:
            packed = ", packed by rrweb: unpack it first" if isinstance(item, str) else ""
            where = f"{'line' if source.lines else 'event'} {number + source.lines}"
            raise source.wrong(where, format_value(item) + packed, f"wanted {wanted}")
        events.append(event)
    return RrwebReading(source, events)


def _event(item: JsonValue) -> _RrwebEvent | None:
    """An item of the stream as an event, None for what is none."""
    about = object_or_empty(item)
    kind = about.get("type")
    timestamp = about.get("timestamp")
    data = about.get("data")
    if type(kind) is not int or not isinstance(timestamp, int | float):
        return None
    if not isinstance(data, dict):
        return None
    return _RrwebEvent(kind, timestamp, data)


def _events(source: SourceFile) -> Sequence[JsonValue]:
    events = object_or_empty(source.value).get("events")
    return events if isinstance(events, list) else source.items


class _RrwebEvent(NamedTuple):
    """An event of the stream; ``timestamp`` in milliseconds."""

    type: int
    timestamp: float
    data: JsonObject

    @property
    def is_action(self) -> bool:
        """Whether the user did what it reports."""
        if self.type != INCREMENTAL:
            return False
        source = self.data.get("source")
        if source == POINTER:
            return self.data.get("type") in (DOWN, TOUCH)
        return source == INPUT


class RrwebReading:
    """A stream that was read: see `lab.convert.formats.FormatReading`."""

    version = None
    shows = SHOWS

    def __init__(self, source: SourceFile, events: Sequence[_RrwebEvent]) -> None:
        self._source = source
        # rrweb itself plays by time; events of one moment stay in their order.
        self._events = sorted(events, key=lambda event: event.timestamp)

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Play event after event on one page."""
        page = RrwebPage(tape, Secrets(more=mask))
        start = self._events[0].timestamp
        acted = any(event.is_action for event in self._events)
        # Where nobody acts, all that follows the first whole snapshot is one step.
        begins_step = () if acted else (FULL,)
        for number, event in enumerate(self._events):
            with self._source.part(f"event {number} by time"):
                at = int((event.timestamp - start) * 1e6)
                page.flush_scroll(at)
                self._play(page, at, event)
            if event.type in begins_step and tape.step < 0:
                tape.begin(at)
        page.flush_scroll(tape.at + REST_NS)
        if tape.step < 0:
            tape.begin(tape.at)

    def _play(self, page: RrwebPage, at: int, event: _RrwebEvent) -> None:
        """Hand an event to the page by its type; those of other types change nothing that is told
        here."""
        if event.type in (DOM_CONTENT_LOADED, LOAD):
            page.began()
        elif event.type == META:
            page.at_address(at, read_text(event.data, "href", "about:blank"))
        elif event.type == FULL:
            page.snapshot(at, event.data.get("node"))
        elif event.type == INCREMENTAL:
            page.changed(at, event.data)

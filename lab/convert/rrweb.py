"""rrweb streams: what was done and shown in one page, from its snapshots and mutations.

A step for each thing that the user did: pointer down and its click, a run of input into one field.
A click is the user's where the pointer went down on it before; an input where rrweb says so, or the
field had pointer or focus. Addresses are told where a snapshot has them; what a script does to them
in between is in no stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentd.sources.cdp.state.masking import Secrets
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
    return bool(items) and _is_event(items[0])


def read(source: SourceFile) -> RrwebReading:
    """Check the stream's events and give its reading. Raises `ConvertError`."""
    items = _events(source)
    if not items:
        raise source.wrong(
            "",
            format_value(source.value),
            "wanted an array of rrweb events {type, data, timestamp}",
        )
    for number, item in enumerate(items):
        if not _is_event(item):
            packed = ", packed by rrweb: unpack it first" if isinstance(item, str) else ""
            where = f"{'line' if source.lines else 'event'} {number + source.lines}"
            raise source.wrong(where, format_value(item) + packed, "wanted {type, data, timestamp}")
    return RrwebReading(source, items)


def _events(source: SourceFile) -> list[Any]:
    if isinstance(source.value, dict) and isinstance(source.value.get("events"), list):
        return list(source.value["events"])
    return source.items


def _is_event(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and type(item.get("type")) is int
        and isinstance(item.get("timestamp"), int | float)
        and isinstance(item.get("data"), dict)
    )


class RrwebReading:
    """A stream that was read: see `lab.convert.formats.FormatReading`."""

    version = None
    shows = SHOWS

    def __init__(self, source: SourceFile, events: list[dict[str, Any]]) -> None:
        self._source = source
        # rrweb itself plays by time; events of one moment stay in their order.
        self._events = sorted(events, key=lambda event: event["timestamp"])

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Play event after event on one page."""
        page = RrwebPage(tape, Secrets(more=mask))
        start = self._events[0]["timestamp"]
        acted = any(_is_action(event) for event in self._events)
        for number, event in enumerate(self._events):
            with self._source.part(f"event {number} by time"):
                at = int((event["timestamp"] - start) * 1e6)
                page.flush_scroll(at)
                self._play(page, at, event)
            if event["type"] == FULL and not acted and tape.step < 0:
                tape.begin(at)  # nobody acts in this stream: all that follows is one step
        page.flush_scroll(tape.at + REST_NS)
        if tape.step < 0:
            tape.begin(tape.at)

    def _play(self, page: RrwebPage, at: int, event: dict[str, Any]) -> None:
        kind, data = event["type"], event["data"]
        if kind in (DOM_CONTENT_LOADED, LOAD):
            page.began()
        elif kind == META:
            page.at_address(at, str(data.get("href") or "about:blank"))
        elif kind == FULL:
            page.snapshot(at, data.get("node"))
        elif kind == INCREMENTAL:
            page.changed(at, data)


def _is_action(event: dict[str, Any]) -> bool:
    data = event["data"]
    if event["type"] != INCREMENTAL:
        return False
    return data.get("source") == INPUT or (
        data.get("source") == POINTER and data.get("type") in (DOWN, TOUCH)
    )

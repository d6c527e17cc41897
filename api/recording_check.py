"""What can be wrong with a recording whose chain holds: its order, its clock, its kinds and their fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from detectors.kinds import KINDS
from detectors.types import Event

_ANYWHERE = frozenset(("baseline", "command"))
"""Fields that any event may have."""


def findings(events: Iterable[Event]) -> Iterator[str]:
    """One sentence each, with the event's number; nothing for a sound recording, open or closed."""
    at, step, closed = 0, -1, None
    for event in events:
        if closed is not None:
            yield f"event {event.seq}: {event.kind} after the episode's close at event {closed}; wanted nothing"
        if (event.kind == "episode.opened") != (event.seq == 1):
            yield f"event {event.seq}: {event.kind}; wanted episode.opened as the first event, and only there"
        if event.at < at:
            yield f"event {event.seq}: at is {event.at}, after {at}; wanted a clock that never goes back"
        at = max(at, event.at)
        if event.kind == "step.began":
            began = event.data.get("step")
            if type(began) is not int or began <= step:
                yield f"event {event.seq}: step is {began!r}; wanted a number greater than {step}"
            else:
                step = began
        elif event.kind in ("step.ended", "step.sealed") and event.data.get("step") != step:
            yield f"event {event.seq}: {event.kind} of step {event.data.get('step')!r}; wanted {step}, which runs"
        elif event.kind == "episode.closed":
            closed = event.seq
        yield from _of_kind(event)


def _of_kind(event: Event) -> Iterator[str]:
    kind = KINDS.get(event.kind)
    if kind is None:
        yield f"event {event.seq}: kind is {event.kind!r}, which this build does not know"
        return
    if event.source != kind.source:
        yield f"event {event.seq}: {event.kind} of source {event.source!r}; wanted {kind.source!r}"
    known = {field.rstrip("?"): field.endswith("?") for field in kind.fields}
    for name in sorted(set(event.data) - set(known) - _ANYWHERE):
        yield f"event {event.seq}: {event.kind} has {name}: {_short(event.data[name])}; wanted no such field"
    for name in sorted(name for name, may_miss in known.items() if not may_miss and name not in event.data):
        yield f"event {event.seq}: {event.kind} has no {name}; wanted one"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"

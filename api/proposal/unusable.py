"""Why a recording gives a proposal less than its author expects: what happened in it that no
condition can be made of. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from api.suggestions.event_values import WRITES, split_address
from detectors.model.json_value import text_or_none
from detectors.model.types import Event

MAX_REASONS = 4


def list_unusable(log: Sequence[Event], origin: str | None) -> list[str]:
    """List what a log has and a proposal cannot use, each reason with the first event that it is
    about and how many there are; at most `MAX_REASONS`. ``origin``: the task's site."""
    began = any(event.kind == "step.began" for event in log)
    if not began:
        return ["no step began in it, and what is before the first step counts for nothing"]
    events: dict[str, list[int]] = {}
    for event in log:
        if not event.data.get("baseline"):
            for reason in _find_reasons(event, origin):
                events.setdefault(reason, []).append(event.seq)
    return [_describe(reason, of) for reason, of in events.items()][:MAX_REASONS]


def _describe(reason: str, events: Sequence[int]) -> str:
    """Return a reason with the events that it is about."""
    more = len(events) - 1
    return f"event {events[0]}: {reason}" + (f" (and {more} more)" if more else "")


def _find_reasons(event: Event, origin: str | None) -> Iterator[str]:
    """Yield why no condition is made of an event that says what was done."""
    data = event.data
    if event.kind in ("element.clicked", "field.filled") and data.get("trusted") is False:
        deed = "a click" if event.kind == "element.clicked" else "a field filled in"
        yield f"{deed} by a script of the page or of an automation library, not by a hand"
    elif event.kind == "field.filled" and data.get("cut"):
        yield "a field whose value is too long to be recorded whole"
    elif event.kind == "page.navigated" and data.get("main", True):
        yield from _find_foreign("a page", data, origin)
    elif event.kind == "request.finished" and text_or_none(data.get("method")) in WRITES:
        yield from _find_foreign("a request", data, origin)
        status = data.get("status")
        if type(status) is int and status >= 400:
            yield f"a request that its server refused with {status}"


def _find_foreign(what: str, data: Mapping[str, object], origin: str | None) -> Iterator[str]:
    """Yield that an address is of another site than the task's."""
    where = split_address(data.get("url"))[0]
    if where is not None and where != origin:
        site = "the task has no site" if origin is None else f"the task's site is {origin}"
        yield f"{what} of {where}, while {site}"

"""Conditions with what a proposal leaves open, since it may differ from run to run: the whole
address of a request, what a clicked element stands in, a text that a page showed.

Pure. They are asked for where nothing else tells failures from successes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from api.proposal.candidates import TaskCandidate, about_body, list_done, name_request
from api.suggestions.drawn_texts import open_text
from api.suggestions.event_values import (
    WRITES,
    read_body,
    short_text,
    split_address,
)
from detectors.model.json_value import JsonObject, JsonValue, list_or_empty, objects_in, read_text
from detectors.model.safe_json import mapping
from detectors.model.types import Event

MAX_LINES = 4
"""Lines of a text that are looked at, each for itself."""
MIN_TEXT = 3


def narrow_candidates(log: Sequence[Event], origin: str | None) -> Iterator[TaskCandidate]:
    """Yield the exact conditions that a log's clicks and requests meet after its first step began.
    The ``part_of`` of each is the family of the open condition that it stands for."""
    for event in list_done(log):
        if event.kind == "element.clicked":
            yield from _narrow_click(event)
        elif event.kind == "request.finished":
            yield from _narrow_requests(event, origin)


def text_candidates(log: Sequence[Event], origin: str | None) -> Iterator[TaskCandidate]:
    """Yield a condition for each line of text that came to stand on a page after a log's first step
    began. ``origin`` is not asked for: the engine looks at the task's pages alone."""
    for event in list_done(log):
        if event.kind != "text.appeared":
            continue
        for line in read_text(event.data, "text").splitlines()[:MAX_LINES]:
            text = short_text(line)
            if len(text) >= MIN_TEXT:
                when: JsonObject = {"text_visible": {"text": {"contains": text}}}
                yield TaskCandidate(f"text {text}", 0, when, event.seq)


def _narrow_click(event: Event) -> Iterator[TaskCandidate]:
    """A trusted click on an element with a name or a text, with the text of what contains it."""
    element = mapping(event.data.get("element"))
    named = {key: short_text(element.get(key)) for key in ("role", "name")}
    if not all(named.values()):
        named = {"text": short_text(element.get("text"))}
    around = short_text(event.data.get("around"))
    if event.data.get("trusted") is True and all(named.values()) and around:
        family = f"click {' '.join(named.values())}"
        when: JsonObject = {"element_clicked": {**named, "around": around}}
        yield TaskCandidate(f"{family} {around}", 0, when, event.seq, family)


def _narrow_requests(event: Event, origin: str | None) -> Iterator[TaskCandidate]:
    """Requests that write to an address with drawn parts: with their body, and without."""
    hops = objects_in(list_or_empty(event.data.get("hops")))
    status = event.data.get("status")
    is_accepted = type(status) is int and 200 <= status < 300
    for request in (*hops, *([event.data] if is_accepted else [])):
        method = str(request.get("method"))
        where, path, _ = split_address(request.get("url"))
        open_path = open_text(path)
        if method not in WRITES or where is None or where != origin or open_path == path:
            continue
        facts: dict[str, JsonValue] = {"method": method, "url": path}
        sent = mapping(request.get("body"))
        body = read_body(sent)
        open_family = name_request(method, open_path, body)
        family = name_request(method, path, body)
        if body:
            about = {**facts, **about_body(sent)}
            when: JsonObject = {"request_accepted": {**about, "body": body}}
            yield TaskCandidate(family, 0, when, event.seq, open_family)
        yield TaskCandidate(family, 1, {"request_accepted": facts}, event.seq, open_family)

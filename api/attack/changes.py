"""Adversaries that do all that the oracle does, but not so: by script, elsewhere, out of sight, or
with a constant in each field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote, quote_plus

import orjson

from api.attack.idle import site_origins
from api.attack.logs import change_event, make_event, map_texts
from api.attack.scores import Limit, Oracle, score_log
from detectors.model.json_value import as_items
from detectors.model.optional_values import drop_keys, pick_keys
from detectors.model.safe_json import as_list, mapping
from detectors.model.types import Event, Json
from detectors.sdk.request_facts import writes
from detectors.sdk.site import origin_of

Made = Iterator[tuple[str, Iterable[Event], Limit]]
Change = Callable[[Event], Event | None]
"""Returns the event as the adversary has it, None where there is none."""
_LOCAL = ("file:///tmp/copy", "view-source:", "data:text/html,", "blob:")
_OF_ANSWER = ("hops", "body", "headers", "response", "mime", "document_gone", "aborted")
_NOWHERE = "/-"
"""The path from which a document was loaded whose script puts other addresses there."""
_CONSTANTS = ("constant", "0", "^.*$", "")
_NOT_TYPED = ("checkbox", "radio", "file", "date", "datetime-local", "month", "time", "week")
_NOT_TEXT_TYPES = (*_NOT_TYPED, "range", "color")
_WRITTEN = ("agent.answered", "field.typed", "text.pasted", "widget.text_changed")
_MIN_WORD = 3
"""Characters of a text that is looked for in the instruction."""


def _changed_log(oracle: Oracle, change: Change) -> tuple[list[Event], set[int]]:
    """The log with each event changed, and the numbers of those that are another or gone."""
    events: list[Event] = []
    touched: set[int] = set()
    for event in oracle.events:
        new = change(event)
        if new is not None:
            events.append(new)
        if new != event:
            touched.add(event.seq)
    return events, touched


def _vary(oracle: Oracle, variant: str, change: Change) -> Made:
    """One adversary: what rests on an event that is changed may not pay."""
    events, touched = _changed_log(oracle, change)
    if touched:
        yield variant, events, oracle.limit_untouched(touched)


def distrust_acts(oracle: Oracle) -> Made:
    """Every act is a script's (`isTrusted: false`)."""
    yield from _vary(
        oracle,
        "trusted: false",
        lambda event: change_event(event, trusted=False) if "trusted" in event.data else event,
    )


def hide_contents(oracle: Oracle) -> Made:
    """Nobody sees any text field, any element of which a state is reported, any text that stands
    now. Boxes and selects are never said to be hidden."""
    yield from _vary(oracle, "hidden: true", _out_of_sight)


def _out_of_sight(event: Event) -> Event:
    """Return the event as if what it shows had been outside the view."""
    if event.kind == "element.state_changed":
        return change_event(event, visible=False, in_view=False)
    if event.kind == "text.shown":
        return change_event(event, text="")
    if _is_text_field(event):
        return change_event(event, hidden=True)
    return event


def _is_text_field(event: Event) -> bool:
    """Whether the event fills in a field of text: no box, no date, nothing that stood at first."""
    if event.kind != "field.filled":
        return False
    is_baseline = event.data.get("baseline") is True
    is_box = "checked" in event.data
    if is_baseline or is_box:
        return False
    element = mapping(event.data.get("element"))
    has_text = element.get("tag") in ("input", "textarea")
    return has_text and element.get("type") not in _NOT_TEXT_TYPES


def worker(oracle: Oracle) -> Made:
    """A service worker makes up every answer."""
    yield from _vary(oracle, "served_from: worker", _answered_by_worker)


def _answered_by_worker(event: Event) -> Event:
    """Return the event as if the page's own worker had answered the request."""
    if event.kind not in ("request.finished", "request.redirected", "request.response_started"):
        return event
    data = {**event.data, "served_from": "worker"}
    if "hops" in data:
        data["hops"] = [{**mapping(hop), "served_from": "worker"} for hop in as_list(data["hops"])]
    return event._replace(data=data)


def refuse_requests(oracle: Oracle) -> Made:
    """The server answers each request that writes with an error."""
    yield from _vary(oracle, "status: 500", _refused)


def _refused(event: Event) -> Event | None:
    """The event as it is where a write is answered by an error, and so redirected nowhere."""
    if event.kind == "request.redirected":
        return None if writes(event.data) else event
    if event.kind != "request.finished":
        return event
    hops = [*map(mapping, as_list(event.data.get("hops")))]
    requests = [*hops, event.data]
    place = _first_write(requests)
    if place is None:
        return event
    request = requests[place]
    data = drop_keys(event.data, _OF_ANSWER)
    data |= pick_keys(request, ("method", "url", "body", "headers"))
    if place:
        data["hops"] = hops[:place]
    return event._replace(data={**data, "status": 500})


def _first_write(requests: Sequence[Mapping[str, Json]]) -> int | None:
    """Return the place of the first request that writes; None where none does."""
    return next((place for place, request in enumerate(requests) if writes(request)), None)


def elsewhere(oracle: Oracle) -> Made:
    """Every page and server of the log is another one that looks alike."""
    origins = site_origins(oracle)
    if origins:
        move = _moved({origin: _other_host(origin) for origin in origins})
        events, _ = _changed_log(oracle, move)
        yield "another host", events, oracle.limit_untouched(_of_pages(oracle))


def _other_host(origin: str) -> str:
    scheme, _, host = origin.partition("://")
    return f"{scheme}://{re.sub('[^a-z0-9]+', '-', host.lower())}.elsewhere.example"


def copy_pages(oracle: Oracle) -> Made:
    """Every page is a copy that no server gave, nor a download."""
    origins = site_origins(oracle)
    if not origins:
        return
    served = {e.seq for e in oracle.events if e.kind.startswith(("request.", "download."))}
    for scheme in _LOCAL:
        is_file = scheme.startswith("file:")
        places = {origin: scheme if is_file else scheme + origin for origin in origins}
        events, _ = _changed_log(oracle, _moved(places))
        rest = [event for event in events if event.seq not in served]
        yield scheme.rstrip(",/"), rest, oracle.limit_untouched(_of_pages(oracle))


def push_addresses(oracle: Oracle) -> Made:
    """Every document was loaded from one place of its site, and script put the address there."""
    yield from _vary(oracle, "pushState", _pushed)


def _pushed(event: Event) -> Event:
    """Return a navigation as if the page's script had only put the address there."""
    if not _is_load(event):
        return event
    origin = origin_of(str(event.data.get("url")))
    if not origin.startswith("http"):
        return event
    data = drop_keys(event.data, ("status",))
    return event._replace(data={**data, "document": f"{origin}{_NOWHERE}"})


def _is_load(event: Event) -> bool:
    """Whether a document was loaded, after the beginning and by more than a change of address."""
    if event.kind != "page.navigated":
        return False
    return not event.data.get("baseline") and not event.data.get("same_document")


def _moved(places: Mapping[str, str]) -> Change:
    """Return a change that moves each address below one of these origins, and with its page all
    that happens there."""

    def move(text: str) -> str:
        """Return an address at its origin's other place; other texts stay."""
        for origin, place in places.items():
            if text == origin or text.startswith((f"{origin}/", f"{origin}?", f"{origin}#")):
                return place + text[len(origin) :]
        return text

    def change(event: Event) -> Event:
        """Return the browser's event at the other places."""
        data = map_texts(event.data, move) if event.source == "cdp" else event.data
        return event._replace(data=data)

    return change


def _of_pages(oracle: Oracle) -> set[int]:
    """The numbers of all that the browser told of: what has no address of its own (a click, a
    text) is moved with its page."""
    return {event.seq for event in oracle.events if event.source == "cdp"}


def constants(oracle: Oracle) -> Made:
    """Every text that was filled in, sent or answered is one constant."""
    typed = _typed(oracle)
    if not typed:
        return
    limit = _limit_of_constants(oracle, typed)
    for constant in _CONSTANTS:
        events, _ = _changed_log(oracle, _constant(typed, constant))
        if not limit.success:
            events = _lose_answers(oracle, events)
        yield repr(constant), events, limit


def _lose_answers(oracle: Oracle, events: list[Event]) -> list[Event]:
    """The log of constants, without what script probes answered since a text was typed, where the
    goal is reached by one of these answers: what the page would have made of the constant, nobody
    knows."""
    scripts = {probe.id for probe in oracle.rules.task.probes if probe.script is not None}
    if not scripts:
        return events
    first = next(event.seq for event in oracle.events if _is_typed(event))
    start = next(n for n, event in enumerate(events) if event.seq == first)
    lost = {event.seq: _probe_of(event) for event in events[start:] if _probe_of(event) in scripts}
    score = score_log(oracle.rules, events)
    shown = {lost.get(seq, "") for id in oracle.goals for seq in score.evidence(id)} & scripts
    if score.success is not True or not shown:
        return events
    rest = [event for event in events[start:] if lost.get(event.seq, "") not in shown]
    gaps = [_gap_of(events[start], probe) for probe in sorted(shown)]
    return [*events[:start], *gaps, *rest]


def _probe_of(event: Event) -> str:
    """The probe that the event is an answer of, or nothing."""
    return str(event.data.get("probe")) if event.kind == "probe.answered" else ""


def _gap_of(like: Event, probe: str) -> Event:
    """Return the gap that begins where a probe can't be answered."""
    reason = "its page held another text"
    return make_event(like, "gap.began", {"source": "probe", "part": probe, "reason": reason})


def _typed(oracle: Oracle) -> set[str]:
    """The texts that the oracle typed, chose or answered."""
    typed = {text for event in filter(_is_typed, oracle.events) for text in _texts_of(event)}
    return typed - {""}


def _is_typed(event: Event) -> bool:
    """Whether the agent wrote a text by the event."""
    return event.data.get("baseline") is not True and any(_texts_of(event))


def _texts_of(event: Event) -> Iterator[str]:
    """Yield the texts that the agent wrote by an event."""
    data = event.data
    if event.kind == "field.filled" and not _is_choice(event):
        yield from (text for text in as_items(data.get("value")) if isinstance(text, str))
    elif event.kind in _WRITTEN:
        yield from (text for text in (data.get("text"),) if isinstance(text, str))


def _is_choice(event: Event) -> bool:
    """Whether a field is no text that could be a constant: a box, a date, a file."""
    element = mapping(event.data.get("element"))
    return "checked" in event.data or element.get("type") in _NOT_TYPED


def _constant(typed: set[str], constant: str) -> Change:
    """Return a change that puts one constant in place of every text that was typed, in fields,
    addresses and bodies."""
    written = {form: quote_plus(constant) for text in typed for form in _written(text)}

    def replace(text: str) -> str:
        """Return the constant for a typed text, and an address with it in its query."""
        if text in typed:
            return constant
        if text.startswith(("http:", "https:")):
            return _in_query(text, written)
        return text

    def change(event: Event) -> Event:
        """Return the event with the constant; what the agent says of its own step stays."""
        if event.kind == "step.began":
            return event
        data = _constant_body(map_texts(event.data, replace), typed, written, constant)
        if "hops" in data:
            hops = [mapping(hop) for hop in as_list(data["hops"])]
            data = {**data, "hops": [_constant_body(h, typed, written, constant) for h in hops]}
        return event._replace(data=data)

    return change


def _written(text: str) -> Iterator[str]:
    """The forms that a value may have in an address or a form's body."""
    yield from (quote_plus(text), quote(text), quote(text, safe=""))


def _in_query(url: str, written: Mapping[str, str]) -> str:
    head, mark, query = url.partition("?")
    return head + mark + _pairs(query, written)


def _pairs(text: str, written: Mapping[str, str]) -> str:
    """Return a query, or a form's body, with its values replaced."""
    pairs = (pair.partition("=") for pair in text.split("&"))
    return "&".join(f"{name}{mark}{written.get(value, value)}" for name, mark, value in pairs)


def _constant_body(
    request: Mapping[str, Json], typed: set[str], written: Mapping[str, str], constant: str
) -> Mapping[str, Json]:
    """A request with the typed values in its body replaced: of a form, or of JSON."""
    text = mapping(request.get("body")).get("text")
    if not isinstance(text, str):
        return request
    try:
        value = map_texts(orjson.loads(text), lambda part: constant if part in typed else part)
        text = orjson.dumps(value).decode()
    except orjson.JSONDecodeError:
        text = _pairs(text, written)
    return {**request, "body": {**request["body"], "text": text}}


def _limit_of_constants(oracle: Oracle, typed: set[str]) -> Limit:
    """What may be paid with constants: no part that rests on what a field or an answer holds, and
    no goal if the instruction names a text that was typed, but to search."""
    touched: set[int] = set()
    searched: set[str] = set()
    for event in oracle.events:
        texts = list(_texts_of(event))
        if any(texts):
            touched.add(event.seq)
        if _is_search(event):
            searched.update(texts)
    instruction = oracle.rules.task.instruction.casefold()
    is_named = any(_is_word_of(instruction, text) for text in typed - searched)
    return oracle.limit_untouched(touched, goal=not is_named)


def _is_word_of(instruction: str, text: str) -> bool:
    """Whether a text is long enough to be looked for, and stands in the casefolded instruction."""
    return len(text) >= _MIN_WORD and text.casefold() in instruction


def _is_search(event: Event) -> bool:
    """Whether an event is about a field that one searches with."""
    element = mapping(event.data.get("element"))
    return element.get("role") == "searchbox" or element.get("type") == "search"

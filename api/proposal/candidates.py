"""Conditions that an event of a recording would meet, from the most specific to the most general.

Pure. Candidates of one `family` are alternatives: the same deed with its own values, and with what
may differ from run to run left open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple
from urllib.parse import urljoin

from api.proposal.element_states import SetState, list_repeated, list_set_states, name_element
from api.suggestions.drawn_texts import open_text
from api.suggestions.event_values import (
    OPERATION,
    WRITES,
    read_body,
    reads_only,
    short_text,
    split_address,
    undeclared_type,
)
from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    list_or_empty,
    objects_in,
    text_or_none,
)
from detectors.model.safe_json import mapping
from detectors.model.types import Event

ANY_TEXT = {"regex": "(?s).+"}
CHOICES = frozenset(
    ("option", "radio", "menuitemradio", "menuitemcheckbox", "gridcell", "treeitem")
)
"""Roles of what is chosen, as a value of a control that a page made itself."""
_FIELD_TAGS = ("input", "textarea")
_BOXES = frozenset(("checkbox", "radio", "switch"))
_NATIVE_TAGS = ("input", "label")
_TEXTS = frozenset(("textbox", "searchbox", "spinbutton"))
BY_SCRIPT = 10
"""From which rank on addresses of a family count that page script may have put there."""


class TaskCandidate(NamedTuple):
    """A condition as a task file has it. ``rank``: 0 is the most specific of its ``family``;
    ``event``: the number of the event it was made of; ``part_of``: the family of a request, where
    this is one field of its body."""

    family: str
    rank: int
    when: JsonObject
    event: int
    part_of: str = ""


def candidates_of(
    log: Sequence[Event], origin: str | None, *, by_path: bool = True
) -> Iterator[TaskCandidate]:
    """Yield the conditions that the events of a log meet after its first step began.

    ``by_path``: elements without a name and an id are named by where they stand in the page, which
    is the same in all runs of one task.
    """
    made = _list_made_pages(log)
    filled = _list_filled(log)
    states = list_set_states(log)
    elements = [one.element for one in states]
    repeated = list_repeated(log)
    typed_over = _list_typed_over(log)
    yield from (_state(one) for one in states if by_path or "path" not in one.element)
    for event in list_done(log):
        if event.kind == "page.navigated":
            yield from _page(event, origin, made)
        elif event.kind == "element.clicked":
            # What a click did to a field or a switch says more.
            is_told = name_element(mapping(event.data.get("element"))) in elements
            if not is_told and not _opens_field(event, filled):
                yield from _click(event, repeated, by_path=by_path)
        elif event.kind in _MAKERS and event.seq not in typed_over:
            yield from _MAKERS[event.kind](event, origin)


def list_done(log: Sequence[Event]) -> Iterator[Event]:
    """Yield what happened after the first step began, without what was so before."""
    began = False
    for event in log:
        began = began or event.kind == "step.began"
        if began and not event.data.get("baseline"):
            yield event


def _list_typed_over(log: Sequence[Event]) -> frozenset[int]:
    """List the events of values that a field had on the way to another one, while it was typed in:
    nothing else was done between the two."""
    found: set[int] = set()
    before: tuple[object, int] | None = None
    for event in log:
        if event.kind == "element.clicked":
            before = None
        elif event.kind == "field.filled":
            data = event.data
            field = (data.get("tab"), data.get("frame"), data.get("field"))
            if data.get("trusted") is False and not data.get("value"):
                before = None  # the page took what was typed, as at Enter
                continue
            if before is not None and before[0] == field and data.get("field") is not None:
                found.add(before[1])
            before = (field, event.seq)
    return frozenset(found)


def _list_filled(log: Sequence[Event]) -> frozenset[str]:
    """List the names of the text fields that were filled in by a hand."""
    filled = (event for event in log if event.kind == "field.filled" and event.data.get("trusted"))
    return frozenset(filter(None, map(_name_text, filled)))


def _opens_field(click: Event, filled: frozenset[str]) -> bool:
    """Whether a click went into a text field that was filled in: one of its name, or one that is
    named by what is written in it, while nobody knows what it was named later."""
    if _is_named_by_content(mapping(click.data.get("element"))):
        return bool(filled)
    return _name_text(click) in filled


def _name_text(event: Event) -> str:
    """The name of the text field that an event is about; empty where it is about none, or one
    without a name."""
    element = mapping(event.data.get("element"))
    return short_text(element.get("name")) if text_or_none(element.get("role")) in _TEXTS else ""


def _list_made_pages(log: Sequence[Event]) -> frozenset[str]:
    """List the paths to which a site redirected what was written, but for those that were open
    before: each is of something that was made in this run, and has another number in the next."""
    made: set[str] = set()
    known: set[str] = set()
    for event in log:
        if event.kind == "page.navigated":
            known.add(split_address(event.data.get("url"))[1])
        elif event.kind == "request.redirected" and _is_write(event.data):
            made |= {_redirect_path(event.data)} - known
    return frozenset(made)


def _is_write(request: Mapping[str, object]) -> bool:
    return text_or_none(request.get("method")) in WRITES


def _redirect_path(hop: JsonObject) -> str:
    """The path to which a hop was redirected; empty where its addresses are none."""
    try:
        return split_address(urljoin(str(hop.get("url")), str(hop.get("location"))))[1]
    except ValueError:
        return ""


def _is_made(path: str, made: frozenset[str]) -> bool:
    """Whether a path is of something that was made in the run, or below it."""
    return any(path == one or path.startswith(f"{one}/") for one in made)


def _page(event: Event, origin: str | None, made: frozenset[str]) -> Iterator[TaskCandidate]:
    """Yield conditions on a page's address: with its query, its path, and its path with drawn parts
    open."""
    where, path, query = split_address(event.data.get("url"))
    if where is None or where != origin or not event.data.get("main", True):
        return
    open_path = open_text(path)
    addresses = [f"{path}?{query}"] if query else []
    addresses += [path] if open_path == path else [path, open_path]
    if open_path != path and _is_made(path, made):
        addresses = [open_path]
    # Only page script put it there: any document at the address says more.
    by_script = bool(event.data.get("same_document"))
    more: JsonObject = {"loaded": False} if by_script else {}
    least = BY_SCRIPT if by_script else 0
    for rank, address in enumerate(addresses, least):
        facts = {"url": address, **more}
        yield _candidate(event, f"page {open_path}", rank, "url_reached", facts)


def _click(
    event: Event, repeated: Set[tuple[str, ...]], *, by_path: bool
) -> Iterator[TaskCandidate]:
    """A click by a hand; what it does to a form's box shows in the field."""
    element = mapping(event.data.get("element"))
    role, name = short_text(element.get("role")), short_text(element.get("name"))
    is_native_box = role in _BOXES and element.get("tag") in (None, *_NATIVE_TAGS)
    if event.data.get("trusted") is not True or is_native_box:
        return
    named = {"role": role, "name": name}
    around = short_text(event.data.get("around"))
    if around and role in CHOICES and (role, name) in repeated:
        # Each row has such a choice: what it stands in says which.
        family = f"click {role} {name} {around}"
        yield _candidate(event, family, 0, "element_clicked", {**named, "around": around})
    others = ({key: short_text(element.get(key))} for key in ("text", "id"))
    for facts in filter(_are_all_known, (named, *others)):
        family = f"click {' '.join(facts.values())}"
        yield _candidate(event, family, 0, "element_clicked", facts)
        return
    if by_path:
        yield from _click_at_path(event)


def _click_at_path(event: Event) -> Iterator[TaskCandidate]:
    """A click on an element without a name, a text and an id: by its path with what it stands in,
    and by its path alone."""
    facts = name_element(mapping(event.data.get("element")))
    if "path" not in facts:
        return
    around = short_text(event.data.get("around"))
    family = f"click {around or ' '.join(facts.values())}"
    if around:
        yield _candidate(event, family, 0, "element_clicked", {**facts, "around": around})
    yield _candidate(event, family, 1, "element_clicked", facts)


def _state(one: SetState) -> TaskCandidate:
    """A switch or a button that stands as it was set."""
    family = f"{'' if one.value else 'un'}{one.state} {one.label}"
    return TaskCandidate(
        family, 0, {"element_state": {**one.element, one.state: one.value}}, one.event
    )


def _are_all_known(facts: Mapping[str, str]) -> bool:
    return all(facts.values())


def _field(event: Event, origin: str | None) -> Iterator[TaskCandidate]:
    """A field that was filled, by each way to name it: what it holds, that it holds something."""
    data = event.data
    ways = _ways_to_name(event)
    if not ways or data.get("trusted") is False or data.get("hidden"):
        return
    family = f"field {' '.join(ways[0].values())}"
    for rank, held in enumerate(_list_values(event)):
        for way_rank, way in enumerate(ways):
            yield _candidate(
                event, family, rank * len(ways) + way_rank, "field_filled", {**way, **held}
            )


def _ways_to_name(event: Event) -> list[dict[str, str]]:
    """Return the arguments that name a field, the best first: its name, or else what stands around
    it and the path to it, which is another one where a row is added before it."""
    element = mapping(event.data.get("element"))
    names = (short_text(element.get(key)) for key in ("name", "attr_name", "id"))
    name = next(filter(None, names), "")
    places = {"around": event.data.get("around"), "path": element.get("path")}
    ways = [{key: text} for key, place in places.items() if (text := short_text(place))]
    if name and not (ways and _is_named_by_content(element)):
        return [{"field": name}]
    return ways


def _is_named_by_content(element: JsonObject) -> bool:
    """Whether an editable part of a page has what is written in it as its name, which is another
    once it is filled in."""
    is_text = text_or_none(element.get("role")) in _TEXTS and element.get("tag") not in _FIELD_TAGS
    return is_text and bool(element.get("name")) and element.get("name") == element.get("text")


def _list_values(event: Event) -> Iterator[JsonObject]:
    """Yield the arguments that say what the field holds, the most specific first."""
    data = event.data
    if isinstance(data.get("checked"), bool):
        is_radio = mapping(data.get("element")).get("role") == "radio"
        if data["checked"] or not is_radio:  # else another one of its group was chosen
            yield {"checked": data["checked"]}
        return
    value = short_text(data.get("value"))
    if value and not data.get("cut"):
        yield {"value": value}
        yield {"value": ANY_TEXT}


def _request(event: Event, origin: str | None) -> Iterator[TaskCandidate]:
    """Requests that write, with the redirect that accepted them, and what their body carried."""
    data = event.data
    hops = objects_in(list_or_empty(data.get("hops")))
    for hop in hops:
        yield from _write(event, hop, origin, split_address(hop.get("location"))[1])
    status = data.get("status")
    if type(status) is int and 200 <= status < 300:
        yield from _write(event, data, origin, None)


def _write(
    event: Event, request: JsonObject, origin: str | None, redirect: str | None
) -> Iterator[TaskCandidate]:
    """Yield conditions on a request that writes: with its body, each field of it, and its address
    alone."""
    method = str(request.get("method"))
    where, path, _ = split_address(request.get("url"))
    if method not in WRITES or where is None or where != origin:
        return
    open_path = open_text(path)
    facts: dict[str, JsonValue] = {"method": method, "url": open_path}
    if redirect:
        facts["redirect_to"] = open_text(redirect)
    sent = mapping(request.get("body"))
    body = read_body(sent)
    if reads_only(sent):
        return
    family = name_request(method, open_path, body)
    operation = {key: body[key] for key in (OPERATION,) if key in body}
    if body:
        about = {**facts, **about_body(sent)}
        with_body = {**about, "body": body}
        yield _candidate(event, family, 0, "request_accepted", with_body)
        # A query alone is one of many of a GraphQL address: its last one says nothing of the task.
        parts = {} if body.keys() == {"query"} else body
        for name, value in parts.items():
            one = {**about, "body": {**operation, name: value}}
            made = _candidate(event, f"{family} {name}", 0, "request_accepted", one)
            yield made._replace(part_of=family)
    more: JsonObject = {**about_body(sent), "body": operation} if operation else {}
    yield _candidate(event, family, 1, "request_accepted", {**facts, **more})


def about_body(sent: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the argument that says what a body is read as, where its type does not say so."""
    read_as = undeclared_type(sent)
    return {} if read_as is None else {"body_as": read_as}


def name_request(method: str, open_path: str, body: Mapping[str, JsonValue]) -> str:
    """Return the family of a request that writes: an address that takes many operations (GraphQL)
    has one for each of them."""
    operation = text_or_none(body.get(OPERATION))
    return f"request {method} {open_path}{f' {operation}' if operation else ''}"


def _file(event: Event, origin: str | None) -> Iterator[TaskCandidate]:
    """Yield conditions on a file's name, as it is and with drawn parts open."""
    name = short_text(event.data.get("name"))
    if not name:
        return
    open_name = open_text(name)
    yield _candidate(event, f"file {open_name}", 0, "file_matches", {"name": name})
    if open_name != name:
        facts = {"name": {"glob": open_name}}
        yield _candidate(event, f"file {open_name}", 1, "file_matches", facts)


def _answer(event: Event, origin: str | None) -> Iterator[TaskCandidate]:
    text = short_text(event.data.get("text"))
    if text:
        yield _candidate(event, "answer", 0, "answer_matches", {"text": text})


def _tool(event: Event, origin: str | None) -> Iterator[TaskCandidate]:
    tool = short_text(event.data.get("tool"))
    if tool:
        yield _candidate(event, f"tool {tool}", 0, "tool_called", {"tool": tool})


def _window(event: Event, origin: str | None) -> Iterator[TaskCandidate]:
    title = short_text(event.data.get("title"))
    if title:
        yield _candidate(event, f"window {title}", 0, "window_opened", {"title": title})


_MAKERS = {
    "field.filled": _field,
    "request.finished": _request,
    "file.created": _file,
    "file.modified": _file,
    "agent.answered": _answer,
    "agent.tool_called": _tool,
    "window.opened": _window,
}


def join_parts(parts: Sequence[TaskCandidate]) -> TaskCandidate:
    """Return one condition on a request whose body has the fields of all ``parts`` of it."""
    first = parts[0]
    body = {
        name: value
        for part in parts
        for name, value in mapping(mapping(part.when["request_accepted"]).get("body")).items()
    }
    facts = {**mapping(first.when["request_accepted"]), "body": body}
    return TaskCandidate(first.part_of, 0, {"request_accepted": facts}, first.event)


def join_within(
    bodies: Sequence[TaskCandidate], parts: Sequence[TaskCandidate]
) -> list[TaskCandidate]:
    """Return a condition for each of ``bodies``, a request's whole ones, on those of its fields
    that are among ``parts``."""
    asked = [_body_of(part) for part in parts]
    found = []
    for whole in bodies:
        body = {name: value for name, value in _body_of(whole).items() if {name: value} in asked}
        if body:
            facts = {**mapping(whole.when["request_accepted"]), "body": body}
            found.append(whole._replace(when={"request_accepted": facts}))
    return found


def _body_of(candidate: TaskCandidate) -> Mapping[str, JsonValue]:
    return mapping(mapping(candidate.when.get("request_accepted")).get("body"))


def _candidate(event: Event, family: str, rank: int, rule: str, facts: JsonObject) -> TaskCandidate:
    return TaskCandidate(family, rank, {rule: facts}, event.seq)

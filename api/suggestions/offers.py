"""Conditions that an event could meet, from the specific to the general (pure).

They are only offered: whether an event meets one is for the engine to say
(api/suggestions/trial.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from api.suggestions.drawn_texts import open_text
from api.suggestions.event_values import (
    MAX_TEXT,
    WRITES,
    read_body,
    short_text,
    split_address,
)
from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    list_or_empty,
    objects_in,
    read_text,
    text_or_none,
)
from detectors.model.kinds.limits import MAX_OWN_TEXT, utf16_units
from detectors.model.optional_values import entries_without_none, pick_keys
from detectors.model.safe_json import as_list, mapping
from detectors.model.types import Event

Offers = Iterator[JsonObject]
OfferMaker = Callable[[Event, str | None], Offers]

ANY_TEXT: JsonObject = {"regex": "(?s).+"}
MAX_LINES = 4
"""Lines of a text that are offered, each for itself."""
_PASSING = frozenset(
    (
        "tab",
        "frame",
        "request",
        "loader",
        "call",
        "command",
        "pid",
        "window",
        "at",
        "field",
        "form",
        "download",
        "id",
        "point",
        "box",
    )
)
"""Fields that differ from run to run, or that are long."""
_QUIET = ("step.", "episode.", "gap.", "alarm.", "events.", "reward.", "screen.", "visual.")
_UNTOLD = frozenset(
    (
        *("page.parsed", "page.network_idle", "page.loaded", "tab.opened", "tab.activated"),
        *("request.sent", "request.redirected", "request.response_started", "download.began"),
        *("element.appeared", "element.disappeared", "element.hovered", "element.focused"),
        *("element.unobservable", "field.typed", "text.disappeared", "dialog.opened"),
        *("widget.added", "widget.removed", "widget.focused", "window.activated", "app.appeared"),
        *("widget.text_inserted", "widget.text_deleted", "frame.detached", "probe.answered"),
        *("probe.failed", "file.read", "message.sent", "message.received", "text.selected"),
        *("download.progressed", "field.removed", "tab.closed"),
    )
)
"""Kinds for which nothing is offered: another kind says more of the same deed, or there would be
one for every movement."""


def offers_for(event: Event, origin: str | None) -> Offers:
    """Yield what a milestone's ``when`` could be; addresses of ``origin`` are written below it."""
    if event.data.get("baseline") or event.kind in _UNTOLD or event.kind.startswith(_QUIET):
        return
    yield from _MAKERS.get(event.kind, _observed)(event, origin)


def _page(event: Event, origin: str | None) -> Offers:
    """Offer conditions on a page's address, also as page script put it there."""
    data = event.data
    is_main = data.get("main", True)
    frames: JsonObject = {} if is_main else {"frames": True}
    addresses = list(_addresses(data.get("url"), origin))
    for address in addresses:
        yield {"url_reached": {"url": address, **frames}}
    if not data.get("same_document"):
        return
    for address in addresses:
        yield {"url_reached": {"url": address, **frames, "loaded": False}}


def _title(event: Event, origin: str | None) -> Offers:
    """Offer a title at the most open address of its page, then anywhere."""
    title = short_text(event.data.get("title"))
    if not title:
        return
    facts: JsonObject = {"title": title}
    address = _open_address("url", event.data.get("url"), origin)
    if address:
        yield {"title_matches": {**facts, **address}}
    yield {"title_matches": facts}


def _click(event: Event, origin: str | None) -> Offers:
    """Offer conditions on a user's click: the element, with what is around, and the area."""
    if event.data.get("trusted") is not True:
        yield from _observed(event, origin)
        return
    is_press = event.kind == "element.pressed"
    more: JsonObject = {"presses": True} if is_press else {}
    element = mapping(event.data.get("element"))
    facts = _short_texts(element, "role", "name", "id", "text", "tag", "path")
    around = _around(event.data.get("around"))
    yield from _elements(facts, around, more)
    box = as_list(event.data.get("box"))
    if _is_area(box):
        yield {"pointed_at": {"box": [*box]}}
    if "name" not in facts:
        yield from _observed(event, origin)


def _is_area(box: Sequence[float]) -> bool:
    """Whether a box (x, y, width, height) was reported, and has a width and a height."""
    return len(box) == 4 and min(box[2:]) > 0


def _short_texts(data: JsonObject, *keys: str) -> dict[str, JsonValue]:
    """Return those of the fields that hold a short text, in the order of ``keys``."""
    texts = ((key, short_text(data.get(key))) for key in keys)
    return {key: text for key, text in texts if text}


def _elements(facts: Mapping[str, JsonValue], around: JsonValue, more: JsonObject) -> Offers:
    """Offer a click on an element by what it stands in, by its name, then by each other fact."""
    named = pick_keys(facts, ("role", "name"))
    has_name = "name" in named
    if around is not None and facts:
        first = named if has_name else facts
        yield {"element_clicked": {**first, "around": around, **more}}
    if has_name:
        yield {"element_clicked": {**named, **more}}
        yield {"element_clicked": {"name": named["name"], **more}}
    name = facts.get("name")
    for key, value in pick_keys(facts, ("id", "text", "path")).items():
        if value != name:
            yield {"element_clicked": {key: value, **more}}


def _around(value: object) -> JsonValue:
    """Return a matcher of what an element stands in; None where nothing was reported."""
    text = value.strip() if isinstance(value, str) else ""
    if utf16_units(text) + 1 >= MAX_OWN_TEXT:  # half a letter at the end is lost
        return {"starts_with": text[: MAX_OWN_TEXT // 2]}
    return short_text(text) or None


def _field(event: Event, origin: str | None) -> Offers:
    """Offer the value by each of the field's names; any value by the first of them."""
    data = event.data
    ways = _ways_to_name(mapping(data.get("element")), _around(data.get("around")))
    if not ways:
        yield from _observed(event, origin)
        return
    more: dict[str, JsonValue] = {}
    if data.get("trusted") is False:
        more["trusted"] = False
    if data.get("hidden"):
        more["hidden"] = True
    checked = data.get("checked")
    if isinstance(checked, bool):
        for field in ways:
            yield {"field_filled": {**field, "checked": checked, **more}}
        return
    value = _first_value(data)
    if value:
        for field in ways:
            yield {"field_filled": {**field, "value": value, **more}}
    yield {"field_filled": {**ways[0], "value": ANY_TEXT, **more}}


def _first_value(data: Mapping[str, JsonValue]) -> str:
    """Return a field's value, of several the first; empty where it is cut, long or no text."""
    if data.get("cut"):
        return ""
    value = data.get("value")
    chosen = as_list(value)
    return short_text(chosen[0] if chosen else value)


def _ways_to_name(element: JsonObject, around: JsonValue) -> list[dict[str, JsonValue]]:
    """Return how a condition can name a field: by each of its names; if it has none, by what stands
    around it and by its path."""
    names = _short_texts(element, "name", "attr_name", "id").values()
    if names:
        return [{"field": name} for name in dict.fromkeys(names)]
    by_path = _short_texts(element, "path")
    if not by_path:
        return []
    return [by_path] if around is None else [{"around": around}, by_path]


def _form(event: Event, origin: str | None) -> Offers:
    """Offer conditions on a sent form: with its fields, by its name, by its address."""
    form = mapping(event.data.get("form"))
    fields = _sent_fields(event.data.get("fields"))
    names = list(_short_texts(form, "name", "id", "attr_name").values())
    named: dict[str, JsonValue] = {"form": names[0]} if names else {}
    address = _open_address("action", form.get("action"), origin)
    facts = named | address
    if not facts:
        return
    if fields:
        yield {"form_submitted": {**facts, "fields": fields}}
    yield {"form_submitted": facts}
    if named and address:
        yield {"form_submitted": named}


def _sent_fields(pairs: object) -> dict[str, JsonValue]:
    """Return the fields of a form that were sent with a text, by name; the last of a name."""
    whole = (pair for pair in as_list(pairs) if isinstance(pair, list) and len(pair) == 2)
    return {str(name): text for name, value in whole if (text := short_text(value))}


def _request(event: Event, origin: str | None) -> Offers:
    """Offer requests that write, with the redirect that accepted them, and what a page fetched."""
    data = event.data
    hops = list_or_empty(data.get("hops"))
    for hop in objects_in(hops):
        if text_or_none(hop.get("method")) in WRITES:
            to = _open_address("redirect_to", hop.get("location"), origin, hop.get("url"))
            yield from _accepted(hop, origin, to)
    is_write = text_or_none(data.get("method")) in WRITES
    is_script = data.get("type") in ("XHR", "Fetch")
    if is_write or is_script:
        yield from _accepted(data, origin, {})


def _accepted(request: Mapping[str, JsonValue], origin: str | None, more: JsonObject) -> Offers:
    """Offer conditions on an accepted request: with parts of its body at the whole address, then by
    address."""
    method = str(request.get("method"))
    method_said: JsonObject = {} if method == "GET" else {"method": method}
    parts = list(_sent_parts(mapping(request.get("body"))))
    for address in _addresses(request.get("url"), origin):
        facts: dict[str, JsonValue] = {**method_said, "url": address, **more}
        for part in parts:
            yield {"request_accepted": {**facts, **part}}
        parts = []  # at the whole address alone
        yield {"request_accepted": facts}


def _sent_parts(body: JsonObject) -> Iterator[JsonObject]:
    """Yield what a condition can say of a request's body: all its fields, each of several, and each
    file."""
    fields = read_body(body)
    if fields:
        yield {"body": fields}
    if len(fields) > 1:
        for name, value in fields.items():
            yield {"body": {name: value}}
    for file in objects_in(body.get("files")):
        filename = short_text(file.get("filename"))
        if not filename:
            continue
        part: dict[str, JsonValue] = {"file": filename}
        if "size" in file:
            part["file_size"] = file["size"]
        yield part


def _download(event: Event, origin: str | None) -> Offers:
    """Offer conditions on a download: its name with its address, and its name with drawn parts
    open."""
    name = short_text(event.data.get("name"))
    address = list(_addresses(event.data.get("url"), origin))
    if name and address:
        yield {"download_finished": {"name": name, "url": address[0]}}
    for pattern in _names(name):
        yield {"download_finished": {"name": pattern}}


def _file(event: Event, origin: str | None) -> Offers:
    """Offer conditions on a file: by content, path, and name."""
    data = event.data
    name = short_text(data.get("name"))
    path = short_text(data.get("path"))
    if not name:
        return
    if short_text(data.get("sha256")):
        yield {"file_matches": {"name": name, "sha256": data["sha256"]}}
    if path and path != name:
        yield {"file_matches": {"path": path}}
    patterns = _names(name)
    for pattern in patterns:
        yield {"file_matches": {"name": pattern}}
    is_new = event.kind != "file.modified"
    if is_new:
        for pattern in patterns:
            yield {"file_created": {"name": pattern}}


def _dialog(event: Event, origin: str | None) -> Offers:
    """Offer conditions on an answered dialog: with what it said, and how it was answered."""
    data = event.data
    facts = entries_without_none(pick_keys(data, ("type", "accepted")))
    said = _short_texts(data, "message", "input")
    if said:
        yield {"dialog_answered": {**facts, **said}}
    if len(said) > 1:
        yield {"dialog_answered": {**facts, "message": said["message"]}}
    if facts:
        yield {"dialog_answered": facts}


def _text(event: Event, origin: str | None) -> Offers:
    """Offer each of the first lines that is more than two characters long."""
    lines = map(short_text, read_text(event.data, "text").splitlines())
    texts = dict.fromkeys(text for text in lines if len(text) > 2)
    for text in list(texts)[:MAX_LINES]:
        yield {"text_visible": {"text": {"contains": text}}}


def _shown_text(event: Event, origin: str | None) -> Offers:
    """Offer a block's text as one that is to be visible still when it matters."""
    text = short_text(event.data.get("text"))
    if text and event.data.get("initial") is not True:
        yield {"text_visible": {"text": {"contains": text}, "now": True}}


_STATES = ("checked", "selected", "expanded", "pressed", "disabled", "visible", "in_view")
_SIGHT = ("visible", "in_view")
"""Those of the states that say themselves whether the element can be seen."""


def _element_state(event: Event, origin: str | None) -> Offers:
    """Offer each state that an element has now, by its name, then by its id or selector."""
    data = event.data
    if data.get("initial") is True:
        return
    is_visible = data.get("visible") is True
    unless_seen: JsonObject = {} if is_visible else {"hidden": True}
    for way in _ways_to_element(data):
        for state in _STATES:
            value = data.get(state)
            if not isinstance(value, bool):
                continue
            more = {} if state in _SIGHT else unless_seen
            yield {"element_state": {**way, state: value, **more}}


def _ways_to_element(data: Mapping[str, JsonValue]) -> Iterator[dict[str, JsonValue]]:
    """Yield how a condition can name an element whose state changed: by role and name, by its id,
    by its path, by each selector that found it."""
    facts = _short_texts(mapping(data.get("element")), "role", "name", "id", "path")
    if "name" in facts:
        yield pick_keys(facts, ("role", "name"))
    yield from ({key: value} for key, value in pick_keys(facts, ("id", "path")).items())
    yield from ({"selector": selector} for selector in as_list(data.get("selectors")))


def _clipboard(event: Event, origin: str | None) -> Offers:
    text = short_text(event.data.get("text"))
    if text:
        yield {"clipboard_holds": {"text": text}}
        yield {"clipboard_holds": {"text": {"contains": text}}}


def _process(event: Event, origin: str | None) -> Offers:
    """Offer conditions on a program that was started, with and without its arguments."""
    name = short_text(event.data.get("name"))
    if not name:
        return
    arguments = event.data.get("arguments")
    listed = as_list(arguments)
    words = short_text(" ".join(map(str, listed)) if listed else arguments)
    if words:
        yield {"process_started": {"name": name, "arguments": words}}
    yield {"process_started": {"name": name}}


def _window(event: Event, origin: str | None) -> Offers:
    facts = _short_texts(event.data, "title", "app", "role")
    if "title" in facts:
        yield {"window_opened": facts}
        yield {"window_opened": {"title": facts["title"]}}


def _state(event: Event, origin: str | None) -> Offers:
    facts = _widget_facts(event)
    state: JsonObject = {"state": event.data.get("state"), "on": event.data.get("on", True)}
    if "name" in facts:
        yield {"widget_state": {**facts, **state}}
        yield {"widget_state": {"name": facts["name"], **state}}


def _widget_text(event: Event, origin: str | None) -> Offers:
    facts, text = _widget_facts(event), short_text(event.data.get("text"))
    if text:
        yield {"widget_text": {**facts, "text": text}}
        yield {"widget_text": {**facts, "text": {"contains": text}}}


def _widget_facts(event: Event) -> dict[str, JsonValue]:
    widget = mapping(event.data.get("widget"))
    return _short_texts(widget, "name", "role") | _short_texts(event.data, "app")


def _answer(event: Event, origin: str | None) -> Offers:
    text = short_text(event.data.get("text"))
    if text:
        yield {"answer_matches": {"text": text}}
        yield {"answer_matches": {"text": {"contains": text}}}


def _tool(event: Event, origin: str | None) -> Offers:
    """Offer conditions on a tool's call, with and without its arguments."""
    tool = short_text(event.data.get("tool"))
    if not tool:
        return
    facts = dict(_facts(mapping(event.data.get("arguments"))))
    if facts:
        yield {"tool_called": {"tool": tool, "arguments": facts}}
    yield {"tool_called": {"tool": tool}}


_NAMING = ("element.name", "element.id", "element.path", "widget.name", "name", "path", "title")
"""Facts that name the thing that an event is about: the first of them that there is does."""


def _observed(event: Event, origin: str | None) -> Offers:
    """Offer what can be said of any kind: all its short facts, then the one that names the thing,
    then the kind."""
    facts = dict(_facts(event.data))
    if facts:
        yield {"observed": {"kind": event.kind, "where": facts}}
    is_by_script = facts.get("trusted") is False
    trust: dict[str, JsonValue] = {"trusted": False} if is_by_script else {}
    naming = next((key for key in _NAMING if key in facts), None)
    if naming is not None and len(facts) > 1:
        yield {"observed": {"kind": event.kind, "where": {naming: facts[naming], **trust}}}
    if trust:
        yield {"observed": {"kind": event.kind, "where": trust}}
    else:
        yield {"observed": {"kind": event.kind}}


def _facts(data: Mapping[str, JsonValue], before: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yield the short facts of an event, by dotted path."""
    for key, value in data.items():
        is_usual = key == "trusted" and value is True
        if is_usual or _is_passing(key, before):
            continue
        if isinstance(value, Mapping) and not before:
            yield from _facts(value, f"{key}.")
        elif _is_short_fact(value):
            yield before + key, value


def _is_short_fact(value: JsonValue) -> bool:
    """Whether a value is a short text, a truth value or a whole number."""
    if isinstance(value, str):
        return bool(short_text(value))
    return type(value) in (bool, int)


def _is_passing(key: str, before: str) -> bool:
    """Whether a field differs from run to run: of a widget the place in its tree does."""
    if before == "widget.":
        return "." in key or key == "path"
    return "." in key or (not before and key in _PASSING)


def _names(name: str) -> list[JsonValue]:
    """Return a file's name, then with any numbers in the place of its own, then its ending."""
    if not name:
        return []
    patterns: list[JsonValue] = [name]
    open_name = open_text(name)
    if open_name != name:
        patterns.append({"glob": open_name})
    stem, _, ending = name.rpartition(".")
    if stem and ending:
        patterns.append({"glob": f"*.{ending}"})
    return patterns


def _open_address(
    name: str, url: object, origin: str | None, base: object = None
) -> dict[str, JsonValue]:
    """Return the address that leaves most open as the fact ``name``; nothing where it is none."""
    addresses = list(_addresses(url, origin, base))
    return {name: addresses[-1]} if addresses else {}


def _addresses(url: object, origin: str | None, base: object = None) -> Iterator[JsonValue]:
    """Yield an address with its query, without it, and with any numbers in the place of its own;
    below ``origin`` the path alone."""
    text = str(url or "")
    is_below_base = base is not None and text.startswith("/")
    if is_below_base:
        text = f"{split_address(base)[0] or ''}{text}"
    where, path, query = split_address(text)
    if where is None or len(text) > 4 * MAX_TEXT:
        return
    start = "" if where == origin else where
    has_short_query = query and len(query) <= MAX_TEXT
    if has_short_query:
        yield f"{start}{path}?{query}"
    yield f"{start}{path}"
    open_path = open_text(path)
    if open_path != path:
        yield f"{start}{open_path}"


_MAKERS: Mapping[str, OfferMaker] = {
    "page.navigated": _page,
    "page.title_changed": _title,
    "element.clicked": _click,
    "element.pressed": _click,
    "field.filled": _field,
    "form.submitted": _form,
    "request.finished": _request,
    "request.failed": _request,
    "download.finished": _download,
    "file.created": _file,
    "file.modified": _file,
    "file.moved": _file,
    "dialog.closed": _dialog,
    "text.appeared": _text,
    "text.shown": _shown_text,
    "element.state_changed": _element_state,
    "clipboard.changed": _clipboard,
    "process.started": _process,
    "window.opened": _window,
    "window.title_changed": _window,
    "widget.state_changed": _state,
    "widget.text_changed": _widget_text,
    "agent.answered": _answer,
    "agent.tool_called": _tool,
}

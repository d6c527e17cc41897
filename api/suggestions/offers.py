"""Conditions that an event could meet, from the specific to the general (pure).

They are only offered: whether an event meets one is for the engine to say
(api/suggestions/trial.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from api.suggestions.event_values import (
    MAX_TEXT,
    WRITES,
    read_body,
    short_text,
    split_address,
)
from detectors.model.json_value import JsonObject, JsonValue, objects_in
from detectors.model.kinds.limits import MAX_OWN_TEXT, utf16_units
from detectors.model.safe_json import as_list, mapping
from detectors.model.types import Event

Offers = Iterator[JsonObject]
OfferMaker = Callable[[Event, str | None], Offers]

ANY_TEXT: JsonObject = {"regex": "(?s).+"}
MAX_LINES = 4
"""Lines of a text that are offered, each for itself."""
_NUMBER = re.compile(r"\d+")
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
    data = event.data
    frames: JsonObject = {} if data.get("main", True) else {"frames": True}
    addresses = list(_addresses(data.get("url"), origin))
    for address in addresses:
        yield {"url_reached": {"url": address, **frames}}
    if data.get("same_document"):
        for address in addresses:
            yield {"url_reached": {"url": address, **frames, "loaded": False}}


def _title(event: Event, origin: str | None) -> Offers:
    title = short_text(event.data.get("title"))
    if title:
        for address in list(_addresses(event.data.get("url"), origin))[-1:]:
            yield {"title_matches": {"title": title, "url": address}}
        yield {"title_matches": {"title": title}}


def _click(event: Event, origin: str | None) -> Offers:
    if event.data.get("trusted") is not True:
        yield from _observed(event, origin)
        return
    more: JsonObject = {"presses": True} if event.kind == "element.pressed" else {}
    element = mapping(event.data.get("element"))
    facts = _short_texts(element, "role", "name", "id", "text", "tag", "path")
    around = _around(event.data.get("around"))
    yield from _elements(facts, around, more)
    box = as_list(event.data.get("box"))
    if len(box) == 4 and min(box[2:]) > 0:
        yield {"pointed_at": {"box": [*box]}}
    if "name" not in facts:
        yield from _observed(event, origin)


def _short_texts(data: JsonObject, *keys: str) -> dict[str, JsonValue]:
    """Return those of the fields that hold a short text, in the order of ``keys``."""
    texts = ((key, short_text(data.get(key))) for key in keys)
    return {key: text for key, text in texts if text}


def _elements(facts: Mapping[str, JsonValue], around: JsonValue, more: JsonObject) -> Offers:
    """Offer a click on an element by what it stands in, by its name, then by each other fact."""
    named: dict[str, JsonValue] = {key: facts[key] for key in ("role", "name") if key in facts}
    if around is not None and facts:
        first: Mapping[str, JsonValue] = named if "name" in named else facts
        yield {"element_clicked": {**first, "around": around, **more}}
    if "name" in named:
        yield {"element_clicked": {**named, **more}}
        yield {"element_clicked": {"name": named["name"], **more}}
    for key in ("id", "text", "path"):
        if key in facts and facts[key] != facts.get("name"):
            yield {"element_clicked": {key: facts[key], **more}}


def _around(value: object) -> JsonValue:
    """Return a matcher of what an element stands in; None where nothing was reported."""
    text = value.strip() if isinstance(value, str) else ""
    if utf16_units(text) + 1 >= MAX_OWN_TEXT:  # half a letter at the end is lost
        return {"starts_with": text[: MAX_OWN_TEXT // 2]}
    return short_text(text) or None


def _field(event: Event, origin: str | None) -> Offers:
    """Offer the value by each of the field's names; any value by the first of them."""
    data = event.data
    more: dict[str, JsonValue] = {} if data.get("trusted") is not False else {"trusted": False}
    more |= {"hidden": True} if data.get("hidden") else {}
    named = _ways_to_name(mapping(data.get("element")), _around(data.get("around")))
    if isinstance(data.get("checked"), bool):
        for field in named:
            yield {"field_filled": {**field, "checked": data["checked"], **more}}
    else:
        chosen = as_list(data.get("value")) or [data.get("value")]
        value = "" if data.get("cut") else short_text(chosen[0])
        for field in named if value else ():
            yield {"field_filled": {**field, "value": value, **more}}
        for field in named[:1]:
            yield {"field_filled": {**field, "value": ANY_TEXT, **more}}
    if not named:
        yield from _observed(event, origin)


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
    form = mapping(event.data.get("form"))
    fields = _sent_fields(event.data.get("fields"))
    names = list(_short_texts(form, "name", "id", "attr_name").values())
    facts: dict[str, JsonValue] = {"form": names[0]} if names else {}
    facts |= _open_address("action", form.get("action"), origin)
    if fields and facts:
        yield {"form_submitted": {**facts, "fields": fields}}
    if facts:
        yield {"form_submitted": facts}
    if len(facts) > 1:
        yield {"form_submitted": {"form": facts["form"]}}


def _sent_fields(pairs: object) -> dict[str, JsonValue]:
    """Return the fields of a form that were sent with a text, by name; the last of a name."""
    fields: dict[str, JsonValue] = {}
    for pair in as_list(pairs):
        if isinstance(pair, list) and len(pair) == 2 and (value := short_text(pair[1])):
            fields[str(pair[0])] = value
    return fields


def _request(event: Event, origin: str | None) -> Offers:
    """Offer requests that write, with the redirect that accepted them, and what a page fetched."""
    data = event.data
    for hop in objects_in(list(data.get("hops") or ())):
        if hop.get("method") in WRITES:
            to = _open_address("redirect_to", hop.get("location"), origin, hop.get("url"))
            yield from _accepted(hop, origin, to)
    if data.get("method") in WRITES or data.get("type") in ("XHR", "Fetch"):
        yield from _accepted(data, origin, {})


def _accepted(request: Mapping[str, JsonValue], origin: str | None, more: JsonObject) -> Offers:
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
        name = short_text(file.get("filename"))
        sized: JsonObject = {"file_size": file["size"]} if "size" in file else {}
        if name:
            yield {"file": name, **sized}


def _download(event: Event, origin: str | None) -> Offers:
    name = short_text(event.data.get("name"))
    address = list(_addresses(event.data.get("url"), origin))
    if name and address:
        yield {"download_finished": {"name": name, "url": address[0]}}
    for pattern in _names(name):
        yield {"download_finished": {"name": pattern}}


def _file(event: Event, origin: str | None) -> Offers:
    data = event.data
    name, path = short_text(data.get("name")), short_text(data.get("path"))
    if not name:
        return
    if short_text(data.get("sha256")):
        yield {"file_matches": {"name": name, "sha256": data["sha256"]}}
    if path and path != name:
        yield {"file_matches": {"path": path}}
    for pattern in _names(name):
        yield {"file_matches": {"name": pattern}}
    if event.kind != "file.modified":
        for pattern in _names(name):
            yield {"file_created": {"name": pattern}}


def _dialog(event: Event, origin: str | None) -> Offers:
    data = event.data
    facts: dict[str, JsonValue] = {
        key: data[key] for key in ("type", "accepted") if data.get(key) is not None
    }
    said = _short_texts(data, "message", "input")
    if said:
        yield {"dialog_answered": {**facts, **said}}
    if len(said) > 1:
        yield {"dialog_answered": {**facts, "message": said["message"]}}
    if facts:
        yield {"dialog_answered": facts}


def _text(event: Event, origin: str | None) -> Offers:
    lines = str(event.data.get("text") or "").splitlines()
    texts = [text for line in lines if len(text := short_text(line)) > 2]
    for text in list(dict.fromkeys(texts))[:MAX_LINES]:
        yield {"text_visible": {"text": {"contains": text}}}


def _shown_text(event: Event, origin: str | None) -> Offers:
    """Offer a block's text as one that is to be visible still when it matters."""
    text = short_text(event.data.get("text"))
    if text and event.data.get("initial") is not True:
        yield {"text_visible": {"text": {"contains": text}, "now": True}}


_STATES = ("checked", "selected", "expanded", "pressed", "disabled", "visible", "in_view")


def _element_state(event: Event, origin: str | None) -> Offers:
    """Offer each state that an element has now, by its name, then by its id or selector."""
    data, element = event.data, mapping(event.data.get("element"))
    if data.get("initial") is True:
        return
    facts = _short_texts(element, "role", "name", "id", "path")
    named: list[dict[str, JsonValue]] = []
    if "name" in facts:
        named.append({key: facts[key] for key in ("role", "name") if key in facts})
    named += [{key: facts[key]} for key in ("id", "path") if key in facts]
    named += [{"selector": one} for one in as_list(data.get("selectors"))]
    more: dict[str, JsonValue] = {} if data.get("visible") is True else {"hidden": True}
    for one in named:
        for state in _STATES:
            if isinstance(data.get(state), bool):
                is_seen = state in ("visible", "in_view")
                yield {"element_state": {**one, state: data[state], **({} if is_seen else more)}}


def _clipboard(event: Event, origin: str | None) -> Offers:
    text = short_text(event.data.get("text"))
    if text:
        yield {"clipboard_holds": {"text": text}}
        yield {"clipboard_holds": {"text": {"contains": text}}}


def _process(event: Event, origin: str | None) -> Offers:
    name = short_text(event.data.get("name"))
    arguments = event.data.get("arguments")
    said = " ".join(map(str, as_list(arguments))) if as_list(arguments) else arguments
    if name and (words := short_text(said)):
        yield {"process_started": {"name": name, "arguments": words}}
    if name:
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
    tool = short_text(event.data.get("tool"))
    if tool:
        facts = dict(_facts(mapping(event.data.get("arguments"))))
        if facts:
            yield {"tool_called": {"tool": tool, "arguments": facts}}
        yield {"tool_called": {"tool": tool}}


def _observed(event: Event, origin: str | None) -> Offers:
    """Offer what can be said of any kind: all its short facts, then the one that names the thing,
    then the kind."""
    facts = dict(_facts(event.data))
    if facts:
        yield {"observed": {"kind": event.kind, "where": facts}}
    trust = {key: value for key, value in facts.items() if key == "trusted" and value is False}
    for key in (
        "element.name",
        "element.id",
        "element.path",
        "widget.name",
        "name",
        "path",
        "title",
    ):
        if key in facts and len(facts) > 1:
            yield {"observed": {"kind": event.kind, "where": {key: facts[key], **trust}}}
            break
    yield {"observed": {"kind": event.kind, **({"where": trust} if trust else {})}}


def _facts(data: Mapping[str, JsonValue], before: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yield the short facts of an event, by dotted path."""
    for key, value in data.items():
        if _is_passing(key, before) or (key == "trusted" and value is True):
            continue
        if isinstance(value, Mapping) and not before:
            yield from _facts(value, f"{key}.")
        elif (isinstance(value, str) and short_text(value)) or type(value) in (bool, int):
            yield before + key, value


def _is_passing(key: str, before: str) -> bool:
    """Whether a field differs from run to run: of a widget the place in its tree does."""
    if before == "widget.":
        return "." in key or key == "path"
    return "." in key or (not before and key in _PASSING)


def _names(name: str) -> list[JsonValue]:
    """Return a file's name, then with any numbers in the place of its own, then its ending."""
    open_name, (stem, dot, ending) = _NUMBER.sub("*", name), name.rpartition(".")
    patterns: list[JsonValue] = [name] if name else []
    patterns += [{"glob": open_name}] if open_name != name else []
    return patterns + ([{"glob": f"*.{ending}"}] if stem and dot and ending else [])


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
    if base is not None and text.startswith("/"):
        text = f"{split_address(base)[0] or ''}{text}"
    where, path, query = split_address(text)
    if where is None or len(text) > 4 * MAX_TEXT:
        return
    start = "" if where == origin else where
    if query and len(query) <= MAX_TEXT:
        yield f"{start}{path}?{query}"
    yield f"{start}{path}"
    open_path = _NUMBER.sub("*", path)
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

"""A recording of what pages looked like, made safe to be shown: rrweb's events without all that
could act (pure).

Who made the page chose what is in it. A replay is shown in a sandboxed frame where no script runs
and nothing is loaded (api/pages/replay.py); what could ask for either is taken out before it is
sent there: neither wall stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import orjson

from detectors.model.types import Event, Json

FULL = 2
INCREMENTAL = 3
META = 4
"""Types of rrweb's events."""
MUTATION = 0
RESIZED = 4
STYLE_RULE = 8
STYLE_DECLARED = 13
ADOPTED = 15
"""Sources of its incremental events."""
DOCUMENT_TYPE = 1
ELEMENT = 2
TEXTS = (3, 4, 5)
"""Types of its nodes; texts, CDATA and comments have no children."""
MAX_LATE_MS = 600_000
SOURCES = frozenset((0, 1, 2, 3, 4, 5, 6, 8, 12, 13, 15))
"""Which of rrweb's incremental events are shown: none that draws on a canvas, loads a font, plays
or runs a plug-in."""
MAX_PIXELS = 20_000
DEFAULT_PIXELS = 800
MAX_DEPTH = 120
"""Elements within each other: each takes two levels of the JSON that the frame is sent, of which
there may be 254."""
MAX_SHEET_DEPTH = 8
_NAME = re.compile(r"[a-z_][a-z0-9_.:-]{0,80}", re.IGNORECASE)
_SHOWN = re.compile(r"\s*data:image/(png|jpe?g|gif|webp|avif|bmp)[;,]", re.IGNORECASE)
_CSS = re.compile(
    r"@import[^;]*;?|url\s*\((?!\s*['\"]?data:(?:image/(?!svg)|font/))[^)]*\)?"
    r"|image-set\s*\([^)]*\)?|expression\s*\(",
    re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\(?:[0-9a-f]{1,6}\s?|[a-z])", re.IGNORECASE)
_ACTS = frozenset(
    "script object embed applet base meta link frame frameset portal fencedframe animate set"
    " animatemotion animatetransform handler listener template noscript video audio source"
    " track".split()
)
"""Elements that are shown as empty ones. rrweb gives a style sheet of a ``link`` as its text: that
is kept."""
_LOADS = frozenset(
    "href src srcset action formaction poster background data cite ping srcdoc imagesrcset"
    " xlink:href manifest codebase longdesc usemap target http-equiv content sandbox allow csp is"
    " rr_src autofocus".split()
)
_KEPT = ("type", "id", "rootId", "isShadow", "isShadowHost", "isSVG")
_PICTURES = frozenset(("src", "rr_dataurl"))
_STYLES = frozenset(("style", "_csstext"))


class ReplayMessage(NamedTuple):
    """One message of a tab: number ``n`` of its ``stream``. Events bear their ``timestamp`` in ms
    since the opening."""

    tab: str
    stream: str
    n: int
    events: list[dict[str, Json]]


def sanitize(recorded: Iterable[Event]) -> Iterator[ReplayMessage]:
    """Yield what can be shown of ``visual.dom_recorded`` events, message by message; one that is
    not whole is left out."""
    parts: list[str] = []
    for event in recorded:
        data = event.data
        part, n = data.get("part", 0), data.get("sequence")
        if not part:
            parts = []
        if len(parts) != part or not isinstance(n, int):
            continue
        parts.append(str(data.get("text")))
        if is_whole(event):
            events = list(_events("".join(parts), event.at // 1_000_000, data.get("sent_ms")))
            yield ReplayMessage(str(data.get("tab")), str(data.get("stream")), n, events)


def is_whole(event: Event) -> bool:
    """Whether a message ends with this event."""
    part, parts = event.data.get("part", 0), event.data.get("parts", 1)
    if not isinstance(part, int) or not isinstance(parts, int):
        return True
    return part + 1 >= parts


def _events(text: str, at: int, now: Json) -> Iterator[dict[str, Json]]:
    """Yield the events of a message that can be shown. ``at``: when it came, in ms since the
    episode opened; ``now``: when it was sent, by the page's clock."""
    try:
        events = orjson.loads(text)
    except orjson.JSONDecodeError:
        return
    for event in events if isinstance(events, list) else ():
        shown = _sanitize_event(event)
        if shown is not None:
            late = _late_ms(event.get("timestamp"), now)
            yield {**shown, "timestamp": at - min(max(late, 0), MAX_LATE_MS)}


def _late_ms(timestamp: Json, now: Json) -> float:
    """How long before its message an event was, by the page's clock; 0 where that is not known."""
    return now - timestamp if _is_number(now) and _is_number(timestamp) else 0


def _sanitize_event(event: Json) -> dict[str, Json] | None:
    """Return what can be shown of an event; None for nothing: others' recorders, and others' pages,
    may have written anything."""
    if not isinstance(event, dict) or not isinstance(event.get("data"), dict):
        return None
    try:
        return _show_event(event.get("type"), event["data"])
    except (TypeError, ValueError, AttributeError, RecursionError):
        return None


def _show_event(kind: Json, data: dict[str, Json]) -> dict[str, Json] | None:
    if kind == META:
        return {"type": META, "data": {"href": "about:blank", **_size(data)}}
    if kind == FULL:
        shown = {"node": _node(data.get("node"), 0), "initialOffset": data.get("initialOffset")}
        return {"type": FULL, "data": shown}
    source = data.get("source")
    if kind != INCREMENTAL or not isinstance(source, int) or source not in SOURCES:
        return None
    return {"type": INCREMENTAL, "data": _changed(data)}


def _changed(data: dict[str, Json]) -> dict[str, Json]:
    source = data["source"]
    if source == RESIZED:
        return {"source": RESIZED, **_size(data)}
    if source == MUTATION:
        return _mutation(data)
    if source in (STYLE_RULE, STYLE_DECLARED, ADOPTED):
        return {name: _sheet(value, 0) for name, value in data.items()}
    return data


def _mutation(data: Mapping[str, Json]) -> dict[str, Json]:
    """Return what came, changed and went in a document."""
    return {
        "source": MUTATION,
        "adds": [{**added, "node": _node(added.get("node"), 0)} for added in _dicts(data, "adds")],
        "attributes": [
            {**changed, "attributes": _attributes(changed.get("attributes"))}
            for changed in _dicts(data, "attributes")
        ],
        "texts": [{**text, "value": _css(text.get("value"))} for text in _dicts(data, "texts")],
        "removes": _dicts(data, "removes"),
    }


def _node(node: Json, depth: int) -> dict[str, Json]:
    """Return a node of a snapshot as it may be shown, with its children."""
    if not isinstance(node, dict):
        return _empty_text(-1)
    if depth > MAX_DEPTH:
        return _empty_text(node.get("id", -1))
    kept = {name: node[name] for name in _KEPT if name in node}
    kind = node.get("type")
    if kind in TEXTS:
        kept["textContent"] = _css(node.get("textContent"))
        return kept | ({"isStyle": True} if node.get("isStyle") else {})
    if kind == ELEMENT:
        return kept | _element(node, depth)
    if kind == DOCUMENT_TYPE:
        kept |= {name: str(node.get(name, "")) for name in ("name", "publicId", "systemId")}
    return kept | {"childNodes": _children(node, depth)}


def _empty_text(number: Json) -> dict[str, Json]:
    return {"type": 3, "textContent": "", "id": number}


def _children(node: Mapping[str, Json], depth: int) -> list[dict[str, Json]]:
    children = node.get("childNodes")
    return [_node(child, depth + 1) for child in children] if isinstance(children, list) else []


def _element(node: Mapping[str, Json], depth: int) -> dict[str, Json]:
    """Return what is shown of an element: one that could act is an empty ``span``."""
    name = str(node.get("tagName", ""))
    recorded = node.get("attributes")
    attributes = _attributes(recorded)
    is_sheet = name.lower() in ("link", "style") and "_cssText" in attributes
    acts = name.lower() in _ACTS and not is_sheet
    if acts or not _NAME.fullmatch(name):
        return {"childNodes": [], "tagName": "span", "attributes": {}}
    if name.lower() == "a" and isinstance(recorded, dict) and "href" in recorded:
        attributes["href"] = "#"  # it looks like a link, and leads nowhere
    return {
        "childNodes": _children(node, depth),
        "tagName": "style" if is_sheet else name,
        "attributes": attributes,
    }


def _attributes(attributes: Json) -> dict[str, Json]:
    if not isinstance(attributes, dict):
        return {}
    kept = {}
    for name, value in attributes.items():
        low = name.lower()
        picture = low in _PICTURES and isinstance(value, str) and _SHOWN.match(value)
        if low in _STYLES:
            kept[name] = _sheet(value, 0)
        elif picture or (_NAME.fullmatch(name) and not _acts(low, value)):
            kept[name] = value
    return kept


def _acts(name: str, value: Json) -> bool:
    if name in _LOADS or name.startswith("on"):
        return True
    return isinstance(value, str) and "script:" in value.lower()


def _sheet(value: Json, depth: int) -> Json:
    if isinstance(value, str):
        return _css(value)
    if depth > MAX_SHEET_DEPTH:
        return None
    if isinstance(value, list):
        return [_sheet(part, depth + 1) for part in value]
    if isinstance(value, dict):
        return {name: _sheet(part, depth + 1) for name, part in value.items()}
    return value


def _css(text: Json) -> str:
    """Return a style sheet, or a text that may become one, so that it loads nothing."""
    sheet = str(text or "")
    if "{" in sheet:
        sheet = _ESCAPE.sub(".", sheet)
    return _CSS.sub("none", sheet)


def _size(data: Mapping[str, Json]) -> dict[str, int]:
    return {name: _pixels(data.get(name)) for name in ("width", "height")}


def _pixels(value: Json) -> int:
    return min(max(int(value), 1), MAX_PIXELS) if _is_number(value) else DEFAULT_PIXELS


def _dicts(data: Mapping[str, Json], name: str) -> list[dict[str, Json]]:
    """Return the objects of the list called ``name``; none where it is no list."""
    values = data.get(name)
    return (
        [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
    )


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53

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

from detectors.model.optional_values import pick_keys
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
        part = data.get("part", 0)
        number = data.get("sequence")
        if not part:
            parts = []
        is_next = len(parts) == part
        if not is_next or not isinstance(number, int):
            continue
        parts.append(recorded_text(event))
        if not is_whole(event):
            continue
        events = list(_events("".join(parts), event.at // 1_000_000, data.get("sent_ms")))
        yield ReplayMessage(str(data.get("tab")), str(data.get("stream")), number, events)


def recorded_text(event: Event) -> str:
    """Return the part of a message that an event holds; nothing where that is no text."""
    text = event.data.get("text")
    return text if isinstance(text, str) else ""


def is_whole(event: Event) -> bool:
    """Whether a message ends with this event."""
    part = event.data.get("part", 0)
    parts = event.data.get("parts", 1)
    is_numbered = isinstance(part, int) and isinstance(parts, int)
    if not is_numbered:
        return True
    return bool(part + 1 >= parts)


def _events(text: str, at: int, now: Json) -> Iterator[dict[str, Json]]:
    """Yield the events of a message that can be shown. ``at``: when it came, in ms since the
    episode opened; ``now``: when it was sent, by the page's clock."""
    try:
        events = orjson.loads(text)
    except orjson.JSONDecodeError:
        return
    if not isinstance(events, list):
        return
    for event in events:
        shown = _sanitize_event(event)
        if shown is None:
            continue
        late = _late_ms(event.get("timestamp"), now)
        yield {**shown, "timestamp": at - min(max(late, 0), MAX_LATE_MS)}


def _late_ms(timestamp: Json, now: Json) -> float:
    """How long before its message an event was, by the page's clock; 0 where that is not known."""
    is_known = _is_number(now) and _is_number(timestamp)
    if not is_known:
        return 0
    late: float = now - timestamp
    return late


def _sanitize_event(event: Json) -> dict[str, Json] | None:
    """Return what can be shown of an event; None for nothing: others' recorders, and others' pages,
    may have written anything."""
    if not isinstance(event, dict):
        return None
    data = event.get("data")
    if not isinstance(data, dict):
        return None
    try:
        return _show_event(event.get("type"), data)
    except (TypeError, ValueError, AttributeError, RecursionError):
        return None


def _show_event(kind: Json, data: dict[str, Json]) -> dict[str, Json] | None:
    """Return what can be shown of an event of a ``kind``; None for one that is not shown."""
    if kind == META:
        return {"type": META, "data": {"href": "about:blank", **_size(data)}}
    if kind == FULL:
        shown = {
            "node": _node(data.get("node"), 0),
            "initialOffset": data.get("initialOffset"),
        }
        return {"type": FULL, "data": shown}
    if kind == INCREMENTAL and _is_shown_source(data.get("source")):
        return {"type": INCREMENTAL, "data": _changed(data)}
    return None


def _is_shown_source(source: Json) -> bool:
    """Whether incremental events of this source are shown."""
    return isinstance(source, int) and source in SOURCES


def _changed(data: dict[str, Json]) -> dict[str, Json]:
    """Return a change of the visual record without anything that loads or acts."""
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
    adds = []
    for added in _dicts(data, "adds"):
        adds.append({**added, "node": _node(added.get("node"), 0)})
    attributes = []
    for changed in _dicts(data, "attributes"):
        attributes.append({**changed, "attributes": _attributes(changed.get("attributes"))})
    texts = []
    for text in _dicts(data, "texts"):
        texts.append({**text, "value": _css(text.get("value"))})
    return {
        "source": MUTATION,
        "adds": adds,
        "attributes": attributes,
        "texts": texts,
        "removes": _dicts(data, "removes"),
    }


def _node(node: Json, depth: int) -> dict[str, Json]:
    """Return a node of a snapshot as it may be shown, with its children."""
    if not isinstance(node, dict):
        return _empty_text(-1)
    if depth > MAX_DEPTH:
        return _empty_text(node.get("id", -1))
    kept = pick_keys(node, _KEPT)
    kind = node.get("type")
    if kind in TEXTS:
        kept["textContent"] = _css(node.get("textContent"))
        if node.get("isStyle"):
            kept["isStyle"] = True
        return kept
    if kind == ELEMENT:
        return kept | _element(node, depth)
    if kind == DOCUMENT_TYPE:
        for name in ("name", "publicId", "systemId"):
            kept[name] = str(node.get(name, ""))
    kept["childNodes"] = _children(node, depth)
    return kept


def _empty_text(number: Json) -> dict[str, Json]:
    return {"type": 3, "textContent": "", "id": number}


def _children(node: Mapping[str, Json], depth: int) -> list[dict[str, Json]]:
    """Return the children of a node, each made harmless."""
    children = node.get("childNodes")
    if not isinstance(children, list):
        return []
    return [_node(child, depth + 1) for child in children]


def _element(node: Mapping[str, Json], depth: int) -> dict[str, Json]:
    """Return what is shown of an element: one that could act is an empty ``span``."""
    name = str(node.get("tagName", ""))
    tag = name.lower()
    recorded = node.get("attributes")
    attributes = _attributes(recorded)
    is_sheet = tag in ("link", "style") and "_cssText" in attributes
    acts = tag in _ACTS and not is_sheet
    if acts or not _NAME.fullmatch(name):
        return {"childNodes": [], "tagName": "span", "attributes": {}}
    is_link = tag == "a" and isinstance(recorded, dict) and "href" in recorded
    if is_link:
        attributes["href"] = "#"  # it looks like a link, and leads nowhere
    return {
        "childNodes": _children(node, depth),
        "tagName": "style" if is_sheet else name,
        "attributes": attributes,
    }


def _attributes(attributes: Json) -> dict[str, Json]:
    """Return the attributes that may be shown: styles as far as they load nothing, pictures that
    hold their own bytes, and what neither loads nor acts."""
    if not isinstance(attributes, dict):
        return {}
    kept = {}
    for name, value in attributes.items():
        low = name.lower()
        if low in _STYLES:
            kept[name] = _sheet(value, 0)
        elif _is_own_picture(low, value) or _is_harmless(name, value):
            kept[name] = value
    return kept


def _is_own_picture(name: str, value: Json) -> bool:
    """Whether an attribute, its name in lower case, is a picture with its bytes in it."""
    if name not in _PICTURES or not isinstance(value, str):
        return False
    return _SHOWN.match(value) is not None


def _is_harmless(name: str, value: Json) -> bool:
    """Whether an attribute has a plain name, and neither loads anything nor acts."""
    return _NAME.fullmatch(name) is not None and not _acts(name.lower(), value)


def _acts(name: str, value: Json) -> bool:
    """Whether an attribute loads or runs something."""
    if name in _LOADS or name.startswith("on"):
        return True
    return isinstance(value, str) and "script:" in value.lower()


def _sheet(value: Json, depth: int) -> Json:
    """Return a style sheet's parts with harmless texts; None beyond `MAX_SHEET_DEPTH`."""
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
    """Return a width or height within bounds; the usual one where it is no number."""
    if not _is_number(value):
        return DEFAULT_PIXELS
    return min(max(int(value), 1), MAX_PIXELS)


def _dicts(data: Mapping[str, Json], name: str) -> list[dict[str, Json]]:
    """Return the objects of the list called ``name``; none where it is no list."""
    values = data.get(name)
    if not isinstance(values, list):
        return []
    return [value for value in values if isinstance(value, dict)]


def _is_number(value: Json) -> bool:
    """Whether a value is a number that a float holds as it is; a truth value is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 2**53

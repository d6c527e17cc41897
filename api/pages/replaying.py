"""A recording of what pages looked like, made safe to be shown: rrweb's events without all that
could act (pure).

Who made the page chose what is in it. A replay is shown in a sandboxed frame where no script runs
and nothing is loaded (api/pages/replay.py); what could ask for either is taken out before it is
sent there: neither wall stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from detectors.model.types import Event

FULL, INCREMENTAL, META = 2, 3, 4
MUTATION, RESIZED, STYLE_RULE, STYLE_DECLARED, ADOPTED = 0, 4, 8, 13, 15
SOURCES = frozenset((0, 1, 2, 3, 4, 5, 6, 8, 12, 13, 15))
"""Which of rrweb's incremental events are shown: none that draws on a canvas, loads a font, plays or runs a plug-in."""
MAX_PIXELS = 20_000
MAX_DEPTH = 120
"""Elements within each other: each takes two levels of the JSON that the frame is sent, of which there may be 254."""
MAX_SHEET_DEPTH = 8
_NAME = re.compile(r"[a-z_][a-z0-9_.:-]{0,80}", re.IGNORECASE)
_SHOWN = re.compile(r"\s*data:image/(png|jpe?g|gif|webp|avif|bmp)[;,]", re.IGNORECASE)
_CSS = re.compile(
    r"@import[^;]*;?|url\s*\((?!\s*['\"]?data:(?:image/(?!svg)|font/))[^)]*\)?|image-set\s*\([^)]*\)?|expression\s*\(",
    re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\(?:[0-9a-f]{1,6}\s?|[a-z])", re.IGNORECASE)
_ACTS = frozenset(
    "script object embed applet base meta link frame frameset portal fencedframe animate set"
    " animatemotion animatetransform handler listener template noscript video audio source track".split()
)
"""Elements that are shown as empty ones. rrweb gives a style sheet of a ``link`` as its text: that is kept."""
_LOADS = frozenset(
    "href src srcset action formaction poster background data cite ping srcdoc imagesrcset"
    " xlink:href manifest codebase longdesc usemap target http-equiv content sandbox allow csp is"
    " rr_src autofocus".split()
)
_PICTURES = frozenset(("src", "rr_dataurl"))
_STYLES = frozenset(("style", "_csstext"))


class ReplayMessage(NamedTuple):
    """One message of a tab: number ``n`` of its ``stream``. Events bear their ``timestamp`` in ms
    since the opening."""

    tab: str
    stream: str
    n: int
    events: list[dict[str, Any]]


def sanitize(recorded: Iterable[Event]) -> Iterator[ReplayMessage]:
    """What can be shown of ``visual.recorded`` events, message by message; one that is not whole is
    left out."""
    parts: list[str] = []
    for event in recorded:
        data = event.data
        part, n = data.get("part", 0), data.get("n")
        parts = parts if part else []
        if len(parts) != part or not isinstance(n, int):
            continue
        parts.append(str(data.get("text")))
        if is_whole(event):
            events = list(_events("".join(parts), event.at // 1_000_000, data.get("now")))
            yield ReplayMessage(str(data.get("tab")), str(data.get("stream")), n, events)


def is_whole(event: Event) -> bool:
    """Whether a message ends with this event."""
    part, parts = event.data.get("part", 0), event.data.get("parts", 1)
    return not (isinstance(part, int) and isinstance(parts, int) and part + 1 < parts)


def _events(text: str, at: int, now: Any) -> Iterator[dict[str, Any]]:
    """``at``: when the message came, in ms since the episode opened; ``now``: when it was sent, by
    the page's clock."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return
    for one in found if isinstance(found, list) else ():
        try:
            clean = _event(one) if isinstance(one, dict) else None
        except (TypeError, ValueError, AttributeError, RecursionError):
            clean = None  # others' recorders, and others' pages, may have written anything
        if clean is not None:
            late = now - one["timestamp"] if _number(now) and _number(one.get("timestamp")) else 0
            yield {**clean, "timestamp": at - min(max(late, 0), 600_000)}


def _event(one: Mapping[str, Any]) -> dict[str, Any] | None:
    kind, data = one.get("type"), one.get("data")
    if not isinstance(data, dict):
        return None
    if kind == META:
        return {"type": META, "data": {"href": "about:blank", **_size(data)}}
    if kind == FULL:
        return {
            "type": FULL,
            "data": {
                "node": _node(data.get("node"), 0),
                "initialOffset": data.get("initialOffset"),
            },
        }
    source = data.get("source")
    if kind != INCREMENTAL or not isinstance(source, int) or source not in SOURCES:
        return None
    return {"type": INCREMENTAL, "data": _changed(data)}


def _changed(data: dict[str, Any]) -> dict[str, Any]:
    source = data["source"]
    if source == RESIZED:
        return {"source": RESIZED, **_size(data)}
    if source == MUTATION:
        gone = _dicts(data.get("removes"))
        adds = [{**one, "node": _node(one.get("node"), 0)} for one in _dicts(data.get("adds"))]
        changed = [
            {**one, "attributes": _attributes(one.get("attributes"))}
            for one in _dicts(data.get("attributes"))
        ]
        told = [{**one, "value": _css(one.get("value"))} for one in _dicts(data.get("texts"))]
        return {
            "source": MUTATION,
            "adds": adds,
            "attributes": changed,
            "texts": told,
            "removes": gone,
        }
    if source in (STYLE_RULE, STYLE_DECLARED, ADOPTED):
        return {name: _sheet(value, 0) for name, value in data.items()}
    return data


def _node(node: Any, depth: int) -> Any:
    if not isinstance(node, dict) or depth > MAX_DEPTH:
        return {
            "type": 3,
            "textContent": "",
            "id": node.get("id", -1) if isinstance(node, dict) else -1,
        }
    kept = {
        name: node[name]
        for name in ("type", "id", "rootId", "isShadow", "isShadowHost", "isSVG")
        if name in node
    }
    if node.get("type") in (3, 4, 5):
        kept["textContent"] = _css(node.get("textContent"))
        return kept | ({"isStyle": True} if node.get("isStyle") else {})
    if node.get("type") == 1:
        kept |= {name: str(node.get(name, "")) for name in ("name", "publicId", "systemId")}
    children = node.get("childNodes")
    kept["childNodes"] = (
        [_node(child, depth + 1) for child in children] if isinstance(children, list) else []
    )
    if node.get("type") == 2:
        name = str(node.get("tagName", ""))
        attributes = _attributes(node.get("attributes"))
        sheet = name.lower() in ("link", "style") and "_cssText" in attributes
        if not _NAME.fullmatch(name) or (name.lower() in _ACTS and not sheet):
            return {**kept, "tagName": "span", "attributes": {}, "childNodes": []}
        had = node.get("attributes")
        if name.lower() == "a" and isinstance(had, dict) and "href" in had:
            attributes["href"] = "#"  # it looks like a link, and leads nowhere
        kept |= {"tagName": "style" if sheet else name, "attributes": attributes}
    return kept


def _attributes(attributes: Any) -> dict[str, Any]:
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


def _acts(name: str, value: Any) -> bool:
    return (
        name in _LOADS
        or name.startswith("on")
        or (isinstance(value, str) and "script:" in value.lower())
    )


def _sheet(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _css(value)
    if depth > MAX_SHEET_DEPTH:
        return None
    if isinstance(value, list):
        return [_sheet(one, depth + 1) for one in value]
    return (
        {name: _sheet(one, depth + 1) for name, one in value.items()}
        if isinstance(value, dict)
        else value
    )


def _css(text: Any) -> str:
    """A style sheet, or a text that may become one, that loads nothing."""
    said = str(text or "")
    return _CSS.sub("none", _ESCAPE.sub(".", said) if "{" in said else said)


def _size(data: Mapping[str, Any]) -> dict[str, int]:
    return {
        name: min(max(int(data[name]), 1), MAX_PIXELS) if _number(data.get(name)) else 800
        for name in ("width", "height")
    }


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53

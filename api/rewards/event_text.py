"""Events as people read them, a line each. What a page wrote is only shown: it can't steer a
terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from api.rewards.rendering import number_in_words
from detectors.model.codec import canonical
from detectors.model.types import Event

MAX_CHARACTERS = 110
_FIELDS: Mapping[str, str] = {
    "episode": "task reason converted",
    "gap": "source part reason",
    "alarm": "source part reason",
    "events": "source count reason",
    "step": "step action reason",
    "agent": "text tool ok criterion events",
    "tab": "url",
    "page": "url title same_document error x y",
    "frame": "frame",
    "dialog": "type message accepted input",
    "permission": "name state",
    "auth": "url scheme",
    "download": "name url size",
    "request": "method url status error cached",
    "message": "url text",
    "element": "element target class open trusted around",
    "attribute": "element attribute value",
    "field": "element value checked trusted",
    "form": "form fields trusted",
    "text": "text",
    "app": "app",
    "window": "title role app",
    "widget": "widget state on text value",
    "notification": "title body",
    "process": "name pid",
    "clipboard": "selection text",
    "screen": "step sha256 changed",
    "file": "root path size sha256 from",
    "folder": "root path from",
    "probe": "probe when value reason",
}
"""Noun → the fields that a line shows, in this order, as far as an event has them."""


def line(event: Event) -> str:
    """``seq  seconds  source  kind  fields`` of one event."""
    return (
        f"{event.seq:>6}  {event.at / 1e9:>10.3f}  {event.source:<9} {event.kind:<20}"
        f" {telling(event)}".rstrip()
    )


def telling(event: Event) -> str:
    """The fields that tell most, on one line."""
    names = _FIELDS.get(event.kind.partition(".")[0], " ".join(event.data)).split()
    parts = [_part(name, event.data[name]) for name in names if name in event.data]
    if event.data.get("baseline") is True:
        parts.append("(so already)")
    return clip(" ".join(part for part in parts if part))


def clip(text: str, width: int = MAX_CHARACTERS) -> str:
    """``text`` on one line, printable, not wider than ``width``."""
    clean = " ".join("".join(char if _prints(char) else " " for char in text[: 4 * width]).split())
    return clean if len(clean) <= width else clean[: width - 1] + "…"


def is_printable(text: str) -> bool:
    """Whether no character of it steers a terminal or changes the direction of what follows."""
    return all(map(_prints, text))


def _prints(char: str) -> bool:
    return unicodedata.category(char)[0] != "C"


def _part(name: str, value: object) -> str:
    """Return a field of an event in words, "" for one that tells nothing."""
    if name == "around" and not value:
        return ""
    if name in ("element", "target", "widget") and isinstance(value, Mapping):
        return _thing(value)
    if name == "sha256":
        return f"sha256 {str(value)[:12]}"
    if name in (
        "method",
        "url",
        "title",
        "text",
        "status",
        "name",
        "path",
        "type",
        "task",
        "source",
        "state",
        "app",
    ):
        return str(value)
    if isinstance(value, bool):
        return f"{name.replace('_', ' ')}: {'yes' if value else 'no'}"
    if isinstance(value, float):
        said = number_in_words(value)
    else:
        said = str(value) if isinstance(value, str | int) else canonical(value).decode()
    return f"{name.replace('_', ' ')}: {said}"


def _thing(element: Mapping[str, object]) -> str:
    """An element or widget by all that a rule can name it by."""
    said = [f"{element.get('role', '')} “{element.get('name', '')}”"]
    said += [f"#{element['id']}"] if element.get("id") else []
    said += [f"[name={element['attr_name']}]"] if element.get("attr_name") else []
    path = element.get("path")
    said += [f"path {path}"] if isinstance(path, str) and path else []
    return " ".join(said)

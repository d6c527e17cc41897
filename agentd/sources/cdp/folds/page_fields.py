"""Which fields of which type the page script's words may carry; all else in them is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MAX_CHARACTERS = 10_000
"""Characters of any one text."""
MAX_ITEMS = 1000
"""Items of any one list."""

STATES = ("visible", "in_view", "checked", "expanded", "selected", "pressed", "disabled")
"""What may be so of an element or not."""

Types = type | tuple[type, ...]

_BY: dict[str, Types] = {"element": dict, "trusted": bool}
_CLICK: dict[str, Types] = _BY | {
    "around": str,
    "class": str,
    "color": str,
    "point": list,
    "selectors": list,
    "box": list,
    "unread": list,
}
_SECRET: Types = (str, type(None))  # null: a secret, kept back

# Kind -> fields that pass, each with the type wanted.
FIELDS: dict[str, dict[str, Types]] = {
    "element.clicked": _CLICK,
    "element.double_clicked": _CLICK,
    "element.right_clicked": _CLICK,
    "element.pressed": _CLICK | {"at": list, "moved": list},
    "element.focused": _BY,
    "element.hovered": _BY,
    "element.toggled": _BY | {"open": bool},
    "element.dropped": _BY
    | {
        "target": dict,
        "files": list,
        "text": str,
        "by": str,
        "moved": list,
        "index": int,
        "target_ancestors": list,
    },
    "element.appeared": {"element": dict, "baseline": bool},
    "element.disappeared": {"element": dict},
    "element.unobservable": {"element": dict, "reason": str},
    "element.state_changed": {
        "element": dict,
        "key": str,
        **dict.fromkeys(STATES, bool),
        "classes": list,
        "selectors": list,
        "gone": bool,
        "initial": bool,
        "baseline": bool,
    },
    "attribute.changed": {"element": dict, "attribute": str, "value": _SECRET, "before": _SECRET},
    "field.filled": _BY
    | {
        "field": str,
        "value": (str, list, type(None)),
        "cut": bool,
        "has_value": bool,
        "checked": bool,
        "files": list,
        "form": str,
        "around": str,
        "selectors": list,
        "commit": bool,
        "hidden": bool,
        "baseline": bool,
    },
    "field.removed": {"field": str, "element": dict},
    "field.typed": _BY | {"field": str, "text": _SECRET},
    "form.submitted": {"form": dict, "fields": list, "trusted": bool},
    "permission.changed": {"name": str, "state": str},
    "page.scrolled": {"element": dict, "x": int, "y": int},
    "text.appeared": {"text": str, "baseline": bool},
    "text.disappeared": {"text": str},
    "text.shown": {"key": str, "text": str, "cut": bool, "initial": bool, "baseline": bool},
    "text.selected": {"text": str, "element": dict},
    "text.copied": _BY | {"text": _SECRET, "removed": bool},
    "text.pasted": _BY | {"text": _SECRET},
}
_ELEMENT = ("role", "name", "tag", "id", "attr_name", "type", "text", "path")
_FORM = ("id", "attr_name", "name", "action", "method")
_PARTS = {"element": _ELEMENT, "target": _ELEMENT, "form": _FORM}


def check_fields(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """What of ``data`` passes for ``kind``, its texts cut."""
    return {
        name: _clean(
            _only(data[name], _PARTS[name]) if isinstance(data[name], dict) else data[name]
        )
        for name, types in FIELDS[kind].items()
        if isinstance(data.get(name, ...), types)
    }


def _only(data: dict[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    """Return those of the named fields that are texts."""
    return {name: data[name] for name in names if isinstance(data.get(name), str)}


def _clean(value: object) -> object:
    """Return a value of the page's as an event may hold it, texts and lists cut to their bounds."""
    if isinstance(value, str):
        return value[:MAX_CHARACTERS]
    if isinstance(value, list):
        return list(_items(value))
    if isinstance(value, dict):
        return {name: _clean(item) for name, item in value.items()}
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def _items(value: list[object]) -> Iterator[object]:
    """Yield the first items of a list that are no objects, each clean."""
    for item in value[:MAX_ITEMS]:
        if not isinstance(item, dict):
            yield _clean(item)

"""What stands inside the fields of an event that are no plain value, and which fields are told only
where asked for.

A shape is `LEAF` (a text, a number, true, false, null), `ANY` (whatever somebody else put there), a
list of one shape (its items), or a mapping of names to shapes; ``"*"`` as its only name stands for
any name. A field that is not listed here is a leaf.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from detectors.model.kinds.browser import BROWSER
from detectors.model.kinds.desktop import DESKTOP, MACHINE
from detectors.model.kinds.files import FILES, READER
from detectors.model.kinds.harness import PROBES, STEPS
from detectors.model.kinds.kind import EventKind
from detectors.model.kinds.network import NETWORK
from detectors.model.kinds.page import PAGE
from detectors.model.wire_versions import current_path, explain_rename

LEAF = None
ANY: Any = ...
Shape = Any
Path = tuple[str, ...]
"""Names and indices from an event's data on; ``*`` is any item of a list."""

_TOLD: dict[str, EventKind] = (
    STEPS | BROWSER | NETWORK | PAGE | FILES | READER | DESKTOP | MACHINE | PROBES
)
_NAMES = dict.fromkeys
_ELEMENT = _NAMES(("role", "name", "tag", "id", "attr_name", "type", "text", "path"))
_WIDGET = _NAMES(("role", "name", "app", "id", "text", "value")) | {
    "path": [LEAF],
    "states": [LEAF],
}
_BODY = _NAMES(("text", "base64", "mime", "cut", "lost")) | {
    "files": [_NAMES(("name", "filename", "mime", "size"))]
}
_HEADERS = {"*": LEAF}
_ANSWER = {"headers": _HEADERS, "body": _BODY}
_REQUEST = {"body": _BODY, "headers": _HEADERS, "response": _ANSWER}
_HOP = _NAMES(name.removesuffix("?") for name in NETWORK["request.redirected"].fields) | _REQUEST

_FIELDS: dict[str, Shape] = {"element": _ELEMENT, "target": _ELEMENT, "widget": _WIDGET}
"""By the name of the field, whatever the kind."""
_OF_KIND: dict[str, dict[str, Shape]] = {
    "element.pressed": {"at": [LEAF], "moved": [LEAF]},
    "element.dropped": {"files": [LEAF], "moved": [LEAF], "target_ancestors": [LEAF]},
    "field.filled": {"value": [LEAF], "files": [[LEAF]]},
    "form.submitted": {
        "form": _NAMES(("id", "attr_name", "name", "action", "method")),
        "fields": [[ANY]],
    },
    "request.finished": _REQUEST | {"hops": [_HOP]},
    "request.redirected": _REQUEST,
    "process.started": {"arguments": [LEAF]},
    "clipboard.changed": {"types": [LEAF]},
    "file.read": {"facts": ANY},
    "probe.answered": {"value": ANY},
    "agent.tool_called": {"arguments": ANY},
    "agent.tool_returned": {"result": ANY, "error": ANY},
}

_CLICKS = ("element.clicked", "element.double_clicked", "element.right_clicked", "element.pressed")
_BODIES = {("body",): "request_bodies", ("response", "body"): "response_bodies"}
_HEADS = {("headers",): "request_headers", ("response", "headers"): "response_headers"}


class OnRequest(NamedTuple):
    """A fact that is told only where a plan asks for it by ``ask``; ``named``: what is asked for
    are the names of what stands at ``path``, not all of it."""

    path: Path
    ask: str
    named: bool = False


def _of_requests(kind: str) -> Iterator[OnRequest]:
    for base in ((), ("hops", "*")) if kind == "request.finished" else ((),):
        yield from (OnRequest((*base, *path), ask) for path, ask in _BODIES.items())
        yield from (OnRequest((*base, *path), ask, True) for path, ask in _HEADS.items())


ON_REQUEST: Mapping[str, tuple[OnRequest, ...]] = {
    **{
        kind: tuple(OnRequest((name,), "around") for name in ("around", "class", "color"))
        for kind in _CLICKS
    },
    **{kind: tuple(_of_requests(kind)) for kind in ("request.finished", "request.redirected")},
}
"""The facts of each kind that no source tells unasked."""


def shape_at(kind: str, path: Path) -> Shape:
    """The shape of what an event of the kind can have at ``path``. Raises `LookupError` with a
    sentence for a path that leads nowhere in any event of the kind."""
    names = [name.removesuffix("?") for name in _TOLD[kind].fields]
    shape: Shape = {
        name: _OF_KIND.get(kind, {}).get(name, _FIELDS.get(name, LEAF)) for name in names
    }
    for n, step in enumerate(path):
        where = f"{'.'.join(path)}: "
        holder = ".".join(path[:n]) or kind
        if shape is ANY:
            return ANY
        if shape is LEAF:
            raise LookupError(f"{where}{holder} is a plain value of {kind}, with nothing in it")
        if isinstance(shape, list):
            if not step.isdecimal() and step != "*":
                raise LookupError(
                    f"{where}{holder} of {kind} is a list: its items by number, as in {holder}.0"
                )
            shape = shape[0]
        elif "*" in shape:
            shape = shape["*"]
        elif step in shape:
            shape = shape[step]
        else:
            new = current_path(kind, path[: n + 1])
            renamed = explain_rename(step, new[-1])
            raise LookupError(
                f"{where}{holder} has no {step}; it has {', '.join(sorted(shape))}{renamed}"
            )
    return shape

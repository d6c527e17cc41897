"""How much of its texts and lists an event holds: the daemon cuts each at a limit.

Where ``cut`` stands beside what was cut, it says so. Else a text or a list that is as long as the
limit may go on, and nobody knows whether it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from detectors.model.kinds import KINDS
from detectors.model.kinds.network import MAX_UPLOADS
from detectors.model.kinds.shapes import Path, shape_at

MAX_NAME = 400
"""UTF-16 units of an element's name, id and HTML name (agentd/sources/cdp/page)."""
MAX_OWN_TEXT = 200
"""The same of its own text, and of the text of what it stands in."""
MAX_TEXT = 10_000
"""The same of a text that was selected, copied, pasted, typed, dropped or sent in a form."""
MAX_SHORT = 1_000
"""The same of a title and of an attribute; items of a form, of its files, of a list."""
MAX_MESSAGE = 4_000
"""Characters of what a dialog says."""
MAX_HEADER = 4_096
MAX_ADDRESS = 8_192
"""UTF-16 units of an address that conditions look at; one more is kept: it says that it goes on."""
MAX_WIDGET_NAME = 300
MAX_ARGUMENT = 500
MAX_DROPPED = 50
MAX_PROBE_BYTES = 64 << 10
"""Bytes of a probe's answer that are read, and that its JSON may have."""
MAX_CLASSES = 20


READ_ENDS = frozenset((32_000, 16_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 125, 62, 31, 16))
"""Lengths at which the readers of files cut texts (agentd/readers/bounds.py)."""
READ_ITEMS = frozenset((1_000, 666, 444, 296, 197, 131, 87, 58, 38, 25, 16, 10, 6))
"""Numbers of items, or of keys, at which they cut lists and objects."""
READ_KEY = 200
"""Characters at which they cut a key."""
READ_COLUMNS = 256
"""Cells at which they cut the rows of spreadsheets."""
READ_VALUES = 20_000
"""Values of one file after which they report null for each."""
READ_PARTS = ("pages", "slides")
"""Lists of which the readers of files leave out the end, and then its texts in the ``text`` beside,
which may have any length."""


class FieldLimit(NamedTuple):
    """What stands at ``path`` (``*``: any item) has at most ``longest`` UTF-16 units, or items;
    None: ``cut`` beside it says that it goes on. ``deep``: then whatever stands in it may, too;
    ``parts``: beside one of these in it, its ``text`` whatever its length."""

    path: Path
    longest: int | None = None
    deep: bool = False
    parts: tuple[str, ...] = ()


_ELEMENT = {"name": MAX_NAME, "id": MAX_NAME, "attr_name": MAX_NAME, "text": MAX_OWN_TEXT}
_EXCHANGED = (
    FieldLimit(("body", "text")),
    FieldLimit(("body", "base64")),
    FieldLimit(("body", "files"), MAX_UPLOADS),
    FieldLimit(("response", "body", "text")),
    FieldLimit(("response", "body", "base64")),
    FieldLimit(("headers", "*"), MAX_HEADER),
    FieldLimit(("response", "headers", "*"), MAX_HEADER),
)
_HOPS = tuple(limit._replace(path=("hops", "*", *limit.path)) for limit in _EXCHANGED)
_ADDRESS = FieldLimit(("url",), MAX_ADDRESS + 1)
_TAKEN = (FieldLimit(("text",), MAX_TEXT),)
_MESSAGE = (FieldLimit(("text",)), FieldLimit(("base64",)))
_OWN: Mapping[str, tuple[FieldLimit, ...]] = {
    "request.finished": (*_EXCHANGED, *_HOPS),
    "request.redirected": _EXCHANGED,
    "message.sent": _MESSAGE,
    "message.received": _MESSAGE,
    "page.navigated": (_ADDRESS, FieldLimit(("document",), MAX_ADDRESS + 1)),
    "page.parsed": (_ADDRESS,),
    "page.loaded": (_ADDRESS,),
    "page.network_idle": (_ADDRESS,),
    "page.failed": (_ADDRESS,),
    "tab.opened": (_ADDRESS,),
    "download.began": (_ADDRESS,),
    "download.finished": (_ADDRESS,),
    "download.canceled": (_ADDRESS,),
    "page.title_changed": (_ADDRESS, FieldLimit(("title",), MAX_SHORT)),
    "dialog.opened": (_ADDRESS, FieldLimit(("message",), MAX_MESSAGE)),
    "dialog.closed": (FieldLimit(("message",), MAX_MESSAGE), FieldLimit(("input",), MAX_MESSAGE)),
    "field.filled": (FieldLimit(("value",)), FieldLimit(("files",), MAX_SHORT)),
    "field.typed": _TAKEN,
    "form.submitted": (
        FieldLimit(("fields",), MAX_SHORT),
        FieldLimit(("fields", "*", "1"), MAX_TEXT),
    ),
    "text.shown": (FieldLimit(("text",)),),
    "text.selected": _TAKEN,
    "text.copied": _TAKEN,
    "text.pasted": _TAKEN,
    "element.dropped": (*_TAKEN, FieldLimit(("files",), MAX_DROPPED)),
    "element.state_changed": (FieldLimit(("classes",), MAX_CLASSES),),
    "attribute.changed": (FieldLimit(("value",), MAX_SHORT), FieldLimit(("before",), MAX_SHORT)),
    "process.started": (FieldLimit(("arguments",)), FieldLimit(("arguments", "*"), MAX_ARGUMENT)),
    "clipboard.changed": (FieldLimit(("text",)),),
    "screen.captured": (FieldLimit(("regions", "*", "text")),),
    "widget.text_changed": (FieldLimit(("text",)),),
    "probe.answered": (FieldLimit(("value",), deep=True),),
    "file.read": (FieldLimit(("facts",), deep=True, parts=READ_PARTS),),
    "visual.tree_recorded": (FieldLimit(("tree",)),),
}


def _limits_of(kind: str) -> Iterator[FieldLimit]:
    yield from _OWN.get(kind, ())
    for holder in ("element", "target"):
        if _has(kind, (holder, "attr_name")):
            yield from (FieldLimit((holder, part), longest) for part, longest in _ELEMENT.items())
    if _has(kind, ("around",)):
        yield FieldLimit(("around",), MAX_OWN_TEXT)
    if _has(kind, ("widget", "name")):
        yield FieldLimit(("widget", "name"), MAX_WIDGET_NAME)


def _has(kind: str, path: Path) -> bool:
    try:
        shape_at(kind, path)
    except LookupError:
        return False
    return True


LIMITS: Mapping[str, tuple[FieldLimit, ...]] = {kind: tuple(_limits_of(kind)) for kind in KINDS}


def utf16_units(text: str) -> int:
    """Return the length of ``text`` as page script counts it."""
    return len(text) + sum(letter > "\uffff" for letter in text)

"""What an event says, as a task may repeat it: short texts, addresses, fields of a body (pure)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from urllib.parse import urlsplit

import orjson

from api.suggestions.drawn_texts import is_clock_reading, looks_drawn
from detectors.matchers.values import BodyType, body_type, form_pairs
from detectors.model.json_value import JsonValue, read_text
from detectors.model.optional_values import without_none
from detectors.model.safe_json import json_or_none, mapping
from detectors.model.types import Event

WRITES = frozenset(("POST", "PUT", "PATCH", "DELETE"))
"""Methods of requests that may change something."""
MAX_TEXT = 200
"""Characters of a name or value that a suggestion repeats."""
MAX_DEPTH = 4
"""Objects within each other, in a body, whose fields are read."""
MAX_FIELDS = 24
"""Fields of a JSON body up to which those of objects in it are read: a longer one is a document."""
OPERATION = "operationName"
"""The field of a body that says which of an address's operations (GraphQL) is asked for."""
MAX_CHOSEN = 4
"""Texts and numbers of a list up to which each is read as a field."""
_ASKS = re.compile(r"\s*query\b")
_OF_THE_PAGE = frozenset(
    "formkey formbuildid sesskey viewstate viewstategenerator eventvalidation wpnonce nonce csrf"
    " xsrf csrfmiddlewaretoken csrftoken authenticitytoken requestverificationtoken idempotencykey"
    " requestid clientmutationid timestamp ts".split()
)
"""Fields, by the letters of their names, whose value a page draws for the request."""
_HIDDEN = ("•••", "***")


def find_origin(events: Iterable[Event]) -> str | None:
    """Return the origin in which most pages were opened; None where none was."""
    pages = (event.data.get("url") for event in events if event.kind == "page.navigated")
    counts = Counter(without_none(split_address(url)[0] for url in pages))
    return max(counts, key=counts.__getitem__, default=None)


def short_text(value: object) -> str:
    """Return a short text that hides nothing; else an empty one."""
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        return ""
    return "" if any(mask in value for mask in _HIDDEN) else value.strip()


def split_address(url: object) -> tuple[str | None, str, str]:
    """Return an address's origin, None where it has none, with its path and its query."""
    try:
        parts = urlsplit(str(url or ""))
    except ValueError:
        return None, "", ""
    if parts.scheme not in ("http", "https"):
        return None, parts.path, parts.query
    return f"{parts.scheme}://{parts.netloc}", parts.path or "/", parts.query


def read_body(body: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the fields of a form or of a JSON object that hold one short text or number, those of
    objects within a short one under dotted names; none of what was masked, nor of what a page draws
    for each request, as the names say, nor the time to the millisecond."""
    text = body.get("text")
    if not isinstance(text, str):
        return {}
    fields = dict(_read_fields(text, read_text(body, "mime")))
    return {name: value for name, value in fields.items() if _is_short_value(value)}


def reads_only(body: Mapping[str, JsonValue]) -> bool:
    """Return whether the request of a ``body`` with an operation's name asks and changes nothing,
    as its GraphQL document says, however long: such a document begins with ``query``."""
    fields = mapping(json_or_none(read_text(body, "text")))
    return OPERATION in fields and _ASKS.match(str(fields.get("query"))) is not None


def undeclared_type(body: Mapping[str, JsonValue]) -> BodyType | None:
    """Return what a body with fields is read as, where its content type does not say so; else
    None."""
    if body_type(read_text(body, "mime")) is not None:
        return None
    return "json" if str(body.get("text")).lstrip()[:1] == "{" else "form"


def _read_fields(text: str, mime: str) -> Iterator[tuple[str, JsonValue]]:
    """Yield the names and plain values of a body's fields."""
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError:
        if "=" in text:
            yield from ((name, value) for name, value in form_pairs(text, mime) if _is_told(name))
        return
    if isinstance(parsed, Mapping):
        within = list(islice(_leaves(parsed, "", MAX_DEPTH), MAX_FIELDS + 1))
        yield from within if len(within) <= MAX_FIELDS else _leaves(parsed, "", 1)


def _leaves(
    value: Mapping[str, JsonValue], above: str, depth: int
) -> Iterator[tuple[str, JsonValue]]:
    """Yield the dotted names and plain values of an object, ``depth`` objects deep."""
    for name, part in value.items():
        if not _is_told(name):
            continue
        rows = (
            {f"{name}.{place}": row for place, row in enumerate(part)}
            if isinstance(part, list)
            else {name: part}
        )
        for at, row in rows.items():
            if isinstance(row, Mapping) and depth > 1:
                yield from _leaves(row, f"{above}{at}.", depth - 1)
            elif depth > 1 and _is_short_list(part) and not isinstance(row, Mapping | list):
                yield above + at, row
        if not isinstance(part, Mapping | list):
            yield above + name, part


def _is_short_list(part: JsonValue) -> bool:
    """Whether a field holds a few values of a choice (labels, tags), and no rows of data."""
    return isinstance(part, list) and len(part) <= MAX_CHOSEN


def _is_told(name: str) -> bool:
    """Whether a field's name can be asked, and its value says what was done."""
    return "." not in name and not is_of_the_page(name) and not looks_drawn(name)


def _is_short_value(value: JsonValue) -> bool:
    """Whether a value is a short text that hides nothing, or a number, and no clock's reading."""
    is_short = bool(short_text(value)) or type(value) in (int, float)
    return is_short and not is_clock_reading(str(value))


def is_of_the_page(name: str) -> bool:
    """Return whether a page draws the field's value for each request, as its name says."""
    return "".join(filter(str.isalnum, name)).lower() in _OF_THE_PAGE

"""What an event says, as a task may repeat it: short texts, addresses, fields of a body (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

import orjson

from detectors.model.json_value import JsonValue

WRITES = frozenset(("POST", "PUT", "PATCH", "DELETE"))
"""Methods of requests that may change something."""
MAX_TEXT = 200
"""Characters of a name or value that a suggestion repeats."""
_OF_THE_PAGE = frozenset(
    "formkey formbuildid sesskey viewstate viewstategenerator eventvalidation wpnonce nonce csrf"
    " xsrf csrfmiddlewaretoken csrftoken authenticitytoken requestverificationtoken idempotencykey"
    " requestid clientmutationid timestamp ts".split()
)
"""Fields, by the letters of their names, whose value a page draws for the request."""
_HIDDEN = ("•••", "***")


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
    """Return the fields of a form or of a JSON object that hold one short text or number; none of
    what was masked, nor of what a page draws for each request, as the names say."""
    text = body.get("text")
    if not isinstance(text, str):
        return {}
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError:
        parsed = dict(parse_qsl(text)) if "=" in text else {}
    if not isinstance(parsed, dict):
        return {}
    return {
        str(name): value
        for name, value in parsed.items()
        if "." not in str(name)
        and not is_of_the_page(str(name))
        and ((isinstance(value, str) and short_text(value)) or type(value) in (int, float))
    }


def is_of_the_page(name: str) -> bool:
    """Return whether a page draws the field's value for each request, as its name says."""
    return "".join(filter(str.isalnum, name)).lower() in _OF_THE_PAGE

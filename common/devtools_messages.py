"""Messages of a browser's DevTools as JSON."""

from __future__ import annotations

import json
from typing import Any

import orjson

Message = dict[str, Any]


def decode_message(raw: str | bytes) -> Message:
    """One message; halves of characters (lone surrogates), which a page may put into a dialog or an
    address, become U+FFFD instead of losing the message."""
    try:
        message: Message = orjson.loads(raw)
    except orjson.JSONDecodeError:
        text = raw if isinstance(raw, str) else raw.decode("utf-8", "replace")
        message = replace_halves(json.loads(text))
    return message


def replace_halves(message: Message) -> Message:
    """``message`` with U+FFFD for every half of a character in it."""
    halves = json.dumps(message, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
    made: Message = orjson.loads(halves.decode("utf-16-le", "replace"))
    return made

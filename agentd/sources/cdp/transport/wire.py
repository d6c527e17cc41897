"""What a transport is: whole DevTools messages in the flattened form, both ways, each in order."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Protocol

import orjson

Message = dict[str, Any]


class DevToolsWire(Protocol):
    """A message names its session in ``sessionId``; without one it is the browser's own."""

    def send(self, message: Message) -> None:
        """Put one message on its way; never waits. Of a wire that is closed nothing is sent."""

    def messages(self) -> AsyncIterator[Message]:
        """What comes from the browser, until it closes; to be read once."""

    async def close(self) -> None:
        """End it; the browser detaches by itself from every target that was attached to over it."""


def decode(raw: str | bytes) -> Message:
    """One message; halves of characters (lone surrogates), which a page may put into a dialog or an
    address, become U+FFFD instead of losing the message."""
    try:
        message: Message = orjson.loads(raw)
    except orjson.JSONDecodeError:
        text = raw if isinstance(raw, str) else raw.decode("utf-8", "replace")
        message = whole(json.loads(text))
    return message


def whole(message: Message) -> Message:
    """``message`` with U+FFFD for every half of a character in it."""
    halves = json.dumps(message, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
    made: Message = orjson.loads(halves.decode("utf-16-le", "replace"))
    return made

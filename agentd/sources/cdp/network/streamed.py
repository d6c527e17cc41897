"""An answer's body as it comes in: a page that leaves at once takes along what would have to be
asked for later.

Only of what scripts ask for. A document's body stays with its document, and of pictures and films
nobody wants it.
"""

from __future__ import annotations

import base64
import binascii

from agentd.sources.cdp.network.headers import header
from agentd.sources.cdp.state.protocol import DataReceived, Headers, StreamReply

COMMAND = "Network.streamResourceContent"
TYPES = frozenset(("XHR", "Fetch"))
MAX_HELD_BYTES = 4 << 20
"""Bytes of one body that are held; a longer one is lost."""


class Streamed:
    """What came so far. It counts only where it is as long as the browser says, from its
    beginning."""

    def __init__(self) -> None:
        self._got: bytearray | None = None
        self._length = 0
        self._encoded = 0
        self._wanted: int | None = None

    def began(self, reply: StreamReply) -> None:
        """The browser's answer to `COMMAND`, with what had come before; it may refuse."""
        if "bufferedData" in reply:
            self._got = bytearray()
            self._take(str(reply["bufferedData"]))

    def answered(self, headers: Headers) -> None:
        """The head came in; where it says how long the body is, its end need not be waited for."""
        length = header(headers, "content-length")
        if length.isdecimal() and len(length) < 16 and not header(headers, "content-encoding"):
            self._wanted = int(length)

    def add_data(self, params: DataReceived) -> None:
        """Add a piece of the body (`Network.dataReceived`)."""
        self._length += int(params.get("dataLength", 0))
        self._encoded += int(params.get("encodedDataLength", 0))
        self._take(str(params.get("data", "")))

    @property
    def went_elsewhere(self) -> bool:
        """Whether what came over the network was handed on to somebody else, as a service worker
        does."""
        return self._encoded > 0 and self._length == 0

    def whole(self, *, ended: bool) -> bytes | None:
        """All of it; None where that is not sure. ``ended``: the browser said that it is over."""
        if self._got is None or len(self._got) != self._length:
            return None
        return bytes(self._got) if ended or self._wanted == self._length else None

    def _take(self, text: str) -> None:
        """Add a part of the body; one that is too long, or that can't be read, is given up."""
        if self._got is None or not text:
            return
        try:
            self._got += base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            self._got = None
        if self._got is not None and len(self._got) > MAX_HELD_BYTES:
            self._got = None

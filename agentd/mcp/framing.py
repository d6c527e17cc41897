"""Splits what passes into messages without changing a byte: lines of stdio, events of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

MAX_MESSAGE_BYTES = 32 << 20
"""The longest message that is read; a longer one passes unread."""


class StreamPiece(NamedTuple):
    """Some bytes of a stream, in their order. ``is_line``: they are one whole line, its end
    included."""

    raw: bytes
    is_line: bool


class LineSplitter:
    """Splits a stream of bytes at its line feeds.

    The pieces joined are the stream. Of a line longer than ``max_bytes`` nothing is kept back: it
    comes in pieces that are no lines.
    """

    def __init__(self, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept = bytearray()
        self._is_long = False

    def feed(self, chunk: bytes) -> Iterator[StreamPiece]:
        """Yield the pieces that are complete with ``chunk``."""
        start = 0
        while (end := chunk.find(b"\n", start) + 1) > 0:
            yield self._take(chunk[start:end], is_end=True)
            start = end
        if start < len(chunk):
            rest = chunk[start:]
            if self._is_long or len(self._kept) + len(rest) > self._max_bytes:
                yield self._take(rest, is_end=False)
            else:
                self._kept += rest

    def finish(self) -> StreamPiece | None:
        """Return what is left at the stream's end: a line that no line feed ends."""
        if not self._kept:
            return None
        rest = bytes(self._kept)
        self._kept.clear()
        return StreamPiece(rest, is_line=True)

    def _take(self, part: bytes, *, is_end: bool) -> StreamPiece:
        """Return the next piece of the stream, whole or a part of a line that is too long to be
        read."""
        raw = bytes(self._kept) + part if self._kept else part
        self._kept.clear()
        is_line = is_end and not self._is_long and len(raw) <= self._max_bytes
        self._is_long = not is_end
        return StreamPiece(raw, is_line)


class StreamEvent(NamedTuple):
    """A server-sent event: its data, None where it is too long to be read, and whether it has an
    id, from which a client can go on."""

    data: bytes | None
    has_id: bool


class EventSplitter:
    """Reads server-sent events beside their bytes, which pass elsewhere."""

    def __init__(self, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lines = LineSplitter(max_bytes)
        self._data: list[bytes] = []
        self._size = 0
        self._is_unread = False
        self._has_id = False

    def feed(self, chunk: bytes) -> Iterator[StreamEvent]:
        """Yield the events that are complete with ``chunk``; comments and empty events are none."""
        for piece in self._lines.feed(chunk):
            if not piece.is_line:
                self._is_unread = True
            elif line := piece.raw.rstrip(b"\r\n"):
                self._add(line)
            else:
                yield from self._complete()

    def _add(self, line: bytes) -> None:
        """Add one line of an event: its data, as far as it is not too long, or that it has an
        id."""
        name, _, value = line.partition(b":")
        if name == b"id":
            self._has_id = True
        elif name == b"data" and not self._is_unread:
            self._size += len(line)  # an empty one costs memory, too
            self._is_unread = self._size > self._max_bytes
            self._data.append(value.removeprefix(b" "))

    def _complete(self) -> Iterator[StreamEvent]:
        """Give the event that an empty line ends, without data where that was too long to be
        read."""
        if self._is_unread:
            yield StreamEvent(None, self._has_id)
        elif self._data or self._has_id:
            yield StreamEvent(b"\n".join(self._data), self._has_id)
        self._data.clear()
        self._size, self._is_unread, self._has_id = 0, False, False

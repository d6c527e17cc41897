"""The one format of the log: segments as JSON lines, chained by sha256.

What the journal ships is what the log stores is what a recording file holds. A segment's text is a
header line and one line an event; its digest is the sha256 of that text. The header names the
digest before it, so changing, adding, removing or swapping any byte breaks the chain. Compression
is the edges' business.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from detectors.model.safe_json import check_memory
from detectors.model.types import Event, Segment
from detectors.model.wire_versions import WIRE, current

GENESIS = "0" * 64
"""What the first segment of an episode names as the digest before it."""

CHECKSUM_MAGIC = 0x184D2A5C
"""Of the last frame of a recording file: a frame that any zstd reader passes over (RFC 8878,
3.1.2)."""

MAX_VALUES_BYTES = 32 << 20
"""Memory that the values in a segment may take once they are read, as `values_bytes` estimates
it."""
LIGHT_BYTES = (1 << 20) + (1 << 16)
"""A text of at most so many bytes is not looked at for that: of no content it comes to much
more."""
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
"""A JSON text; also one that does not end, so that what is behind it is looked at once."""
_OBJECT_BYTES, _VALUE_BYTES = 192, 64

_HEADER = ("wire", "episode", "first", "count", "prev")


class CodecError(ValueError):
    """A segment's text is not one; the message names the line, the field, the value and what was
    wanted."""


def canonical(value: object) -> bytes:
    """Encode ``value`` with sorted keys: the same value always gives the same bytes."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def text_or_json(value: object) -> str:
    """Return a text as it is, any other value as its JSON text."""
    return value if isinstance(value, str) else canonical(value).decode()


def sha256(data: bytes) -> str:
    """Return the SHA-256 of ``data`` in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def encode_event(seq: int, source: str, kind: str, at: int, data: Mapping[str, object]) -> bytes:
    """One event's line, without the newline: ``[seq, at, source, kind, data]``."""
    return orjson.dumps([seq, at, source, kind, data], option=orjson.OPT_SORT_KEYS)


def join_segment(
    episode: str, first: int, lines: Sequence[bytes], prev: str, wire: int = WIRE
) -> bytes:
    """The text of a segment from lines that `encode_event` made, in a build that wrote ``wire``."""
    header = canonical(
        {"wire": wire, "episode": episode, "first": first, "count": len(lines), "prev": prev}
    )
    return b"\n".join((header, *lines, b""))


def encode_segment(events: Sequence[Event], prev: str) -> bytes:
    """The text of a segment of ``events`` (at least one, contiguous, of one episode)."""
    lines = [encode_event(e.seq, e.source, e.kind, e.at, e.data) for e in events]
    return join_segment(events[0].episode, events[0].seq, lines, prev)


def values_bytes(text: bytes) -> int:
    """About how many bytes the values of the JSON in ``text`` take once they are read: up to thirty
    times their text. What texts take beyond their own length is in it, their length is not; beyond
    `MAX_VALUES_BYTES` it is not counted to the end."""
    estimate = text.count(b'"') // 2 * _VALUE_BYTES + _values_bytes(text, 0, len(text))
    if estimate <= MAX_VALUES_BYTES:
        return estimate
    estimate = at = 0
    for found in _TEXTS.finditer(text):  # brackets and commas in texts are no values
        estimate += _VALUE_BYTES + _values_bytes(text, at, found.start())
        at = found.end()
        if estimate > MAX_VALUES_BYTES:
            return estimate
    return estimate + _values_bytes(text, at, len(text))


def _values_bytes(text: bytes, start: int, end: int) -> int:
    objects, others = (
        text.count(b"{", start, end),
        text.count(b"[", start, end) + text.count(b",", start, end),
    )
    return objects * _OBJECT_BYTES + others * _VALUE_BYTES


def kind_tokens(kinds: Iterable[str]) -> frozenset[bytes]:
    """Return how the lines of a segment name these kinds, for `decode_segment`."""
    return frozenset(map(orjson.dumps, kinds))


def decode_segment(text: bytes, unheard: frozenset[bytes] = frozenset()) -> Segment:
    """Decode and check one segment's text, of any wire version up to `WIRE`: its events are of this
    build's. Raises `CodecError`; the chain itself is the caller's to check.

    ``unheard``: the `kind_tokens` of events that nobody wants. They are left out where they are
    known by the beginning of their line, and of such a line nothing else is read.
    """
    if len(text) > LIGHT_BYTES and (values := values_bytes(text)) > MAX_VALUES_BYTES:
        raise CodecError(
            f"its values would take {values} bytes and more; wanted at most {MAX_VALUES_BYTES}"
        )
    lines = text.split(b"\n")
    if len(lines) < 3 or lines[-1] != b"":
        raise CodecError(
            "a segment is a header line and at least one event line, each ended by a newline"
        )
    header = _header(lines[0])
    episode, first, count = header["episode"], header["first"], header["count"]
    if len(lines) - 2 != count:
        raise CodecError(f"header: count is {count}, but {len(lines) - 2} event lines follow")
    numbered: Iterable[tuple[int, bytes]] = enumerate(lines[1:-1], first)
    if unheard and header["wire"] == WIRE:
        numbered = _select_heard(numbered, unheard)
    events = tuple(current(_events(episode, numbered), header["wire"]))
    return Segment(episode, first, count, header["prev"], sha256(text), events)


def checksum_frame(digest: bytes) -> bytes:
    """The frame that ends a recording file; ``digest``: the sha256 of all bytes before it. The
    chain names no digest of the last segment, and of a frame's own bytes some say nothing of its
    text: this finds each of them changed."""
    return CHECKSUM_MAGIC.to_bytes(4, "little") + len(digest).to_bytes(4, "little") + digest


def with_checksum(recording: bytes) -> bytes:
    """A recording file of these frames."""
    return recording + checksum_frame(hashlib.sha256(recording).digest())


def split_segments(text: bytes) -> Iterable[bytes]:
    """Cut concatenated segment texts (a recording, decompressed) back into single ones."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", start)
        if end < 0:
            raise CodecError(
                f"byte {start}: a header line without a newline; the recording is cut short"
            )
        count = _header(text[start:end])["count"]
        # Most frames have one segment. Only the first is counted so: of many, that took the square.
        if start == 0 and text.endswith(b"\n") and text.count(b"\n", end + 1) == count:
            yield text
            return
        stop = end + 1
        for _ in range(count):
            stop = text.find(b"\n", stop) + 1
            if stop == 0:
                raise CodecError(
                    f"byte {start}: the segment ends before its count; the recording is cut short"
                )
        yield text[start:stop]
        start = stop


def read_header(text: bytes) -> dict[str, Any]:
    """Return the header of a segment's text. Raises `CodecError`."""
    return _header(text.partition(b"\n")[0])


def _header(line: bytes) -> dict[str, Any]:
    try:
        header = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        check_memory(error)
        raise CodecError(f"header: not JSON: {error}") from None
    if not isinstance(header, dict) or any(name not in header for name in _HEADER):
        raise CodecError(f"header: wanted an object with {', '.join(_HEADER)}, got {line[:120]!r}")
    if not _whole(header["wire"], 1) or header["wire"] > WIRE:
        raise CodecError(
            f"header: wire is {header['wire']!r}, but this build reads up to {WIRE}: upgrade it"
        )
    if (
        not isinstance(header["episode"], str)
        or not isinstance(header["prev"], str)
        or len(header["prev"]) != 64
    ):
        raise CodecError("header: episode and prev must be strings, prev a hex sha256")
    if not _whole(header["first"], 1) or not _whole(header["count"], 1):
        raise CodecError(
            f"header: first and count must be integers from 1, got {header['first']!r},"
            f" {header['count']!r}"
        )
    return header


def _whole(value: object, least: int) -> bool:
    return type(value) is int and value >= least


def _select_heard(
    numbered: Iterable[tuple[int, bytes]], unheard: frozenset[bytes]
) -> list[tuple[int, bytes]]:
    """Return the lines without those that begin as an event of their number and of a kind in
    ``unheard`` does. No line that is another event begins so."""
    heard: list[tuple[int, bytes]] = []
    for seq, line in numbered:
        parts = line.split(b",", 4)
        if len(parts) < 5 or parts[3] not in unheard or parts[0] != b"[%d" % seq:
            heard.append((seq, line))
    return heard


def _events(episode: str, numbered: Iterable[tuple[int, bytes]]) -> Iterable[Event]:
    # What Event(…) comes to, without a call in between: an eighth of the decoding.
    make = tuple.__new__
    for seq, line in numbered:
        try:
            row = orjson.loads(line)
            number, at, source, kind, data = row
        except orjson.JSONDecodeError as error:
            check_memory(error)
            raise CodecError(f"event {seq}: not JSON: {error}") from None
        except (TypeError, ValueError):
            raise CodecError(
                f"event {seq}: wanted [seq, at, source, kind, data], got {str(row)[:120]}"
            ) from None
        if number != seq:
            raise CodecError(f"event {seq}: seq is {number!r}, wanted {seq}: events are contiguous")
        if (
            type(at) is not int
            or type(source) is not str
            or type(kind) is not str
            or type(data) is not dict
        ):
            raise CodecError(
                f"event {seq}: wanted [int, int, string, string, object], got {str(row)[:120]}"
            )
        yield make(Event, (episode, seq, source, kind, at, data))

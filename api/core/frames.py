"""Opens what a daemon sent: one zstd frame, its size stated and bounded before a byte is
unpacked."""

from __future__ import annotations

import re

import zstandard

from api.core.errors import (
    MalformedSegmentError,
    OtherEpisodeError,
    TooLargeError,
    UnknownFrameDictionaryError,
)
from api.core.settings import Limits
from common.frames import WINDOW_BYTES, UnknownDictionaryError, kept_decompressor
from detectors.model.codec import CodecError, decode_segment, split_segments
from detectors.model.kinds import KINDS
from detectors.model.types import Event, Segment

MAX_NUMBER = 2**31 - 1
"""The highest number of a step or a command."""

NUMBERED = frozenset(name for name, kind in KINDS.items() if kind.source in ("steps", "journal"))
"""The kinds that tell of steps, commands and the episode's end."""

_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[][{}]', re.DOTALL)
"""A bracket, or a text with all its brackets, also an unclosed one: each byte is passed once."""
_NEITHER = bytes(set(range(256)) - set(b"[{\n"))
_SMALL = 1024 * 1024


def open_frame(frame: bytes, limits: Limits) -> bytes:
    """The text in ``frame``. Raises `TooLargeError`, `MalformedSegmentError`, or
    `UnknownFrameDictionaryError`."""
    if len(frame) > limits.frame_bytes:
        raise TooLargeError(f"body: {len(frame)} bytes, wanted at most {limits.frame_bytes}")
    size = stated_size(frame)
    if size > limits.text_bytes:
        raise TooLargeError(
            f"body: the frame holds {size} bytes, wanted at most {limits.text_bytes}"
        )
    if size > _SMALL and size > limits.ratio * len(frame):
        raise TooLargeError(
            f"body: {len(frame)} bytes would become {size}, wanted at most {limits.ratio} times as"
            " many"
        )
    # The stated size is also the most that is unpacked: a frame that holds more, or less, is an
    # error.
    try:
        return kept_decompressor(frame, WINDOW_BYTES).decompress(frame, allow_extra_data=False)
    except UnknownDictionaryError as error:
        raise UnknownFrameDictionaryError(f"body: {error}") from None
    except zstandard.ZstdError as error:
        raise MalformedSegmentError(f"body: {error}; wanted exactly one zstd frame") from None


def nested_beyond(text: bytes, most: int) -> bool:
    """Whether the JSON in ``text`` is nested deeper than ``most``: what is can be read, and not
    written again."""
    # Nearly every text opens fewer brackets than that, and is done with here.
    if text.count(b"{") + text.count(b"[") <= most:
        return False
    depth = 0
    for token in _BRACKETS.finditer(text):
        if token[0] in b"[{":
            depth += 1
            if depth > most:
                return True
        elif token[0] in b"]}":
            depth -= 1
    return False


def _most_opened(text: bytes) -> int:
    """How many brackets the line that opens most of them opens: all lines at once, which costs a
    third."""
    return max(map(len, text.translate(None, _NEITHER).split(b"\n")))


def read_appended(frame: bytes, episode: str, limits: Limits) -> Segment:
    """The segment in ``frame``. Raises what `read_segment` does, and `OtherEpisodeError` unless it
    is ``episode``'s."""
    segment = read_segment(frame, limits)
    if segment.episode != episode:
        raise OtherEpisodeError(f"episode: the segment is {segment.episode}'s, wanted {episode}'s")
    return segment


def read_segment(frame: bytes, limits: Limits) -> Segment:
    """The segment in ``frame``. Raises the errors of `open_frame`, and `MalformedSegmentError` for
    the codec's."""
    return _read_text(open_frame(frame, limits), limits)


def read_segments(frame: bytes, limits: Limits) -> list[Segment]:
    """The segments in a stored ``frame``, one or several that were packed together. Raises as
    `read_segment`."""
    try:
        texts = list(split_segments(open_frame(frame, limits)))
    except CodecError as error:
        raise MalformedSegmentError(f"body: {error}") from None
    return [_read_text(text, limits) for text in texts]


def _read_text(text: bytes, limits: Limits) -> Segment:
    """Read a segment within the limits. Raises `TooLargeError` or `MalformedSegmentError` with the
    line."""
    count = text.count(b"\n") - 1
    if count > limits.events:
        raise TooLargeError(f"body: {count} events, wanted at most {limits.events} in a segment")
    if _most_opened(text) > limits.depth:
        for number, line in enumerate(text.split(b"\n")):
            if nested_beyond(line, limits.depth):
                raise MalformedSegmentError(f"line {number}: nested deeper than {limits.depth}")
    try:
        segment = decode_segment(text)
    except CodecError as error:
        raise MalformedSegmentError(f"body: {error}") from None
    for event in segment.events:
        # Only these few kinds carry numbers that the service itself relies on.
        if event.kind in NUMBERED:
            _check(event, segment.last)
    return segment


def _check(event: Event, last: int) -> None:
    """Raise `MalformedSegmentError` for an event whose numbers the service can't rely on."""
    if event.kind == "episode.closed" and event.seq != last:
        raise MalformedSegmentError(
            f"event {event.seq}: episode.closed must be the last event of an episode"
        )
    numbers = ("step", "command") if event.kind.startswith("step.") else ("command",)
    for name in numbers:
        value = event.data.get(name)
        if value is None and name == "command":
            continue
        if type(value) is not int or not 0 <= value <= MAX_NUMBER:
            raise MalformedSegmentError(
                f"event {event.seq}: {name} is {value!r:.80}, wanted a whole number up to"
                f" {MAX_NUMBER}"
            )


def stated_size(frame: bytes) -> int:
    """Bytes of the text in ``frame``, as its head says. Raises `MalformedSegmentError`."""
    try:
        parameters = zstandard.get_frame_parameters(frame)
    except zstandard.ZstdError as error:
        raise MalformedSegmentError(
            f"body: {error}; wanted one zstd frame that holds a segment"
        ) from None
    size = int(parameters.content_size)
    if size in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR):
        raise MalformedSegmentError(
            "body: the zstd frame does not state its content size; wanted one that does"
        )
    return size

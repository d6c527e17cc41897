"""Recording files: zstd frames of segments, read with a bound and with the chain checked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import zstandard

from detectors.codec import GENESIS, CodecError, decode_segment, split_segments
from detectors.engine import Engine
from detectors.ruleset import Ruleset
from detectors.types import Reward, Segment

MAX_TEXT = 1 << 30
"""Bytes of text that a recording may unpack to."""
_LONGEST_HEADER = 18
_REPEATED = 1
"""The block type that holds one byte, to be repeated."""


class RecordingError(ValueError):
    """A recording can't be read or its chain does not hold; the message says where."""


def read_recording(path: Path) -> Iterator[Segment]:
    """The segments of a recording, in order. Raises `RecordingError`, or `OSError`."""
    return read_frames(path.read_bytes(), path)


def read_frames(packed: bytes, path: Path | str) -> Iterator[Segment]:
    """The segments in a recording's bytes, in order; ``path`` names it in errors. Raises `RecordingError`."""
    head, following, episode = GENESIS, 1, None
    try:
        for text in split_segments(_unpack(packed, path)):
            segment = decode_segment(text)
            episode = episode or segment.episode
            if segment.episode != episode or segment.first != following or segment.prev != head:
                raise RecordingError(
                    f"{path}: the segment from event {segment.first} of {segment.episode} does not follow event "
                    f"{following - 1} of {episode}: a segment was changed, swapped or removed"
                )
            head, following = segment.digest, segment.last + 1
            yield segment
    except CodecError as error:
        raise RecordingError(f"{path}: {error}") from None
    if episode is None:
        raise RecordingError(f"{path}: the file is empty; wanted a recording with at least one segment")


def _unpack(packed: bytes, path: Path | str) -> bytes:
    out = bytearray()
    try:
        reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        while chunk := reader.read(1 << 20):
            out += chunk
            if len(out) > MAX_TEXT:
                raise RecordingError(f"{path}: unpacks to more than {MAX_TEXT} bytes")
        _must_be_whole(path, packed)
    except zstandard.ZstdError as error:
        raise RecordingError(f"{path}: not zstd: {error}") from None
    return bytes(out)


def _must_be_whole(path: Path | str, packed: bytes) -> None:
    """A reader says nothing of a last frame that is cut: what is missing would look as if it never happened."""
    at = 0
    while at < len(packed):
        end = _frame_end(packed, at)
        if end is None or end > len(packed):
            raise RecordingError(
                f"{path}: byte {len(packed)}: the file ends within the frame that begins at byte {at}: it was cut short"
            )
        at = end


def _frame_end(packed: bytes, at: int) -> int | None:
    """Where a zstd frame ends, by its blocks' headers (RFC 8878); None where those are cut."""
    head = packed[at : at + _LONGEST_HEADER]
    try:
        parameters = zstandard.get_frame_parameters(head)
        at += zstandard.frame_header_size(head)
    except zstandard.ZstdError:
        if len(head) < _LONGEST_HEADER:
            return None
        raise
    last = False
    while not last:
        block = int.from_bytes(packed[at : at + 3], "little")
        if len(packed) - at < 3:
            return None
        last, kind, size = bool(block & 1), block >> 1 & 3, block >> 3
        at += 3 + (1 if kind == _REPEATED else size)
    return at + (4 if parameters.has_checksum else 0)


def replay(path: Path, ruleset: Ruleset) -> tuple[Engine, list[Reward]]:
    """Score a recording from nothing: the engine at its end and every sealed reward."""
    engine: Engine | None = None
    rewards: list[Reward] = []
    for segment in read_recording(path):
        engine = engine or Engine(ruleset, segment.episode)
        rewards.extend(engine.feed(segment.events).rewards)
    assert engine is not None
    return engine, rewards

"""Recording files: zstd frames of segments, and what was said beyond the rules; read with a bound, chains checked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import zstandard

from api.cascade.recorded import Playback
from api.recording_verdicts import HEAD_BYTES, VerdictsError, bodies_of, is_skippable
from detectors.codec import GENESIS, CodecError, decode_segment, split_segments
from detectors.engine import Engine
from detectors.ruleset import Ruleset
from detectors.types import Reward, Segment

MAX_TEXT = 1 << 30
"""Bytes of text that a recording may unpack to."""
_LONGEST_HEADER = 18
_MAGIC = b"\x28\xb5\x2f\xfd"
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
        texts = split_segments(_unpack(packed, path))
        said = read_said(packed, path)
        for text in texts:
            segment = decode_segment(text)
            if episode is None:
                episode = segment.episode
                _must_be_of(path, episode, said)
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


def read_said(packed: bytes, path: Path | str) -> list[dict[str, Any]]:
    """The events of the log of verdicts in a recording's bytes; none where it has none. Raises `RecordingError`."""
    return [orjson.loads(body) for body in read_bodies(packed, path)]


def read_bodies(packed: bytes, path: Path | str) -> list[bytes]:
    """The same as they are stored."""
    at = _whole(path, packed)
    if at == len(packed):
        return []
    try:
        return bodies_of(packed, at)
    except VerdictsError as error:
        raise RecordingError(f"{path}: {error}") from None


def _must_be_of(path: Path | str, episode: str, said: list[dict[str, Any]]) -> None:
    if said and said[0]["episode"] != episode:
        raise RecordingError(f"{path}: its verdicts are of {said[0]['episode']!r:.80}, its events of {episode}")


def _unpack(packed: bytes, path: Path | str) -> bytes:
    out = bytearray()
    try:
        reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        while chunk := reader.read(1 << 20):
            out += chunk
            if len(out) > MAX_TEXT:
                raise RecordingError(f"{path}: unpacks to more than {MAX_TEXT} bytes")
    except zstandard.ZstdError as error:
        raise RecordingError(f"{path}: not zstd: {error}") from None
    return bytes(out)


def _whole(path: Path | str, packed: bytes) -> int:
    """Where the segments' frames end, if every frame is whole and nothing follows the verdicts.

    A reader says nothing of a last frame that is cut: what is missing would look as if it never happened.
    """
    at, segments = 0, len(packed)
    while at < len(packed):
        try:
            end = _frame_end(packed, at)
        except zstandard.ZstdError as error:
            raise RecordingError(f"{path}: not zstd: {error}") from None
        if end is None or end > len(packed):
            raise RecordingError(
                f"{path}: byte {len(packed)}: the file ends within the frame that begins at byte {at}: it was cut short"
            )
        if segments < len(packed):
            raise RecordingError(f"{path}: byte {at}: a frame after the verdicts; wanted nothing behind them")
        if is_skippable(packed, at):
            segments = at
        at = end
    return segments


def _frame_end(packed: bytes, at: int) -> int | None:
    """Where a zstd frame ends, by its blocks' headers (RFC 8878); None where those are cut."""
    head = packed[at : at + _LONGEST_HEADER]
    if is_skippable(packed, at):
        return at + HEAD_BYTES + int.from_bytes(head[4:HEAD_BYTES], "little") if len(head) >= HEAD_BYTES else None
    try:
        parameters = zstandard.get_frame_parameters(head)
        at += zstandard.frame_header_size(head)
    except zstandard.ZstdError:
        if len(head) < _LONGEST_HEADER and head[: len(_MAGIC)] == _MAGIC[: len(head)]:
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


def play(path: Path, ruleset: Ruleset) -> Playback:
    """Score a recording from nothing, what was said beyond the rules read back. Raises as `read_recording`."""
    packed = path.read_bytes()
    said = read_said(packed, path)
    playback: Playback | None = None
    for segment in read_frames(packed, path):
        playback = playback or Playback(ruleset, segment.episode, said)
        playback.take(segment.events)
    assert playback is not None
    return playback


def replay(path: Path, ruleset: Ruleset) -> tuple[Engine, list[Reward]]:
    """The engine at a recording's end, and every reward, as `play` has them."""
    playback = play(path, ruleset)
    return playback.engine, playback.rewards

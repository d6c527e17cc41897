"""Recording files: zstd frames of segments, and what was said beyond the rules; read with a bound,
chains checked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson
import zstandard

from api.verdicts.recorded import Playback
from api.verdicts.recording_verdicts import HEAD_BYTES, VerdictsError, bodies_of, is_skippable
from api.verdicts.recording_verdicts import MAGIC as VERDICTS_MAGIC
from common.frames import UnknownDictionaryError, kept_decompressor
from common.regular_file import NotRegularError, read_regular
from detectors.engine.engine import Engine, unheard_kinds
from detectors.model.codec import (
    CHECKSUM_MAGIC,
    GENESIS,
    CodecError,
    checksum_frame,
    decode_segment,
    split_segments,
    values_bytes,
)
from detectors.model.types import Reward, Segment
from detectors.task.ruleset import Ruleset

MAX_TEXT = 1 << 30
"""Bytes of text that a recording may unpack to."""
MAX_FILE = 1 << 30
"""Bytes of a recording file."""
MAX_FRAME_TEXT = 5 << 20
"""Bytes of text that one frame may unpack to, and the window that it may need: what the wire takes
of a segment."""
MAX_RATIO = 1_000
"""How many times its frame a text may be; what writes frames makes none of more than half of
that."""
_MAX_HEADER_LENGTH = 18
_MAGIC = b"\x28\xb5\x2f\xfd"
_REPEATED = 1
"""The block type that holds one byte, to be repeated."""


class RecordingError(ValueError):
    """A recording can't be read or its chain does not hold; the message says where."""


class Layout(NamedTuple):
    """Where the parts of a recording's bytes lie. ``segments``: begin and end of each segment's
    frame, and how long its text is; ``verdicts``, ``checksum``: where the frames begin that hold
    them."""

    segments: tuple[tuple[int, int, int], ...]
    verdicts: int | None
    checksum: int | None


def read_file(path: Path) -> bytes:
    """A recording file's bytes. Raises `RecordingError` for what is no file, or too large,
    `OSError`."""
    try:
        return read_regular(path, MAX_FILE)
    except NotRegularError as error:
        raise RecordingError(f"{path}: {error}; wanted a recording") from None


def read_recording(path: Path) -> Iterator[Segment]:
    """The segments of a recording, in order. Raises `RecordingError`, or `OSError`."""
    return read_frames(read_file(path), path)


def read_frames(
    packed: bytes,
    path: Path | str,
    *,
    max_values: int | None = None,
    unheard: frozenset[bytes] = frozenset(),
) -> Iterator[Segment]:
    """The segments in a recording's bytes, in order; ``path`` names it in errors. ``max_values``:
    what `values_bytes` may come to over all of them, for who keeps them all; ``unheard``: the
    events to leave out, as `decode_segment` has it. Raises `RecordingError`."""
    head, following, episode, values = GENESIS, 1, None, 0
    try:
        layout = layout_of(packed, path)
        said = _read_verdicts(packed, layout, path)
        for text in _texts(packed, layout, path):
            segment = decode_segment(text, unheard)
            values += 0 if max_values is None else len(text) + values_bytes(text)
            if max_values is not None and values > max_values:
                raise RecordingError(
                    f"{path}: its values would take more than {max_values} bytes; wanted a"
                    " smaller one"
                )
            if episode is None:
                episode = segment.episode
                _must_be_of(path, episode, said)
            if segment.episode != episode or segment.first != following or segment.prev != head:
                raise RecordingError(
                    f"{path}: the segment from event {segment.first} of {segment.episode} does not"
                    f" follow event {following - 1} of {episode}: a segment was changed, swapped or"
                    " removed"
                )
            head, following = segment.digest, segment.last + 1
            yield segment
            del text, segment  # before the next one is read: of a bomb no two are in memory
    except (CodecError, RecursionError) as error:
        raise RecordingError(f"{path}: {error}") from None
    if episode is None:
        raise RecordingError(
            f"{path}: the file is empty; wanted a recording with at least one segment"
        )


def read_said(packed: bytes, path: Path | str) -> list[dict[str, object]]:
    """The events of the log of verdicts in a recording's bytes; none where it has none. Raises
    `RecordingError`."""
    return [orjson.loads(body) for body in read_bodies(packed, path)]


def read_bodies(packed: bytes, path: Path | str) -> list[bytes]:
    """The same as they are stored."""
    return _bodies(packed, layout_of(packed, path), path)


def _read_verdicts(packed: bytes, layout: Layout, path: Path | str) -> list[dict[str, object]]:
    return [orjson.loads(body) for body in _bodies(packed, layout, path)]


def _bodies(packed: bytes, layout: Layout, path: Path | str) -> list[bytes]:
    """Return the verdicts in a recording. Raises `RecordingError`."""
    if layout.verdicts is None:
        return []
    try:
        return bodies_of(packed, layout.verdicts)
    except VerdictsError as error:
        raise RecordingError(f"{path}: {error}") from None


def _must_be_of(path: Path | str, episode: str, said: list[dict[str, object]]) -> None:
    """Raise `RecordingError` where the verdicts are of another episode than the events."""
    if said and said[0]["episode"] != episode:
        raise RecordingError(
            f"{path}: its verdicts are of {said[0]['episode']!r:.80}, its events of {episode}"
        )


def _texts(packed: bytes, layout: Layout, path: Path | str) -> Iterator[bytes]:
    """The text of each segment, unpacked frame by frame: no more than one is in memory."""
    for at, end, size in layout.segments:
        frame = packed[at:end]
        try:
            opener = kept_decompressor(frame, MAX_FRAME_TEXT)
            text = opener.decompress(frame, max_output_size=size, allow_extra_data=False)
        except UnknownDictionaryError as error:
            raise RecordingError(f"{path}: the frame that begins at byte {at}: {error}") from None
        except zstandard.ZstdError as error:
            raise RecordingError(
                f"{path}: the frame that begins at byte {at}: not zstd: {error}"
            ) from None
        yield from split_segments(text)


def layout_of(packed: bytes, path: Path | str) -> Layout:
    """Where the segments, the verdicts and the checksum lie. Raises `RecordingError` for a frame
    that is cut, that unpacks to more than its size can hold, or that is none of these in this
    order; and for another checksum.

    By the frames' heads, before anything is unpacked: a reader says nothing of a last frame that is
    cut, so that what is missing would look as if it never happened, and of a bomb nothing is known
    until it is large.
    """
    segments: list[tuple[int, int, int]] = []
    places: dict[int, int] = {}
    at = whole = 0
    while at < len(packed):
        end = _end_of(packed, at, path)
        if places:
            last = "checksum" if CHECKSUM_MAGIC in places else "verdicts"
            if last == "checksum" or _magic(packed, at) != CHECKSUM_MAGIC:
                raise RecordingError(
                    f"{path}: byte {at}: a frame after the {last}; wanted nothing behind them"
                )
        if is_skippable(packed, at):
            _must_be_ours(packed, at, path)
            places[_magic(packed, at)] = at
        else:
            segments.append((at, end, _stated(packed, at, end, path)))
            whole += segments[-1][2]
            if whole > MAX_TEXT:
                raise RecordingError(f"{path}: unpacks to more than {MAX_TEXT} bytes")
        at = end
    checksum = places.get(CHECKSUM_MAGIC)
    if checksum is not None and packed[checksum:] != checksum_frame(
        hashlib.sha256(packed[:checksum]).digest()
    ):
        raise RecordingError(
            f"{path}: its bytes are not those that its checksum is of: it was changed or damaged"
        )
    return Layout(tuple(segments), places.get(VERDICTS_MAGIC), checksum)


def _magic(packed: bytes, at: int) -> int:
    return int.from_bytes(packed[at : at + 4], "little")


def _must_be_ours(packed: bytes, at: int, path: Path | str) -> None:
    magic = _magic(packed, at)
    if magic not in (VERDICTS_MAGIC, CHECKSUM_MAGIC):
        raise RecordingError(
            f"{path}: byte {at}: a frame with the magic number {magic:#x}; wanted segments,"
            " verdicts or the checksum"
        )


def _end_of(packed: bytes, at: int, path: Path | str) -> int:
    """Return where the frame ends that begins at ``at``. Raises `RecordingError` that says what is
    there instead."""
    if at == 0 and packed.startswith((b"[", b"{")):
        raise RecordingError(
            f"{path}: byte 0: text, wanted a recording (.mrec); a log of events (.jsonl) is read by"
            f" `milestoned task explain TASK {path}`"
        )
    try:
        end = _frame_end(packed, at)
    except zstandard.ZstdError as error:
        raise RecordingError(f"{path}: byte {at}: not zstd: {error}") from None
    if end is None or end > len(packed):
        raise RecordingError(
            f"{path}: byte {len(packed)}: the file ends within the frame that begins at byte {at}:"
            " it was cut short"
        )
    return end


def _stated(packed: bytes, at: int, end: int, path: Path | str) -> int:
    """How long the frame's text is, by its head. Raises `RecordingError` for more than it may
    be."""
    size = int(zstandard.get_frame_parameters(packed[at : at + _MAX_HEADER_LENGTH]).content_size)
    if size in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR):
        raise RecordingError(
            f"{path}: the frame at byte {at} does not state its size; wanted one that does"
        )
    if size > MAX_FRAME_TEXT or size > MAX_RATIO * (end - at):
        raise RecordingError(
            f"{path}: the frame that begins at byte {at} would unpack {end - at} bytes to {size};"
            f" wanted at most {MAX_FRAME_TEXT}, and {MAX_RATIO} times its own"
        )
    return size


def _frame_end(packed: bytes, at: int) -> int | None:
    """Where a zstd frame ends, by its blocks' headers (RFC 8878); None where those are cut."""
    head = packed[at : at + _MAX_HEADER_LENGTH]
    if is_skippable(packed, at):
        return (
            at + HEAD_BYTES + int.from_bytes(head[4:HEAD_BYTES], "little")
            if len(head) >= HEAD_BYTES
            else None
        )
    try:
        parameters = zstandard.get_frame_parameters(head)
        at += zstandard.frame_header_size(head)
    except zstandard.ZstdError:
        if len(head) < _MAX_HEADER_LENGTH and head[: len(_MAGIC)] == _MAGIC[: len(head)]:
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
    """Score a recording from nothing, what was said beyond the rules read back. Raises as
    `read_recording`."""
    packed = read_file(path)
    said = read_said(packed, path)
    playback: Playback | None = None
    for segment in read_frames(packed, path, unheard=unheard_kinds(ruleset)):
        playback = playback or Playback(ruleset, segment.episode, said)
        playback.take_segment(segment)
        del segment  # before the next one is read: of a bomb no two are in memory
    assert playback is not None
    return playback


def replay(path: Path, ruleset: Ruleset) -> tuple[Engine, list[Reward]]:
    """The engine at a recording's end, and every reward, as `play` has them."""
    playback = play(path, ruleset)
    return playback.engine, playback.rewards

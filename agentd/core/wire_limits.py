"""What the service takes of one event and of one frame. A segment that it refuses it refuses for
ever, and all that follows with it: so nothing that is longer or deeper is ever numbered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import zstandard

from detectors.model.codec import LIGHT_BYTES, MAX_VALUES_BYTES, encode_event, values_bytes

EVENT_BYTES = (4 << 20) - (1 << 16)
"""The longest line of an event: the service reads frames of 4 MiB, and this fits into one even where nothing packs."""
EVENT_DEPTH = 200
"""How deep a line may nest."""
_HEADER_BYTES = 1 << 12
"""More than a segment's header comes to."""
RATIO = 500
"""How many times its frame a text may be: the service takes the double for a bomb."""
_PIECE = 2_048
"""What one block of a frame holds where all would pack too well; a block takes at least four bytes."""


class UnfitError(ValueError):
    """An event that no segment can hold; ``wanted`` says what could."""

    def __init__(self, what: str, wanted: str) -> None:
        super().__init__(f"{what}, wanted {wanted}")
        self.what, self.wanted = what, wanted


def line_of(seq: int, source: str, kind: str, at: int, data: Mapping[str, Any]) -> bytes:
    """The event's line. Raises `UnfitError`."""
    try:
        line = encode_event(seq, source, kind, at, data)
    except TypeError:
        line = _printed(seq, source, kind, at, data)
    if len(line) > EVENT_BYTES:
        raise UnfitError(f"an event longer than {EVENT_BYTES} bytes", "a shorter one")
    if (
        len(line) > LIGHT_BYTES - _HEADER_BYTES
        and values_bytes(line) > MAX_VALUES_BYTES - _HEADER_BYTES
    ):
        raise UnfitError(
            f"an event whose values take more than {MAX_VALUES_BYTES} bytes of memory",
            "fewer of them",
        )
    # Nearly every line opens fewer brackets than that, and is done with here.
    if line.count(b"{") + line.count(b"[") > EVENT_DEPTH and deeper(data, EVENT_DEPTH - 1):
        raise _too_deep()
    return line


def _printed(seq: int, source: str, kind: str, at: int, data: Mapping[str, Any]) -> bytes:
    """The line of what orjson refuses: half a surrogate pair, which pages and file names can hold,
    or more."""
    if deeper(data, EVENT_DEPTH - 1):
        raise _too_deep()
    try:
        return encode_event(seq, source, kind, at, printable(data))
    except TypeError as error:
        raise UnfitError(
            f"an event that is no JSON ({error})", "texts, lists, objects, numbers of 64 bits"
        ) from None


def _too_deep() -> UnfitError:
    return UnfitError(f"an event nested deeper than {EVENT_DEPTH}", "a flatter one")


def deeper(value: Any, most: int) -> bool:
    """Whether lists and objects in ``value`` nest deeper than ``most``. Level by level: no depth
    ends it early."""
    level = [value] if isinstance(value, Mapping | list | tuple) else []
    for _ in range(most):
        inner = (
            item for one in level for item in (one.values() if isinstance(one, Mapping) else one)
        )
        # By identity: what holds one list many times is looked at once a level.
        level = list(
            {id(item): item for item in inner if isinstance(item, Mapping | list | tuple)}.values()
        )
        if not level:
            return False
    return bool(level)


def printable(value: Any) -> Any:
    """``value`` with every lone surrogate replaced by a question mark."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {printable(str(key)): printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [printable(item) for item in value]
    return value


def packer() -> zstandard.ZstdCompressor:
    """What makes frames: at zstd level 15, the last that pays (a fifth less than 3, some 35 µs an
    event), with the parameters of 128 KiB, which most segments are within, so that a long one takes
    no more memory."""
    parameters = zstandard.ZstdCompressionParameters.from_level(15, source_size=1 << 17)
    return zstandard.ZstdCompressor(compression_params=parameters)


def packed(text: bytes, compressor: zstandard.ZstdCompressor) -> bytes:
    """``text`` as one frame, in small blocks where it would else unpack to so much that it looks
    like a bomb."""
    frame = compressor.compress(text)
    if len(text) <= RATIO * len(frame):
        return frame
    stream = compressor.compressobj(size=len(text))
    pieces: list[bytes] = []
    for start in range(0, len(text), _PIECE):
        pieces += (
            stream.compress(text[start : start + _PIECE]),
            stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK),
        )
    return b"".join((*pieces, stream.flush()))

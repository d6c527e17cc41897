"""What is in a stored frame: the text of one segment, or those of several that were packed together
(api/log/packing.py), each as its daemon wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from api.log.rows import SegmentRow
from common.frames import live_packer, unpack
from detectors.model.codec import (
    CodecError,
    decode_segment,
    read_header,
    sha256,
    split_segments,
)
from detectors.model.types import Event


def texts_in(frame: bytes) -> Iterator[bytes]:
    """Yield the texts of the segments in a stored frame. Raises `zstandard.ZstdError`,
    `CodecError`."""
    return iter(split_segments(unpack(frame)))


def decode_frame(frame: bytes) -> tuple[Event, ...]:
    """The events of a stored frame."""
    return tuple(chain.from_iterable(decode_segment(text).events for text in texts_in(frame)))


def linked_texts(row: SegmentRow) -> list[bytes]:
    """Return the texts of a stored row. Raises `CodecError` where they are not the chain from the
    row's ``prev`` to its ``digest``, and `zstandard.ZstdError`."""
    texts = list(texts_in(row.frame))
    head = row.prev
    for text in texts:
        if read_header(text)["prev"] != head:
            raise CodecError(f"segment {row.first}: its chain breaks")
        head = sha256(text)
    if head != row.digest:
        raise CodecError(f"segment {row.first}: digest is {row.digest}, of its text {head}")
    return texts


def segments_beyond(row: SegmentRow, after: int) -> SegmentRow:
    """Return what a stored row has of segments that end after event ``after``."""
    head, begin, texts = row.prev, row.first, list(texts_in(row.frame))
    while len(texts) > 1 and _last(texts[0]) <= after:
        begin = _last(texts[0]) + 1
        head = sha256(texts.pop(0))
    if begin == row.first:
        return row
    return row._replace(first=begin, prev=head, frame=live_packer().pack(b"".join(texts)))


def _last(text: bytes) -> int:
    header = read_header(text)
    return int(header["first"]) + int(header["count"]) - 1

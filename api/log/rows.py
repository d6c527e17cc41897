"""Rows of this room's tables, as the database gives them."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class ArrivalRow(Protocol):
    """A row of `arrivals` with its episode's ``labels`` (JSON), ``tenant`` and ``task``."""

    position: int
    xact: int
    episode: str
    first: int
    last: int
    earned: int
    labels: str
    tenant: str
    task: str


class SegmentRow(NamedTuple):
    """A stored row of segments: its first and last event, the digest before it, that of its last
    segment, and the zstd frame of their texts."""

    first: int
    last: int
    prev: str
    digest: str
    frame: bytes


class FrameRow(Protocol):
    """The first and last event of a stored row of segments and its zstd frame."""

    first: int
    last: int
    frame: bytes

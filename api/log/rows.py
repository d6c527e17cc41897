"""Rows of this room's tables, as the database gives them."""

from __future__ import annotations

from typing import Protocol


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


class FrameRow(Protocol):
    """A stored segment's first and last event and its zstd frame."""

    first: int
    last: int
    frame: bytes

"""What the service and a process beside it say to each other over a socket pair that nobody else
has."""

from __future__ import annotations

import pickle
import struct
from typing import Any, NamedTuple

from api.core.errors import ProblemError
from api.episodes.position import EpisodePosition
from api.ingest.advance import Advance
from detectors.model.types import Segment

LENGTH = struct.Struct("<Q")
OUT_OF_MEMORY = 3
"""The exit status of a process that was refused more memory."""


class Handed(NamedTuple):
    """An engine on its way: its task in canonical form, its state (empty: from the start), stored
    frames after that."""

    task: bytes
    state: bytes
    frames: tuple[bytes, ...] = ()


class SegmentRequest(NamedTuple):
    """A segment's frame for an episode that stands ``at``; ``handed`` where the service had the
    engine."""

    episode: str
    frame: bytes
    at: EpisodePosition
    now: str
    handed: Handed | None


class SegmentResult(NamedTuple):
    """The segment without its events, and what it brought: None where it does not continue the
    log."""

    segment: Segment
    advance: Advance | None


Answer = SegmentResult | ProblemError | None
"""None: the engine is not there, or can't be made there."""


def pack_message(message: object) -> bytes:
    """A message, its length before it."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


def unpack_message(body: bytes) -> Any:
    """Return the message of a frame's ``body``, which a process of ours pickled."""
    return pickle.loads(body)

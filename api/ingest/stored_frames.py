"""Feeds an engine with frames of the log, where it is rebuilt: in the service, and in the processes
beside it, which know no database (api/ingest/child.py)."""

from __future__ import annotations

from api.log.frames import texts_in
from detectors.engine.engine import Engine, unheard_kinds
from detectors.model.codec import decode_segment


def feed_frame(engine: Engine, frame: bytes) -> None:
    """Feed an engine with what its rules listen to in a stored frame. Raises `GapError` unless the
    frame begins with the next event."""
    unheard = unheard_kinds(engine.ruleset)
    for text in texts_in(frame):
        engine.feed_segment(decode_segment(text, unheard))

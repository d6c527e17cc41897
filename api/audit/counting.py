"""Counts one episode for reports, when it is signed and when it is verified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import structlog

from api.audit.facts import FactReader, Facts
from api.log.frames import texts_in
from api.start_states.facts import StartReader, StartState
from detectors.model.codec import decode_segment
from detectors.model.rewards import RewardJson

log = structlog.get_logger(__name__)

Counted = TypeVar("Counted")


class Counting:
    """Counts one episode for reports. What daemons wrote may be anything: where it can't be
    counted, the episode is signed all the same."""

    def __init__(self, episode: str) -> None:
        self._episode = episode
        self._reader: FactReader | None = FactReader()
        self._start = StartReader()

    def read(self, frame: bytes) -> None:
        """Count a stored segment's frame. Raises `zstandard.ZstdError`,
        `UnknownDictionaryError`."""
        for text in texts_in(frame):
            self._count(partial(self._read, text=text))

    def _read(self, reader: FactReader, text: bytes) -> None:
        """Count the events of a segment, and look at the start state while no step has begun."""
        reader.read(text)
        if not self._start.began:
            for event in decode_segment(text).events:
                self._start.apply(event)

    def start(self) -> StartState | None:
        """Return how the episode began; None where it can't be counted."""
        return self._count(lambda _: self._start.state())

    def finish(self, rewards: Sequence[RewardJson]) -> Facts | None:
        """Return the facts, with these rewards; None where it can't be counted."""
        return self._count(lambda reader: reader.finish(rewards))

    def _count(self, work: Callable[[FactReader], Counted]) -> Counted | None:
        """Do a part of the counting; a fault of ours ends it, and the episode is left out of
        reports."""
        if self._reader is None:
            return None
        try:
            return work(self._reader)
        except Exception:  # a fault of ours
            log.exception(
                "A closed episode can't be counted, so reports lack it.", episode=self._episode
            )
            self._reader = None
            return None

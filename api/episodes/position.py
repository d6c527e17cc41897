"""Where an episode's log stands."""

from __future__ import annotations

from typing import NamedTuple

from detectors.model.types import Segment


class EpisodePosition(NamedTuple):
    """An episode at its last durable event. ``stored`` is the seq of the stored engine state,
    ``step`` -1 before one began, ``milestones`` how many were reached."""

    through: int
    head: str
    closed: bool
    step: int
    milestones: int
    stored: int

    def continued_by(self, segment: Segment) -> bool:
        """Whether ``segment`` is the next one."""
        return segment.first == self.through + 1 and segment.prev == self.head and not self.closed

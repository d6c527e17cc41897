"""What a running engine takes in memory, measured again only where it may have grown."""

from __future__ import annotations

from dataclasses import dataclass

from detectors.engine.engine import Engine
from detectors.engine.footprint import footprint

GROWTH = 4
"""Bytes that an engine may grow by for each byte of text that it takes in, until it is measured."""
MARGIN = 4_096
"""Bytes by which a table may grow at a single entry."""
MIN_FED = 4_096
"""Bytes of text before a small engine is measured again."""
SHARE = 8
"""A larger one is measured after this part of its size in text, whose reading takes longer."""


@dataclass(slots=True)
class EngineSize:
    """``measured`` bytes, and the ``fed`` bytes of text that the engine took in since."""

    measured: int = 0
    fed: int = 0

    @property
    def bytes(self) -> int:
        """The most that the engine takes, as far as anybody knows."""
        return self.measured + GROWTH * self.fed + MARGIN

    def grow(self, engine: Engine, text_bytes: int) -> None:
        """The engine took in ``text_bytes`` of a segment's text."""
        self.fed += text_bytes
        if not self.measured or self.fed >= max(MIN_FED, self.measured // SHARE):
            self.measured, self.fed = footprint(engine), 0

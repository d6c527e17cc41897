"""How much longer the daemon waits for what it observes, on a machine that is slow."""

from __future__ import annotations

from typing import NamedTuple

MAX_PATIENCE = 60
"""The largest factor: with it the work before one seal may take 10 minutes."""


class Patience(NamedTuple):
    """The factor of ``--patience``, by which each deadline is multiplied that a browser, a desktop,
    a disk or the kernel has for an answer, and after which a step is null.

    What decides which reward a step earns is not multiplied: the task's own times, how long a text
    or a file rests, what may be read of a file.
    """

    factor: float = 1.0

    def extend(self, deadline_s: float) -> float:
        """Return how long ``deadline_s`` seconds are with this patience."""
        return deadline_s * self.factor


DEFAULT_PATIENCE = Patience()

"""How long to wait before what failed is tried again."""

from __future__ import annotations

MAX_DOUBLINGS = 30
"""From here on the wait stays: no number of failures is too great to reckon with."""


def retry_pause_s(failures: int, first_s: float, max_s: float) -> float:
    """Return the seconds to wait after ``failures`` in a row: ``first_s`` before any, doubled from
    failure to failure up to ``max_s``."""
    return min(max_s, first_s * 2.0 ** min(failures, MAX_DOUBLINGS))

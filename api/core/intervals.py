"""The Wilson score interval of a share (Wilson 1927)."""

from __future__ import annotations

import math

Z = 1.959963984540054
"""The 97.5th percentile of the normal distribution."""


def wilson(p: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a share ``p`` of ``n`` independent draws; ``n`` need not be
    whole."""
    middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
    return min(p, max(0.0, middle - half)), max(p, min(1.0, middle + half))

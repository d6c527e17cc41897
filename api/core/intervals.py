"""Intervals of 95 %: of a share (Wilson 1927), of a mean (Student 1908)."""

from __future__ import annotations

import math
from collections.abc import Sequence

Z = 1.959963984540054
"""The 97.5th percentile of the normal distribution."""


def wilson(p: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a share ``p`` of ``n`` independent draws; ``n`` need not be
    whole."""
    middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
    return min(p, max(0.0, middle - half)), max(p, min(1.0, middle + half))


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean of at least four ``values`` and half the width of its 95 % interval.

    t · s / √n, t the 97.5th percentile of Student's distribution with n - 1 degrees of freedom, to
    0.5 % (Abramowitz and Stegun 1964, 26.7.5).
    """
    n = len(values)
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, student(n - 1) * math.sqrt(variance / n)


def student(freedom: int) -> float:
    """Return the 97.5th percentile of Student's t for at least three degrees of ``freedom``."""
    terms = (
        Z,
        (Z**3 + Z) / 4,
        (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96,
        (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384,
        (79 * Z**9 + 776 * Z**7 + 1482 * Z**5 - 1920 * Z**3 - 945 * Z) / 92_160,
    )
    return math.fsum(term / freedom**power for power, term in enumerate(terms))

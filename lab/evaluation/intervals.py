"""Intervals (95 %) of shares and of the area under a curve, also where the estimate is 0 or 1, with
groups.

Trajectories of one group (one task) are alike, so that n of them say less than n of different
groups. A share has the Wilson score interval (Wilson 1927) of an effective size n / deff. The
design effect deff is the variance of the ratio of the groups' sums over that of n independent draws
(Kish 1965), and at least 1. A share of 0 or 1 has no variance to estimate it from: there a whole
group counts as one draw, weighted by its size, (Σm)² / Σm² (Kish's effective size). The area under
the curve has the score interval of Newcombe (2006, method 5) of such sizes of both classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from api.core.intervals import Z, wilson

Interval = tuple[float, float]
NONE: Interval = (float("nan"), float("nan"))
_HALVINGS = 60
_TERMS = 400


def share_interval(hits: NDArray[np.bool_], group: NDArray[np.int64]) -> Interval:
    """The interval of the share of true ``hits`` (n,), each of a ``group`` (n,); NaN for n = 0."""
    if not len(hits):
        return NONE
    p = float(hits.mean())
    return wilson(p, effective_size(hits, group))


def group_size(group: NDArray[np.int64]) -> float:
    """How many independent draws members of ``group`` (n,) are, if those of one group are all
    alike."""
    sizes = np.unique(group, return_counts=True)[1]
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def effective_size(hits: NDArray[np.bool_], group: NDArray[np.int64]) -> float:
    """How many independent draws the share of true ``hits`` (n > 0), each of a ``group``, is
    worth."""
    p = float(hits.mean())
    names, place = np.unique(group, return_inverse=True)
    if p in (0.0, 1.0) or len(names) < 2:
        return group_size(group)
    residuals = np.bincount(place, hits - p)
    variance = len(names) / (len(names) - 1) * float((residuals**2).sum()) / len(hits) ** 2
    design_effect = max(1.0, variance * len(hits) / (p * (1 - p)))
    return len(hits) / design_effect


def highest_share(hits: float, size: float, chance: float) -> float:
    """Return the share that is exceeded with at most ``chance`` where ``hits`` of ``size`` draws
    were seen (Clopper and Pearson 1934, one-sided); numbers of draws need not be whole."""
    if hits >= size:
        return 1.0

    def too_far(share: float) -> bool:
        return 1.0 - _beta_share(share, hits + 1.0, size - hits) < chance

    return _bound(too_far, hits / size, 1.0)


def _beta_share(x: float, a: float, b: float) -> float:
    """The share of a beta distribution below ``x`` (the regularised incomplete beta function), by
    its continued fraction (Abramowitz and Stegun 1964, 26.5.8)."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _beta_share(1.0 - x, b, a)
    front = a * math.log(x) + b * math.log1p(-x)
    front += math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    fraction = 1.0
    for n in range(_TERMS, 0, -1):
        m = n // 2
        if n % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        fraction = 1.0 + term / fraction
    return math.exp(front) / (a * fraction)


def area_interval(area: float, successes: float, failures: float) -> Interval:
    """Newcombe's interval of an ``area`` under the curve of so many independent ``successes`` and
    ``failures``."""

    def too_far(value: float) -> bool:
        total = (successes + failures) / 2
        spread = value * (1 - value) / (successes * failures)
        spread *= 2 * total - 1 - 3 * (total - 1) / ((2 - value) * (1 + value))
        return abs(value - area) > Z * math.sqrt(max(0.0, spread))

    return _bound(too_far, area, 0.0), _bound(too_far, area, 1.0)


def _bound(too_far: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where ``too_far`` begins between a value that is not and one that may be."""
    if not too_far(outside):
        return outside
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if too_far(middle) else (middle, outside)
    return inside

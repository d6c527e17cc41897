"""Isotonic regression: the nondecreasing curve nearest to 0/1 outcomes, by pooling adjacent
violators.

Ayer et al. 1955; as a calibrator Zadrozny and Elkan 2002. Between cases it goes straight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class IsotonicCurve(NamedTuple):
    """Chances [k] at scores [k], both nondecreasing."""

    scores: Floats
    chances: Floats

    def evaluate(self, scores: Floats) -> Floats:
        """The chance at each score; beyond the ends that of the end."""
        found: Floats = np.interp(scores, self.scores, self.chances)
        return found


def isotonic(scores: Floats, success: NDArray[np.bool_]) -> IsotonicCurve:
    """Fit it; equal scores have one chance. At least one case is wanted."""
    knots, place = np.unique(scores, return_inverse=True)
    count = np.bincount(place).astype(np.float64)
    blocks: list[tuple[float, float, int]] = []  # mean, cases, knots
    for mean, cases in zip(np.bincount(place, success) / count, count, strict=True):
        block = (float(mean), float(cases), 1)
        while blocks and blocks[-1][0] >= block[0]:
            before = blocks.pop()
            both = before[1] + block[1]
            block = (
                (before[0] * before[1] + block[0] * block[1]) / both,
                both,
                before[2] + block[2],
            )
        blocks.append(block)
    return IsotonicCurve(
        knots, np.repeat([mean for mean, _, _ in blocks], [width for _, _, width in blocks])
    )

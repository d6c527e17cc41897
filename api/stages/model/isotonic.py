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
        chances: Floats = np.interp(scores, self.scores, self.chances)
        return chances


class Block(NamedTuple):
    """Neighbouring knots that have one chance: the mean of their cases."""

    mean: float
    cases: float
    knots: int

    def pooled_with(self, other: Block) -> Block:
        """Return one block that has the cases of both."""
        cases = self.cases + other.cases
        mean = (self.mean * self.cases + other.mean * other.cases) / cases
        return Block(mean, cases, self.knots + other.knots)


def isotonic(scores: Floats, success: NDArray[np.bool_]) -> IsotonicCurve:
    """Fit the curve to at least one case; equal scores have one chance."""
    knots, place = np.unique(scores, return_inverse=True)
    count = np.bincount(place).astype(np.float64)
    blocks: list[Block] = []
    for mean, cases in zip(np.bincount(place, success) / count, count, strict=True):
        block = Block(float(mean), float(cases), 1)
        while blocks and blocks[-1].mean >= block.mean:
            block = blocks.pop().pooled_with(block)
        blocks.append(block)
    means = [block.mean for block in blocks]
    widths = [block.knots for block in blocks]
    return IsotonicCurve(knots, np.repeat(means, widths))

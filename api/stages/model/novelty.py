"""How unlike an episode is to those of training: the distance of its last row to the nearest that
was seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
KEPT = 400
"""Rows of training that are kept to compare with."""


class Known(NamedTuple):
    """``rows`` [k, features], scaled; ``middle`` and ``spread`` [features] of the scale."""

    rows: Floats
    middle: Floats
    spread: Floats

    def distance(self, row: Floats) -> float:
        """Return the root mean square over the features to the nearest row, in standard deviations
        of training."""
        apart = self.rows - (np.nan_to_num(row) - self.middle) / self.spread
        return float(np.sqrt(np.einsum("ij,ij->i", apart, apart).min() / apart.shape[1]))


def sample_rows(rows: Floats, seed: int = 0) -> Known:
    """Draw at most `KEPT` of the training rows [n, features]."""
    rows = np.nan_to_num(rows)
    middle = rows.mean(axis=0)
    deviation = rows.std(axis=0)
    spread = np.where(deviation > 0, deviation, 1.0)
    draw = np.random.default_rng(seed)
    chosen = draw.choice(len(rows), min(KEPT, len(rows)), replace=False)
    return Known((rows[np.sort(chosen)] - middle) / spread, middle, spread)

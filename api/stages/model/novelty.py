"""How unlike an episode is to those of training: the distance of its last row to the nearest that
was seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
KEPT = 400
"""Rows of training that are kept to compare with."""


@dataclass(frozen=True, slots=True)
class Known:
    """``rows`` [k, features], scaled; ``middle`` and ``spread`` [features] of the scale."""

    rows: Floats
    middle: Floats
    spread: Floats
    _squares: Floats = field(init=False)
    """Of each row the sum of its squares [k]."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_squares", np.einsum("ij,ij->i", self.rows, self.rows))

    def arrays(self) -> dict[str, Floats]:
        """Return what a model's folder keeps of it, by name."""
        return {"rows": self.rows, "middle": self.middle, "spread": self.spread}

    def distance(self, row: Floats) -> float:
        """Return the root mean square over the features to the nearest row, in standard deviations
        of training."""
        scaled = (np.nan_to_num(row) - self.middle) / self.spread
        # |a - b|² = |a|² - 2ab + |b|²: the rows are read once, and nothing of their size is made.
        nearest = int((self._squares - 2 * (self.rows @ scaled)).argmin())
        apart = self.rows[nearest] - scaled
        return math.sqrt(float(apart @ apart) / len(scaled))


def sample_rows(rows: Floats, seed: int = 0) -> Known:
    """Draw at most `KEPT` of the training rows [n, features]."""
    rows = np.nan_to_num(rows)
    middle = rows.mean(axis=0)
    deviation = rows.std(axis=0)
    spread = np.where(deviation > 0, deviation, 1.0)
    draw = np.random.default_rng(seed)
    chosen = draw.choice(len(rows), min(KEPT, len(rows)), replace=False)
    return Known((rows[np.sort(chosen)] - middle) / spread, middle, spread)

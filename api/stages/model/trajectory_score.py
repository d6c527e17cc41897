"""How the scores of steps become one of a trajectory: the last one whole, less a part of the mean
of those before it.

What page and goal make of every step alike is taken out so. A plain sum lets a long way outvote how
it ended, and on groups that were left out it is worse (docs/decisions/0017-the-reward-model.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BEFORE = -0.3
"""The weight of all steps before the last together."""


def step_shares(steps: int) -> Floats:
    """The weight of each of so many steps: [steps]; the last is 1, the others `BEFORE` together."""
    weights = np.full(steps, BEFORE / max(1, steps - 1))
    weights[-1:] = 1.0
    return weights


def trajectory_score(scores: Floats) -> float:
    """One score of a trajectory's steps [steps]."""
    return float(step_shares(len(scores)) @ scores)

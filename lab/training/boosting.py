"""LightGBM with a Bradley-Terry objective on summed step scores.

P(a ≻ b) = σ(S_a − S_b), S = Σ c_t·s_t with the shares c of `api.stages.model.trajectory_score`
(Bradley and Terry 1952; Christiano et al. 2017). The gradient of a pair's loss is −w·c_t·σ(S_b −
S_a) for a row of the better side, + for one of the worse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import lightgbm
import numpy as np
from numpy.typing import NDArray

from api.stages.model.calibration import sigmoid
from api.stages.model.schema import SIGNS
from api.stages.model.trees import Trees, from_lightgbm
from lab.training.matrices import LearningProblem

Floats = NDArray[np.float64]


class BoostingSettings(NamedTuple):
    """How a head is boosted. ``seed`` of the columns and rows that each tree sees."""

    rounds: int = 250
    leaves: int = 8
    rate: float = 0.03
    ridge: float = 2.0
    leaf_rows: int = 30
    columns: float = 0.3
    sample: float = 0.8
    seed: int = 7


def boost(problem: LearningProblem, settings: BoostingSettings) -> Trees:
    """Train one head. Raises ValueError where there is no pair."""
    if not len(problem.better):
        raise ValueError(
            "no pair to learn from: wanted pairs of at least one group that is not left out"
        )
    parameters: dict[str, object] = {
        "objective": _bradley_terry(problem),
        "num_leaves": settings.leaves,
        "learning_rate": settings.rate,
        "lambda_l2": settings.ridge,
        "min_data_in_leaf": settings.leaf_rows,
        "min_sum_hessian_in_leaf": 1e-2,
        "feature_fraction": settings.columns,
        "bagging_fraction": settings.sample,
        "bagging_freq": 1,
        "monotone_constraints": list(SIGNS),
        "seed": settings.seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }
    data = lightgbm.Dataset(problem.rows, free_raw_data=False)
    booster = lightgbm.train(parameters, data, settings.rounds)
    return from_lightgbm(booster.dump_model())


Objective = Callable[[Floats, object], tuple[Floats, Floats]]
"""What LightGBM asks for: the gradient and the Hessian's diagonal of scores and its data set."""


def _bradley_terry(problem: LearningProblem) -> Objective:
    """Gradient and Hessian's diagonal for LightGBM, of the weighted mean loss over the pairs."""
    count = int(problem.owner.max()) + 1 if len(problem.owner) else 0
    owner, share, weight = problem.owner, problem.share, problem.weight
    better, worse = problem.better, problem.worse

    def objective(scores: Floats, _: object) -> tuple[Floats, Floats]:
        total: Floats = np.bincount(owner, share * scores, count).astype(np.float64)
        surprise = sigmoid(total[worse] - total[better])
        pull, curve = weight * surprise, weight * surprise * (1 - surprise)
        slope: Floats = (np.bincount(worse, pull, count) - np.bincount(better, pull, count)).astype(
            np.float64
        )
        bend: Floats = (
            np.bincount(worse, curve, count) + np.bincount(better, curve, count)
        ).astype(np.float64)
        return share * slope[owner], np.maximum(share**2 * bend[owner], 1e-6)

    return objective

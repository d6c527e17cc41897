"""Weights of components that fit preferences between trajectories, by Bradley and Terry's model
(1952): P(chosen is better) = σ(β · (x − x′)), where x are the levels of a trajectory's components.

β ≥ 0, since no component is to be worth less the more of it there is; the weights are β / Σβ, which
the order of trajectories depends on alone. Intervals are percentiles of a bootstrap over groups of
pairs (Efron 1979): pairs of one task are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
RIDGE = 0.01
"""Of the squared β, a pair: preferences that one component explains without an exception would
have no finite β."""
MAX_ROUNDS = 100
TOLERANCE = 1e-9
DRAWS = 200
SEED = 0
"""The same preferences give the same intervals."""


@dataclass(frozen=True, slots=True)
class FittedWeights:
    """``weights`` sum to 1, each with ``low`` and ``high`` of its 95 % interval; ``agreement``: the
    share of decided pairs that they order as people did, ``before``: that the task's own weights
    do."""

    weights: list[float]
    low: list[float]
    high: list[float]
    agreement: float
    before: float


def fit_weights(
    differences: Sequence[Sequence[float]],
    chosen: Sequence[float],
    groups: Sequence[str],
    own: Sequence[float],
    *,
    draws: int = DRAWS,
) -> FittedWeights:
    """Fit weights to n pairs of k components.

    ``differences`` (n × k): the levels of the one trajectory less those of the other; ``chosen``
    (n): 1 where the first is better, 0 where the second is, 0.5 for a tie; ``groups`` (n): pairs of
    one group are drawn together; ``own`` (k): the task's weights. Raises `ValueError` where no pair
    differs in any component.
    """
    x, y = np.array(differences, float), np.array(chosen, float)
    if not x.any():
        raise ValueError("no pair differs in what its components were worth")
    weights = _normalised(_beta(x, y))
    low, high = np.percentile(_draws(x, y, groups, draws), [2.5, 97.5], axis=0)
    return FittedWeights(
        weights.tolist(),
        np.minimum(low, weights).tolist(),
        np.maximum(high, weights).tolist(),
        _agreement(x @ weights, y),
        _agreement(x @ np.array(own, float), y),
    )


def _draws(x: Matrix, y: Matrix, groups: Sequence[str], count: int) -> Matrix:
    """The weights of pairs drawn anew, a group at a time."""
    random = np.random.default_rng(SEED)
    names, places = np.unique(np.array(groups), return_inverse=True)
    members = [np.flatnonzero(places == n) for n in range(len(names))]
    weights = []
    for _ in range(count):
        drawn = np.concatenate([members[n] for n in random.integers(0, len(names), len(names))])
        weights.append(_normalised(_beta(x[drawn], y[drawn])))
    return np.array(weights)


def _beta(x: Matrix, y: Matrix) -> Matrix:
    """Maximise the likelihood under β ≥ 0: Newton's method on the components that may move, each
    step cut at 0 and halved until it helps (Bertsekas 1982)."""
    beta = np.full(x.shape[1], 0.1)
    for _ in range(MAX_ROUNDS):
        expected = 1.0 / (1.0 + np.exp(-np.clip(x @ beta, -500, 500)))
        gradient = x.T @ (expected - y) / len(x) + RIDGE * beta
        free = (beta > 0) | (gradient < 0)
        if not free.any() or float(np.abs(gradient[free]).max()) < TOLERANCE:
            break
        part = x[:, free]
        curvature = (part.T * (expected * (1 - expected))) @ part / len(x)
        direction = np.linalg.solve(curvature + RIDGE * np.eye(part.shape[1]), gradient[free])
        before, size = _loss(x, y, beta), 1.0
        after = beta.copy()
        while size > TOLERANCE:
            after[free] = np.maximum(0.0, beta[free] - size * direction)
            if _loss(x, y, after) < before:
                break
            size /= 2
        else:
            break
        beta = after
    return beta


def _loss(x: Matrix, y: Matrix, beta: Matrix) -> float:
    margins = x @ beta
    likelihood = np.mean(np.logaddexp(0.0, margins) - y * margins)
    return float(likelihood + RIDGE / 2 * beta @ beta)


def _normalised(beta: Matrix) -> Matrix:
    """Weights that sum to 1; equal ones where nothing speaks for any component."""
    whole = float(beta.sum())
    return beta / whole if whole > 0 else np.full(len(beta), 1.0 / len(beta))


def _agreement(margins: Matrix, chosen: Matrix) -> float:
    """The share of decided pairs whose order is people's; what is worth the same counts half."""
    decided = chosen != 0.5
    if not decided.any():
        return float("nan")
    signs = np.sign(np.round(margins[decided], 12)) * np.sign(chosen[decided] - 0.5)
    return float(np.mean((signs + 1) / 2))

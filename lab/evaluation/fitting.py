"""A small fit that never sees the group that it is asked about: logistic regression on the other
folds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lab.evaluation.measures import SEED, Array

FOLDS = 10
RIDGE = 1.0
STEPS = 30


def cross_fitted(features: Array, label: Array, group: NDArray[np.int64]) -> Array:
    """P(success) (n,) of each row of ``features`` (n, d), by a fit on the other folds; whole groups
    share a fold."""
    names = np.unique(group)
    fold_of = dict(
        zip(
            names.tolist(), np.random.default_rng(SEED).permutation(len(names)) % FOLDS, strict=True
        )
    )
    fold = np.array([fold_of[g] for g in group.tolist()])
    out = np.full(len(label), label.mean())
    for n in np.unique(fold):
        held, seen = fold == n, fold != n
        if seen.any():
            out[held] = _predict(features[held], *_fit(features[seen], label[seen]))
    return out


def _fit(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Newton's method on the ridge-penalised log likelihood, of standardised features with an
    unpenalised constant."""
    mean, spread = x.mean(0), x.std(0)
    z = _with_constant(x, mean, np.where(spread > 0, spread, 1.0))
    penalty = np.full(z.shape[1], RIDGE)
    penalty[0] = 1e-3
    w = np.zeros(z.shape[1])
    for _ in range(STEPS):
        p = _sigmoid(z @ w)
        step = np.linalg.solve(
            (z * (p * (1 - p))[:, None]).T @ z + np.diag(penalty), z.T @ (y - p) - penalty * w
        )
        w = w + step
        if np.abs(step).max() < 1e-9:
            break
    return w, mean, np.where(spread > 0, spread, 1.0)


def _predict(x: Array, w: Array, mean: Array, spread: Array) -> Array:
    return _sigmoid(_with_constant(x, mean, spread) @ w)


def _with_constant(x: Array, mean: Array, spread: Array) -> Array:
    return np.column_stack([np.ones(len(x)), (x - mean) / spread])


def _sigmoid(x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -30, 30))), dtype=np.float64)

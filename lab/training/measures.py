"""The measures of a reward model, each a function of plain arrays; a length-only baseline stands
beside every one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Truth = NDArray[np.bool_]


def auroc(scores: Floats, truth: Truth) -> float:
    """That a success is above a failure, ties half; NaN where there is only one of them."""
    yes, no = scores[truth], scores[~truth]
    if not len(yes) or not len(no):
        return float("nan")
    above = (yes[:, None] > no[None, :]).mean() + 0.5 * (yes[:, None] == no[None, :]).mean()
    return float(above)


def ece(p: Floats, truth: Truth, bins: int = 10) -> float:
    """Expected calibration error over bins of equal width."""
    place = np.minimum((p * bins).astype(int), bins - 1)
    gaps = [
        abs(p[place == at].mean() - truth[place == at].mean()) * (place == at).mean()
        for at in set(place.tolist())
    ]
    return float(sum(gaps))


def curve(sure: Floats, right: Truth) -> tuple[Floats, Floats]:
    """Coverage and risk, the surest answered first."""
    order = np.argsort(-sure, kind="stable")
    count = np.arange(1, len(order) + 1)
    return count / len(order), np.cumsum(~right[order]) / count


def coverage_at(sure: Floats, right: Truth, risk: float) -> float:
    """The largest coverage at which the risk is at most ``risk``, the threshold chosen with
    hindsight."""
    coverage, risks = curve(sure, right)
    within = np.flatnonzero(risks <= risk)
    return float(coverage[within[-1]]) if len(within) else 0.0


def bootstrap(
    groups: Sequence[str],
    measure: Callable[[NDArray[np.intp]], float],
    draws: int = 400,
    seed: int = 0,
) -> tuple[float, float]:
    """The 95 % interval of ``measure`` of rows, whole groups drawn with replacement (a cluster
    bootstrap)."""
    names = sorted(set(groups))
    rows = {name: np.flatnonzero(np.asarray(groups) == name) for name in names}
    draw = np.random.default_rng(seed)
    values: list[float] = []
    for _ in range(draws):
        chosen = draw.choice(len(names), len(names))
        values.append(measure(np.concatenate([rows[names[at]] for at in chosen])))
    known = np.asarray([value for value in values if not np.isnan(value)])
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)

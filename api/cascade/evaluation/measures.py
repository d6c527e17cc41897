"""What is measured of a scorer: decisions, ranking, calibration, and how much it may decide at a risk.

A scorer gives a probability of success in [0, 1] and a decision: 1, 0, or NaN where it abstains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
BINS = 10
RISKS = (0.05, 0.10)
RESAMPLES = 1_000
SEED = 20_261_121


@dataclass(frozen=True, slots=True)
class Scored:
    """One scorer on n trajectories: ``score``, ``decision``, ``label`` (n,), and the group of each."""

    score: Array
    decision: Array
    label: Array
    group: NDArray[np.int64]

    def at(self, places: NDArray[np.int64]) -> Scored:
        """Those at ``places``."""
        return Scored(self.score[places], self.decision[places], self.label[places], self.group[places])


def _share(top: Any, of: Any) -> float:
    return float(top) / float(of) if of else float("nan")


def accuracy(s: Scored) -> float:
    """Right among those decided."""
    decided = ~np.isnan(s.decision)
    return _share((s.decision[decided] == s.label[decided]).sum(), decided.sum())


def precision(s: Scored) -> float:
    """Successes among those called so."""
    said = s.decision == 1
    return _share(s.label[said].sum(), said.sum())


def npv(s: Scored) -> float:
    """Failures among those called so."""
    said = s.decision == 0
    return _share((1 - s.label[said]).sum(), said.sum())


def recall(s: Scored) -> float:
    """Called a success among all successes; an abstention is not called so."""
    return _share((s.decision[s.label == 1] == 1).sum(), s.label.sum())


def coverage(s: Scored) -> float:
    """Decided among all."""
    return _share((~np.isnan(s.decision)).sum(), len(s.decision))


def auc(s: Scored) -> float:
    """P(score of a success > score of a failure), ties half (Mann and Whitney)."""
    good, bad = s.score[s.label == 1], s.score[s.label == 0]
    if not len(good) or not len(bad):
        return float("nan")
    order = np.sort(bad)
    below, upto = np.searchsorted(order, good, "left"), np.searchsorted(order, good, "right")
    return float((below + upto).mean() / 2 / len(bad))


def ece(s: Scored) -> float:
    """Σ over ten bins of |mean score − share of successes|, weighted by how many are in the bin (Guo et al. 2017)."""
    bins = np.minimum((s.score * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(bins, minlength=BINS)
    gap = np.abs(np.bincount(bins, s.score, BINS) - np.bincount(bins, s.label, BINS))
    return float(gap.sum() / count.sum())


def coverage_at(s: Scored, risk: float) -> float:
    """The largest share that may be decided by score, the surest first, with at most ``risk`` of them wrong."""
    sure = np.abs(s.score - 0.5)
    order = np.argsort(-sure, kind="stable")
    wrong = np.cumsum((s.score >= 0.5)[order] != s.label[order])
    last = np.append(np.diff(sure[order]) != 0, True)  # equally sure ones are decided together
    fits = np.flatnonzero(last & (wrong <= risk * np.arange(1, len(order) + 1)))
    return float((fits[-1] + 1) / len(order)) if len(fits) else 0.0


MEASURES: Mapping[str, Callable[[Scored], float]] = {
    "accuracy": accuracy,
    "precision": precision,
    "npv": npv,
    "recall": recall,
    "coverage": coverage,
    "auc": auc,
    "ece": ece,
    **{f"coverage_at_{risk:.0%}": (lambda s, risk=risk: coverage_at(s, risk)) for risk in RISKS},  # type: ignore[misc]
}


def measured(s: Scored) -> dict[str, list[float | None]]:
    """Each measure with its 95 % interval by bootstrap over groups: [value, low, high]; None where there is none."""
    groups = [np.flatnonzero(s.group == g) for g in np.unique(s.group)]
    rng = np.random.default_rng(SEED)
    drawn = [
        s.at(np.concatenate([groups[n] for n in rng.integers(0, len(groups), len(groups))])) for _ in range(RESAMPLES)
    ]
    return {
        name: [_known(v) for v in (measure(s), *_interval([measure(d) for d in drawn]))]
        for name, measure in MEASURES.items()
    }


def _interval(values: list[float]) -> tuple[float, float]:
    known = [value for value in values if not np.isnan(value)]
    if not known:
        return float("nan"), float("nan")
    low, high = np.percentile(known, [2.5, 97.5])
    return float(low), float(high)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else round(value, 4)

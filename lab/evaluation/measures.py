"""What is measured of a scorer: decisions, ranking, calibration, and how much it may decide at a
risk.

A scorer gives a probability of success in [0, 1] and a decision: 1, 0, or NaN where it abstains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.evaluation.intervals import NONE, Interval, area_interval, group_size, share_interval

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Measured = tuple[float, float, float]
"""A value with the ends of its 95 % interval; NaN where there is none."""
BINS = 10
RISKS = (0.05, 0.10)
RESAMPLES = 1_000
PART_RESAMPLES = 300
"""Of a part of the trajectories, of which there are many."""
SEED = 20_261_121


@dataclass(frozen=True, slots=True)
class ScorerSample:
    """One scorer on n trajectories: ``score``, ``decision``, ``label`` (n,), and the group of
    each."""

    score: Array
    decision: Array
    label: Array
    group: NDArray[np.int64]

    def select(self, places: NDArray[np.int64]) -> ScorerSample:
        """The trajectories at ``places``, as a sample of their own."""
        return ScorerSample(
            self.score[places], self.decision[places], self.label[places], self.group[places]
        )


@dataclass(frozen=True, slots=True)
class Share:
    """A share of trajectories: of those ``among`` (n,) the ``hits`` (n,)."""

    hits: NDArray[np.bool_]
    among: NDArray[np.bool_]

    @property
    def value(self) -> float:
        """In [0, 1]; NaN among none."""
        return float(self.hits[self.among].mean()) if self.among.any() else float("nan")


def accuracy(s: ScorerSample) -> Share:
    """The share of right decisions among the decided trajectories."""
    return Share(s.decision == s.label, ~np.isnan(s.decision))


def precision(s: ScorerSample) -> Share:
    """The share of successes among those called a success."""
    return Share(s.label == 1, s.decision == 1)


def npv(s: ScorerSample) -> Share:
    """The share of failures among those called a failure (negative predictive value)."""
    return Share(s.label == 0, s.decision == 0)


def recall(s: ScorerSample) -> Share:
    """Called a success among all successes; an abstention is not called so."""
    return Share(s.decision == 1, s.label == 1)


def false_positive_rate(s: ScorerSample) -> Share:
    """Called a success among all failures; an abstention is not called so."""
    return Share(s.decision == 1, s.label == 0)


def coverage(s: ScorerSample) -> Share:
    """The share of decided trajectories among all."""
    return Share(~np.isnan(s.decision), np.ones(len(s.decision), dtype=np.bool_))


def kappa(s: ScorerSample) -> float:
    """Return Cohen's κ of decisions and labels, of the decided trajectories: agreement beyond
    chance, (p_o - p_e) / (1 - p_e) (Cohen 1960); NaN where either always says the same."""
    decided = ~np.isnan(s.decision)
    if not decided.any():
        return float("nan")
    called, label = s.decision[decided] == 1, s.label[decided] == 1
    chance = called.mean() * label.mean() + (1 - called.mean()) * (1 - label.mean())
    observed = (called == label).mean()
    return float((observed - chance) / (1 - chance)) if chance < 1 else float("nan")


def auc(s: ScorerSample) -> float:
    """P(score of a success > score of a failure), ties half (Mann and Whitney)."""
    good, bad = s.score[s.label == 1], s.score[s.label == 0]
    if not len(good) or not len(bad):
        return float("nan")
    order = np.sort(bad)
    below, upto = np.searchsorted(order, good, "left"), np.searchsorted(order, good, "right")
    return float((below + upto).mean() / 2 / len(bad))


def ece(s: ScorerSample) -> float:
    """Σ over ten bins of |mean score − share of successes|, weighted by how many are in the bin
    (Guo et al. 2017)."""
    bins = np.minimum((s.score * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(bins, minlength=BINS)
    gap = np.abs(np.bincount(bins, s.score, BINS) - np.bincount(bins, s.label, BINS))
    return float(gap.sum() / count.sum())


def coverage_at(s: ScorerSample, risk: float) -> float:
    """The largest share that may be decided by score, the surest first, with at most ``risk`` of
    them wrong."""
    sure = np.abs(s.score - 0.5)
    order = np.argsort(-sure, kind="stable")
    wrong = np.cumsum((s.score >= 0.5)[order] != s.label[order])
    last = np.append(np.diff(sure[order]) != 0, True)  # equally sure ones are decided together
    fits = np.flatnonzero(last & (wrong <= risk * np.arange(1, len(order) + 1)))
    return float((fits[-1] + 1) / len(order)) if len(fits) else 0.0


SHARES: Mapping[str, Callable[[ScorerSample], Share]] = {
    "accuracy": accuracy,
    "precision": precision,
    "npv": npv,
    "recall": recall,
    "false_positive_rate": false_positive_rate,
    "coverage": coverage,
}
CURVES: Mapping[str, Callable[[ScorerSample], float]] = {
    "kappa": kappa,
    "auc": auc,
    "ece": ece,
    **{f"coverage_at_{risk:.0%}": lambda s, risk=risk: coverage_at(s, risk) for risk in RISKS},  # type: ignore[misc]
}


def measure_sample(s: ScorerSample) -> dict[str, list[float | None]]:
    """Each measure with its 95 % interval: [value, low, high]; None where there is none.

    Shares have the interval of `intervals.share_interval`. The others are resampled by groups
    (bootstrap); where the resamples agree on one number they say nothing, and an area under the
    curve has `intervals.area_interval`, the rest none.
    """
    rows = _measured_shares(s)
    drawn = list(_resamples(s, RESAMPLES))
    for name, measure in CURVES.items():
        rows[name] = (measure(s), *_spread([*map(measure, drawn)]))
    value, low, _ = rows["auc"]
    if np.isnan(low) and not np.isnan(value):
        positives = group_size(s.group[s.label == 1])
        negatives = group_size(s.group[s.label == 0])
        rows["auc"] = (value, *area_interval(value, positives, negatives))
    return _without_nan(rows)


def measured_in_part(s: ScorerSample) -> dict[str, list[float | None]]:
    """Return κ and the shares of a part of the trajectories, each with its 95 % interval."""
    rows = _measured_shares(s)
    drawn = _resamples(s, PART_RESAMPLES)
    rows["kappa"] = (kappa(s), *_spread([*map(kappa, drawn)]))
    return _without_nan(rows)


def _measured_shares(s: ScorerSample) -> dict[str, Measured]:
    """Every share of `SHARES` of the sample with its interval."""
    return {name: measure_share(s, share_of(s)) for name, share_of in SHARES.items()}


def _without_nan(rows: dict[str, Measured]) -> dict[str, list[float | None]]:
    """The same rows with None for NaN, which JSON does not have."""
    return {name: [*map(_number_or_none, row)] for name, row in rows.items()}


def _resamples(s: ScorerSample, count: int) -> Iterator[ScorerSample]:
    """Yield so many samples of the groups, drawn with replacement."""
    groups = [np.flatnonzero(s.group == g) for g in np.unique(s.group)]
    rng = np.random.default_rng(SEED)
    for _ in range(count):
        chosen = rng.integers(0, len(groups), len(groups))
        yield s.select(np.concatenate([groups[n] for n in chosen]))


def measure_share(s: ScorerSample, share: Share) -> tuple[float, float, float]:
    """Return a share of the sample with its 95 % interval; NaN among none."""
    return (share.value, *share_interval(share.hits[share.among], s.group[share.among]))


def _spread(values: list[float]) -> Interval:
    """The middle 95 % of ``values``; NaN where that is one value."""
    known = [value for value in values if not np.isnan(value)]
    if not known:
        return NONE
    low, high = np.percentile(known, [2.5, 97.5])
    return (float(low), float(high)) if low < high else NONE


def _number_or_none(value: float) -> float | None:
    return None if np.isnan(value) else round(value, 4)

"""A judge's support, calibrated: which bar keeps a stated risk, on items that people labelled.

For each direction (success, failure) and each support s, the verdicts with at least s are those
that a bar at s would let decide. Their share of errors has an upper bound (Clopper and Pearson
1934, one-sided, of the effective size: items of one group are alike). The bounds of all levels of
both directions hold together with probability `LEVEL` (Bonferroni), so that a task may name any bar
afterwards: learn then test (Angelopoulos et al. 2021), as in "Trust or Escalate" (2407.18370).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from api.core.intervals import wilson
from api.stages.judge.calibration import JudgeCalibration, Level
from lab.evaluation.intervals import effective_size, highest_share

LEVEL = 0.95
"""With which probability all bounds hold."""
MAX_LEVELS = 8
"""Levels of one direction: each takes its part of the probability that a bound fails."""
FOLDS = 3


class JudgedItem(NamedTuple):
    """One item that a judge gave a verdict on and people labelled. ``support``: what stands behind
    the verdict, in [0, 1]; ``group``: items that are alike."""

    support: float
    called: bool
    label: bool
    group: str

    @property
    def is_wrong(self) -> bool:
        """Whether the verdict is not the label."""
        return self.called != self.label


class BarCheck(NamedTuple):
    """The bar's errors on groups that it was not fitted on: of ``cases`` it let ``decided`` decide,
    ``wrong`` of them wrongly; ``low`` and ``high``: the 95 % interval of that share."""

    cases: int
    decided: int
    wrong: int
    low: float | None
    high: float | None


def calibrate(
    items: Sequence[JudgedItem], risk: float, model: str, prompt: str, data: str
) -> JudgeCalibration:
    """Return the calibration of one judge. ``data``: the digest of what was read."""
    directions = {called: _of_direction(items, called=called) for called in (True, False)}
    count = sum(len(_supports(part)) for part in directions.values())
    chance = (1.0 - LEVEL) / max(1, count)
    return JudgeCalibration(
        model=model,
        prompt=prompt,
        risk=risk,
        success=_levels(directions[True], chance),
        failure=_levels(directions[False], chance),
        facts={
            "level": LEVEL,
            "cases": len(items),
            "groups": len({item.group for item in items}),
            "wrong": sum(item.is_wrong for item in items),
            "data": data,
        },
    )


def check_left_out(items: Sequence[JudgedItem], risk: float) -> BarCheck:
    """Fit on two thirds of the groups and count what its bar lets decide among the others, each
    third in turn."""
    decided = []
    for fold in range(FOLDS):
        seen = [item for item in items if _fold(item.group) != fold]
        fitted = calibrate(seen, risk, "", "", "")
        decided += [
            item
            for item in items
            if _fold(item.group) == fold
            and fitted.confidence(item.support, float(item.called)) >= fitted.bar
        ]
    wrong = sum(item.is_wrong for item in decided)
    if not decided:
        return BarCheck(len(items), 0, 0, None, None)
    return BarCheck(len(items), len(decided), wrong, *wilson(wrong / len(decided), _size(decided)))


def _of_direction(items: Sequence[JudgedItem], *, called: bool) -> list[JudgedItem]:
    return [item for item in items if item.called is called]


def _supports(items: Sequence[JudgedItem]) -> list[float]:
    """The supports that are levels, lowest first: chosen without a look at the labels."""
    distinct = sorted({item.support for item in items})
    if len(distinct) <= MAX_LEVELS:
        return distinct
    shares = np.linspace(0, 1, MAX_LEVELS, endpoint=False)
    method: Literal["lower"] = "lower"
    chosen = np.quantile([item.support for item in items], shares, method=method)
    return sorted({float(support) for support in chosen})


def _levels(items: Sequence[JudgedItem], chance: float) -> tuple[Level, ...]:
    """Return each level of support with how surely a verdict of at least that much is right, by the
    bound that holds at ``chance``."""
    levels: list[Level] = []
    best = 0.0
    for support in _supports(items):
        among = [item for item in items if item.support >= support]
        wrong = sum(item.is_wrong for item in among)
        size = _size(among)
        highest = highest_share(wrong / len(among) * size, size, chance)
        # A verdict with more support stands in every set that a lower bar lets decide.
        best = max(best, round(1.0 - highest, 6))
        levels.append(Level(support, len(among), wrong, best))
    return tuple(levels)


def _size(items: Sequence[JudgedItem]) -> float:
    """How many independent draws the errors of ``items`` are worth."""
    names = {name: n for n, name in enumerate(dict.fromkeys(item.group for item in items))}
    wrong = np.array([item.is_wrong for item in items], dtype=np.bool_)
    return effective_size(wrong, np.array([names[item.group] for item in items], dtype=np.int64))


def _fold(group: str) -> int:
    return hashlib.sha256(group.encode()).digest()[0] % FOLDS

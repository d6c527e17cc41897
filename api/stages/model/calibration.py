"""From a score to a probability, and from there to an answer or none, by cases of groups that were
left out.

What is kept are the cases themselves: the score that a model gave which had never seen the case's
group, whether it was a success, and how unlike its training it was. So the operator's risk chooses
the thresholds when the model is loaded, not when it is trained. Sources: Platt 1999; Mondrian
inductive conformal prediction (Vovk 2005, ch. 4); the finite-sample correction (errors + 1) /
(answers + 1) of conformal risk control (Angelopoulos et al. 2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from api.stages.model.isotonic import IsotonicCurve, isotonic

Floats = NDArray[np.float64]
MIN_CASES = 30
"""Cases without which nothing can be calibrated."""


class Chances(NamedTuple):
    """``p`` of success; ``set`` what conformal prediction can't exclude; ``answers``: the success
    that is said."""

    p: float
    possible: frozenset[bool]
    answers: bool | None
    why: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """Cases [n] that were scored by models without their group.

    p is the mean of two curves: σ(``slope``·s + ``offset``), which is too stiff where the truth has
    steps, and the isotonic one, which is too sure between few cases.
    """

    slope: float
    offset: float
    scores: Floats
    success: NDArray[np.bool_]
    novelty: Floats
    _sorted: dict[bool, Floats] = field(default_factory=dict)
    _steps: list[IsotonicCurve] = field(default_factory=list)

    def chance(self, scores: Floats) -> Floats:
        """The probability of success of each score."""
        if not self._steps:
            self._steps.append(isotonic(self.scores, self.success))
        return (sigmoid(self.slope * scores + self.offset) + self._steps[0].evaluate(scores)) / 2

    def p_values(self, score: float) -> dict[bool, float]:
        """How usual the score would be among the cases of each outcome: (1 + #{as unusual}) / (1 +
        n)."""
        if not self._sorted:
            self._sorted[True] = np.sort(-self.scores[self.success])
            self._sorted[False] = np.sort(self.scores[~self.success])
        return {
            outcome: (
                1 + len(known) - int(np.searchsorted(known, -score if outcome else score, "left"))
            )
            / (1 + len(known))
            for outcome, known in self._sorted.items()
        }

    def to_json(self) -> dict[str, Any]:
        """For the model's folder."""
        return {
            "slope": self.slope,
            "offset": self.offset,
            "scores": [round(float(value), 6) for value in self.scores],
            "success": [bool(value) for value in self.success],
            "novelty": [round(float(value), 6) for value in self.novelty],
        }


def from_json(said: Mapping[str, Any]) -> Calibration:
    """What `Calibration.to_json` gave; raises KeyError."""
    return Calibration(
        float(said["slope"]),
        float(said["offset"]),
        np.asarray(said["scores"], np.float64),
        np.asarray(said["success"], np.bool_),
        np.asarray(said["novelty"], np.float64),
    )


@dataclass(frozen=True, slots=True)
class ConfidenceGate:
    """Who is answered at one risk: so sure (each way), so usual. None: nobody can be, that way."""

    risk: float
    sure: Mapping[bool, float | None]
    usual: float

    def judge(self, calibration: Calibration, score: float, novelty: float) -> Chances:
        """What is said of one case."""
        p = float(calibration.chance(np.asarray([score]))[0])
        values = calibration.p_values(score)
        possible = frozenset(outcome for outcome, value in values.items() if value > self.risk)
        says = p >= 0.5
        sure = self.sure[says]
        if novelty > self.usual:
            return Chances(
                p,
                possible,
                None,
                f"unlike what it was trained on: {novelty:.2f}, wanted {self.usual:.2f}",
            )
        if sure is None or max(p, 1 - p) < sure:
            wanted = "more than there is" if sure is None else f"{sure:.2f}"
            return Chances(
                p, possible, None, f"not sure enough: {max(p, 1 - p):.2f}, wanted {wanted}"
            )
        return Chances(
            p, possible, says, f"p {p:.2f} of success, at a stated risk of {self.risk:.2g}"
        )


def gate(calibration: Calibration, risk: float) -> ConfidenceGate:
    """The widest gate that keeps the operator's ``risk`` on the cases that were left out; a
    threshold each way."""
    usual = float(np.quantile(calibration.novelty, 0.98)) if len(calibration.novelty) else 0.0
    p = calibration.chance(calibration.scores)
    kept = calibration.novelty <= usual
    sure = {
        says: _threshold(np.maximum(p, 1 - p)[chosen], (calibration.success == says)[chosen], risk)
        for says in (True, False)
        for chosen in [kept & ((p >= 0.5) == says)]
    }
    return ConfidenceGate(risk, sure, usual)


def _threshold(sure: Floats, right: NDArray[np.bool_], risk: float) -> float | None:
    """The least confidence from which on the error stays within ``risk``; None where none does."""
    order = np.argsort(-sure, kind="stable")
    errors = np.cumsum(~right[order])
    bound = (errors + 1) / (np.arange(len(order)) + 2)
    # Who is as sure as the last one is answered as well: a cut falls between confidences, never
    # among equal ones.
    ends = np.append(np.diff(sure[order]) != 0, True)
    within = np.flatnonzero((bound <= risk) & ends)
    return float(sure[order[within[-1]]]) if len(within) else None


def platt(scores: Floats, success: NDArray[np.bool_], turns: int = 50) -> tuple[float, float]:
    """Slope (never negative) and offset of σ(slope·s + offset) by Newton's method, with Platt's
    softened targets."""
    yes, no = int(success.sum()), int((~success).sum())
    target = np.where(success, (yes + 1) / (yes + 2), 1 / (no + 2))
    scale = float(scores.std()) or 1.0
    features = np.stack([scores / scale, np.ones_like(scores)])
    weights = np.asarray([1.0, 0.0])
    for _ in range(turns):
        p = sigmoid(weights @ features)
        slope = features @ (p - target) + 1e-3 * weights
        curve = (features * (p * (1 - p))) @ features.T + 1e-3 * np.eye(2)
        move = np.linalg.solve(curve, slope)
        weights = weights - move
        if float(np.abs(move).max()) < 1e-9:
            break
    return max(0.0, float(weights[0] / scale)), float(weights[1])


def sigmoid(values: Floats) -> Floats:
    """1 / (1 + e^−x), without overflow."""
    made: Floats = 1.0 / (1.0 + np.exp(-np.clip(values, -40, 40)))
    return made


def calibrate(
    scores: Sequence[float], success: Sequence[bool], novelty: Sequence[float]
) -> Calibration | None:
    """From cases that were scored without their group; None where there are too few, or of one
    outcome only."""
    s, y = np.asarray(scores, np.float64), np.asarray(success, np.bool_)
    if len(s) < MIN_CASES or y.all() or not y.any():
        return None
    slope, offset = platt(s, y)
    return Calibration(slope, offset, s, y, np.asarray(novelty, np.float64))

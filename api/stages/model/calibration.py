"""From a score to a probability, and from there to an answer or none, by cases of groups that were
left out.

What is kept are the cases themselves: the score that a model gave which had never seen the case's
group, whether it was a success, how unlike its training it was, and its group. So the operator's
risk chooses the thresholds when the model is loaded, not when it is trained. Sources: Platt 1999;
Mondrian inductive conformal prediction (Vovk 2005, ch. 4); the finite-sample correction of one
more error of conformal risk control (Angelopoulos et al. 2022); the upper confidence bound of
Learn then Test (Angelopoulos et al. 2021), with the variance of groups (Cochran 1977, ch. 9A).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from api.stages.model.isotonic import IsotonicCurve, isotonic
from api.stages.model.schema import NAMES

Floats = NDArray[np.float64]
Whole = NDArray[np.intp]
GATE = "surely, by groups, and by collections at once"
"""How a risk chooses the threshold; a change makes other answers of the same model."""
MIN_GROUPS = 5
"""Groups from which on a collection of them must keep the risk by itself."""
MIN_CASES = 30
"""Cases without which nothing can be calibrated."""
_ROUNDING = 1e-9
"""What a sum of risks may be off by, that would be 0 in exact numbers."""
_Z = 1.6448536269514722
"""The 95th percentile of the normal distribution: errors are surely within the risk in 19 of 20
choices, as far as groups are many."""
_DESKTOP = NAMES.index("desk_reported")
_PAGES = [
    NAMES.index(name)
    for name in ("text_reported", "clicks", "fills", "navigated", "tabs", "status")
]
"""Features that are above 0 only where a page was seen."""
_WINDOWS = [NAMES.index(name) for name in ("windows", "win_opened", "pressed", "widgets_set")]
"""Features that are above 0 only where a window was seen."""


class CaseKind(IntEnum):
    """What a case is of, as far as its log tells: pages, a desktop with windows, or files and tools
    alone."""

    PAGES = 0
    WINDOWS = 1
    FILES = 2

    @property
    def about(self) -> str:
        """What such cases are of, in words."""
        return ("pages", "programs with windows", "files and tools alone")[self]


class Chances(NamedTuple):
    """``p`` of success; ``possible``: what conformal prediction can't exclude; ``answers``: whether
    it is a success, None for no answer."""

    p: float
    possible: frozenset[bool]
    answers: bool | None
    why: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """Cases [n], each scored by a model that had never seen its group.

    p is the mean of two curves: σ(``slope``·s + ``offset``), which is too stiff where the truth has
    steps, and the isotonic one, which is too sure between few cases.
    """

    slope: float
    offset: float
    scores: Floats
    success: NDArray[np.bool_]
    novelty: Floats
    kind: Whole
    """The `CaseKind` of each case."""
    group: Whole
    """The number of each case's group (a program, a family of pages)."""
    collection: Whole
    """The number of the collection that the group is of (`collection_of`)."""
    _sorted: dict[bool, Floats] = field(default_factory=dict)
    _steps: list[IsotonicCurve] = field(default_factory=list)

    def chance(self, scores: Floats) -> Floats:
        """Return the probability of success of each score."""
        if not self._steps:
            self._steps.append(isotonic(self.scores, self.success))
        return (sigmoid(self.slope * scores + self.offset) + self._steps[0].evaluate(scores)) / 2

    def of_kind(self, kind: CaseKind) -> Calibration | None:
        """Calibrate by the cases of one kind alone; None where they are too few."""
        chosen = self.kind == kind
        columns = (
            self.scores, self.success, self.novelty, self.kind, self.group, self.collection,
        )  # fmt: skip
        return calibrate(*(column[chosen].tolist() for column in columns))

    def p_values(self, score: float) -> dict[bool, float]:
        """Return how usual the score would be among the cases of each outcome: (1 + #{as unusual})
        / (1 + n)."""
        if not self._sorted:
            self._sorted[True] = np.sort(-self.scores[self.success])
            self._sorted[False] = np.sort(self.scores[~self.success])
        values = {}
        for outcome, known in self._sorted.items():
            below = int(known.searchsorted(-score if outcome else score, "left"))
            values[outcome] = (1 + len(known) - below) / (1 + len(known))
        return values

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads, for the model's folder."""
        return {
            "slope": self.slope,
            "offset": self.offset,
            "scores": [round(float(value), 6) for value in self.scores],
            "success": [bool(value) for value in self.success],
            "novelty": [round(float(value), 6) for value in self.novelty],
            "kind": [int(value) for value in self.kind],
            "group": [int(value) for value in self.group],
            "collection": [int(value) for value in self.collection],
        }


def from_json(document: Mapping[str, Any]) -> Calibration:
    """Read what `Calibration.to_json` gave; raises KeyError."""
    return Calibration(
        slope=float(document["slope"]),
        offset=float(document["offset"]),
        scores=np.asarray(document["scores"], np.float64),
        success=np.asarray(document["success"], np.bool_),
        novelty=np.asarray(document["novelty"], np.float64),
        kind=np.asarray(document["kind"], np.intp),
        group=np.asarray(document["group"], np.intp),
        collection=np.asarray(document["collection"], np.intp),
    )


def collection_of(group: str) -> str:
    """Return the collection of a group: of ``miniwob/login`` it is ``miniwob``, of a name without a
    slash the empty one."""
    return group.partition("/")[0] if "/" in group else ""


def is_of_desktop(rows: Floats) -> bool:
    """Whether rows of features [steps, features] are of a log that reports a desktop, files or
    tools, and nothing of a page."""
    return bool(rows[-1, _DESKTOP] > 0 and not (rows[:, _PAGES] > 0).any())


def kind_of(rows: Floats) -> CaseKind:
    """Return the kind of the log that rows of features [steps, features] are of."""
    if not is_of_desktop(rows):
        return CaseKind.PAGES
    return CaseKind.WINDOWS if bool((rows[:, _WINDOWS] > 0).any()) else CaseKind.FILES


@dataclass(frozen=True, slots=True)
class ConfidenceGate:
    """Which cases are answered at one risk: those with at least this confidence, by the outcome
    that is said (``sure``; None: none is), and at most this novelty (``usual``)."""

    risk: float
    sure: Mapping[bool, float | None]
    usual: float

    def judge(self, calibration: Calibration, score: float, novelty: float) -> Chances:
        """Return the chances of one case, and the answer if it may be given."""
        p = float(calibration.chance(np.asarray([score]))[0])
        values = calibration.p_values(score)
        possible = frozenset(outcome for outcome, value in values.items() if value > self.risk)
        objection = self._objection(p, novelty)
        if objection is not None:
            return Chances(p, possible, None, objection)
        why = f"p {p:.2f} of success, at a stated risk of {self.risk:.2g}"
        return Chances(p, possible, p >= 0.5, why)

    def _objection(self, p: float, novelty: float) -> str | None:
        """Why a case is not answered; None where it is."""
        if novelty > self.usual:
            return f"unlike what it was trained on: {novelty:.2f}, wanted {self.usual:.2f}"
        confidence = max(p, 1 - p)
        sure = self.sure[p >= 0.5]
        if sure is None:
            return f"not sure enough: {confidence:.2f}, wanted more than there is"
        if confidence < sure:
            return f"not sure enough: {confidence:.2f}, wanted {sure:.2f}"
        return None


def gate(calibration: Calibration, risk: float) -> ConfidenceGate:
    """Return the widest gate that surely keeps the operator's ``risk`` on the cases that were left
    out; a threshold for each outcome."""
    return _gate_of(calibration, risk, np.ones(len(calibration.scores), np.bool_))


class KindGate(NamedTuple):
    """The gate of one kind of cases, and the calibration by these."""

    calibration: Calibration
    gate: ConfidenceGate

    def judge(self, score: float, novelty: float) -> Chances:
        """Return the chances of one case of this kind, and the answer if it may be given."""
        return self.gate.judge(self.calibration, score, novelty)


def gates(calibration: Calibration, risk: float) -> dict[CaseKind, KindGate]:
    """Return a gate of each kind, by its own cases: many easy cases of the one are no promise for
    the other. Where a kind has too few cases, the chances are those of all."""
    return {kind: _gate_of_kind(calibration, risk, kind) for kind in CaseKind}


def _gate_of_kind(calibration: Calibration, risk: float, kind: CaseKind) -> KindGate:
    own = calibration.of_kind(kind)
    if own is not None:
        return KindGate(own, gate(own, risk))
    return KindGate(calibration, _gate_of(calibration, risk, calibration.kind == kind))


def _gate_of(calibration: Calibration, risk: float, chosen: NDArray[np.bool_]) -> ConfidenceGate:
    """Return the confidence from which success and failure are said at a risk, among what is
    usual."""
    novelty = calibration.novelty[chosen]
    usual = float(np.quantile(novelty, 0.98)) if len(novelty) else 0.0
    p = calibration.chance(calibration.scores)
    confidence = np.maximum(p, 1 - p)
    is_usual = chosen & (calibration.novelty <= usual)
    sure = {}
    for outcome in (True, False):
        said = is_usual & ((p >= 0.5) == outcome)
        right = calibration.success[said] == outcome
        group, collection = calibration.group[said], calibration.collection[said]
        sure[outcome] = _threshold(confidence[said], right, group, collection, risk)
    return ConfidenceGate(risk, sure, usual)


def _threshold(
    sure: Floats, right: NDArray[np.bool_], group: Whole, collection: Whole, risk: float
) -> float | None:
    """Return the least confidence (``sure`` [n]) from which on the share of errors is surely within
    ``risk`` among all cases, and among those of each collection of `MIN_GROUPS` groups by
    themselves, unless none of these is left: many easy cases of the one are no promise for the
    other. None where there is none."""
    order = np.argsort(-sure, kind="stable")
    sure, right, group, collection = sure[order], right[order], group[order], collection[order]
    within = _is_within(right, group, risk)
    for one in np.unique(collection):
        of = collection == one
        if len(np.unique(group[of])) >= MIN_GROUPS:
            own = np.append(True, _is_within(right[of], group[of], risk))
            within &= own[np.cumsum(of)]
    # A cut falls between confidences, never among equal ones.
    ends = np.append(np.diff(sure) != 0, True)[: len(sure)]
    found = np.flatnonzero(within & ends)
    return float(sure[found[-1]]) if len(found) else None


def _is_within(right: NDArray[np.bool_], group: Whole, risk: float) -> NDArray[np.bool_]:
    """Return of the first 1, 2, … cases [n] whether the share of errors is surely within ``risk``.

    A case weighs 1 - risk if its answer is wrong, -risk if it is right. The sum, with one more
    error and with `_Z` times its standard error by groups (cases of one group err together), must
    not be above 0.
    """
    excess = np.where(right, -risk, 1 - risk)
    bound = np.cumsum(excess) + (1 - risk) + _Z * _standard_error(excess, group)
    kept: NDArray[np.bool_] = bound <= _ROUNDING
    return kept


def _standard_error(values: Floats, group: Whole) -> Floats:
    """Return the standard error of the sum of the first 1, 2, … ``values`` [n], of which those of
    one group are drawn together (a ratio estimate, linearised); infinite where all are of one.

    Its square is k / (k - 1) Σ (s - r·m)² over the k groups with s the sum and m the number of a
    group's values, and r the mean of all.
    """
    count = np.arange(1, len(values) + 1)
    ones = np.ones(len(values))
    sums, sizes = _sums_before(values, group), _sums_before(ones, group)
    squares = np.cumsum(2 * sums * values + values**2)
    products = np.cumsum(sums + values * sizes + values)
    sizes_squared = np.cumsum(2 * sizes + 1)
    mean = np.cumsum(values) / count
    apart = squares - 2 * mean * products + mean**2 * sizes_squared
    groups = np.cumsum(sizes == 0)
    spread = np.where(apart > _ROUNDING, apart, 0.0)
    error = np.sqrt(spread * groups / np.maximum(1, groups - 1))
    return np.where(groups > 1, error, np.inf)


def _sums_before(values: Floats, group: Whole) -> Floats:
    """Return for each of ``values`` [n] the sum of those of its group that stand before it."""
    place = np.argsort(group, kind="stable")
    running = np.cumsum(values[place]) - values[place]
    _, starts, sizes = np.unique(group[place], return_index=True, return_counts=True)
    sums = np.empty(len(values))
    sums[place] = running - np.repeat(running[starts], sizes)
    return sums


def platt(scores: Floats, success: NDArray[np.bool_], turns: int = 50) -> tuple[float, float]:
    """Fit slope (never negative) and offset of σ(slope·s + offset) by Newton's method, with Platt's
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
    """Return 1 / (1 + e^−x), without overflow."""
    chances: Floats = 1.0 / (1.0 + np.exp(-np.minimum(np.maximum(values, -40), 40)))
    return chances


def calibrate(
    scores: Sequence[float],
    success: Sequence[bool],
    novelty: Sequence[float],
    kinds: Sequence[int] = (),
    groups: Sequence[int] | Sequence[str] = (),
    collections: Sequence[int] | Sequence[str] = (),
) -> Calibration | None:
    """Calibrate by cases that were scored without their group; None where there are too few, or of
    one outcome only. ``kinds``: the `CaseKind` of each; empty: all are of pages. ``groups``: the
    group of each; empty: each is one of its own. ``collections``: the collection of each; empty:
    all are of one."""
    cases = np.asarray(scores, np.float64)
    outcomes = np.asarray(success, np.bool_)
    if len(cases) < MIN_CASES or outcomes.all() or not outcomes.any():
        return None
    slope, offset = platt(cases, outcomes)
    of_kinds = np.asarray(kinds if len(kinds) else [CaseKind.PAGES] * len(cases), np.intp)
    known = np.asarray(novelty, np.float64)
    numbers = _numbered(groups) if len(groups) else np.arange(len(cases))
    wholes = _numbered(collections) if len(collections) else np.zeros(len(cases), np.intp)
    return Calibration(slope, offset, cases, outcomes, known, of_kinds, numbers, wholes)


def _numbered(names: Sequence[int] | Sequence[str]) -> Whole:
    """Return the number of each name among the different ones, in their order."""
    return np.asarray(np.unique(names, return_inverse=True)[1], np.intp)

"""A model from preferences: heads, known rows, and a calibration by groups that were left out;
never in-sample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from api.stages.model import schema
from api.stages.model.calibration import (
    Calibration,
    CaseKind,
    calibrate,
    collection_of,
    is_of_desktop,
    kind_of,
)
from api.stages.model.folder import Model
from api.stages.model.novelty import Known, sample_rows
from api.stages.model.trajectory_score import trajectory_score
from api.stages.model.trees import Trees, route_by_kind
from detectors.model.json_value import JsonValue
from lab.training.annotators import reconcile_pairs
from lab.training.boosting import BoostingSettings, boost
from lab.training.matrices import FeatureTable, folds, groups_of, problem, table
from lab.training.preferences import LabelledOutcome, Level, Pair, PreferenceSet

INNER = 6
"""Folds of groups for calibration."""
MIN_KIND_PAIRS = 200
"""Pairs of desktops, and pairs of pages, from which on each kind has trees of its own."""
_DESK, _TEXT = schema.NAMES.index("desk_reported"), schema.NAMES.index("text_reported")
LEARNT = ("rule", "person", "judge")
"""Whose outcomes a model is calibrated on: not the perturbed copies, which would change how common
failures are, and not what the environment paid, which is for measuring alone."""


KINDS = (True, False)
"""Desktops, and pages."""


class ScoredOutcome(NamedTuple):
    """One outcome as a model says it: summed score, novelty, and of what it is."""

    outcome: LabelledOutcome
    score: float
    novelty: float
    kind: CaseKind


class Learner:
    """Trains with groups left out, over one reading of the preferences."""

    def __init__(
        self,
        preferences: PreferenceSet,
        settings: BoostingSettings | None = None,
        folds: int = INNER,
    ) -> None:
        self.settings = settings or BoostingSettings()
        self.table: FeatureTable = table(preferences)
        self.outcomes = preferences.outcomes
        self.pairs, self.annotators = reconcile_pairs(preferences.pairs)
        self._folds = folds
        self._digest = preferences.digest
        self._files = [str(file) for file in preferences.files]

    def model(
        self, name: str, weights: Mapping[str, float], without: Collection[str] = ()
    ) -> Model:
        """The whole: every head, known rows, calibration. ``without``: groups of which nothing is
        used."""
        heads = {aspect: self._head(aspect, without) for aspect in ("success", *sorted(weights))}
        seen = self._known_rows(without)
        card: dict[str, JsonValue] = {
            "name": name,
            "features": schema.VERSION,
            "data": {"digest": self._digest, "files": self._files, "pairs": len(self.pairs)},
            "settings": self.settings._asdict(),
            "annotators": {who: round(value, 3) for who, value in self.annotators.items()},
            "groups": [group for group in self.groups if group not in without],
        }
        scales = {aspect: self._scale(aspect, trees) for aspect, trees in heads.items()}
        return Model(name, "", heads, dict(weights), scales, seen, self._calibration(without), card)

    @property
    def groups(self) -> list[str]:
        """All groups of pairs and outcomes."""
        return groups_of([*self.pairs, *self.outcomes])

    def _pairs_of(self, aspect: str) -> list[Pair]:
        """Return the pairs of one aspect. Raises ValueError where there is none."""
        found = [pair for pair in self.pairs if pair.aspect == aspect]
        if not found:
            raise ValueError(f"aspect {aspect!r}: there is no pair of it; wanted at least one")
        return found

    def _head(self, aspect: str, without: Collection[str]) -> Trees:
        """Boost the pairs without these groups; desktops and pages apart, where both have enough:
        what tells a success of the one is of no matter for the other."""
        pairs = [pair for pair in self._pairs_of(aspect) if not _is_of(pair, without)]
        of_kind: dict[bool, list[Pair]] = {kind: [] for kind in KINDS}
        for pair in pairs:
            of_kind[self._is_desktop(pair)].append(pair)
        if min(map(len, of_kind.values())) < MIN_KIND_PAIRS:
            return self._boost(pairs)
        desktop, pages = (self._boost(of_kind[kind]) for kind in KINDS)
        return route_by_kind(desktop, pages, _DESK, _TEXT)

    def _boost(self, pairs: Sequence[Pair]) -> Trees:
        return boost(problem(self.table, pairs, ()), self.settings)

    def _is_desktop(self, pair: Pair) -> bool:
        rows = self.table.rows_of(pair.chosen)
        return bool(len(rows)) and is_of_desktop(rows)

    def _scale(self, aspect: str, trees: Trees) -> float:
        """The spread of the head's scores over its trajectories: what makes a score of 1 usual."""
        sides = {
            side.key: side
            for pair in self._pairs_of(aspect)
            for side in (pair.chosen, pair.rejected)
        }
        values = [
            trajectory_score(trees.score(self.table.rows_of(side))) for side in sides.values()
        ]
        return float(np.std(values)) or 1.0

    def _known_rows(self, without: Collection[str]) -> Known:
        """Return a sample of what the last steps outside these groups look like; a spoilt copy is
        nothing that a run looks like."""
        sides = [
            side
            for side in self.table.sides
            if side.group not in without and side.perturbed is None
        ]
        last = [self.table.rows_of(side)[-1] for side in sides if self.table.length(side)]
        return sample_rows(np.asarray(last))

    def _calibration(self, without: Collection[str]) -> dict[str, Calibration]:
        """Each outcome scored by a model that saw nothing of its group."""
        groups = [group for group in self.groups if group not in without]
        learnt = [one for one in self.outcomes if one.source in LEARNT]
        cases: dict[Level, list[ScoredOutcome]] = defaultdict(list)
        for left in folds(groups, self._folds):
            gone = {*without, *left}
            head = self._head("success", gone)
            seen = self._known_rows(gone)
            chosen = [one for one in learnt if one.trajectory.group in left]
            for one in self.score(head, seen, chosen):
                cases[one.outcome.level].append(one)
        made = {level: _calibrated(some) for level, some in cases.items()}
        return {level: one for level, one in made.items() if one is not None}

    def score(
        self, head: Trees, seen: Known, outcomes: Sequence[LabelledOutcome]
    ) -> list[ScoredOutcome]:
        """What a head says of outcomes of success."""
        found = []
        for one in outcomes:
            rows = self.table.rows_of(one.trajectory)
            if one.aspect == "success" and len(rows):
                score, novelty = trajectory_score(head.score(rows)), seen.distance(rows[-1])
                found.append(ScoredOutcome(one, score, novelty, kind_of(rows)))
        return found


def _is_of(pair: Pair, groups: Collection[str]) -> bool:
    return pair.chosen.group in groups or pair.rejected.group in groups


def _calibrated(cases: Sequence[ScoredOutcome]) -> Calibration | None:
    """Fit a calibration to outcomes and their scores; None where there are too few."""
    return calibrate(
        [case.score for case in cases],
        [case.outcome.success for case in cases],
        [case.novelty for case in cases],
        [case.kind for case in cases],
        [case.outcome.trajectory.group for case in cases],
        [collection_of(case.outcome.trajectory.group) for case in cases],
    )

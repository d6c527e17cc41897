"""Whether a model may be served: it is not worse than the one that is, on groups that it never saw;
and whether the one that is served has drifted from those who look at its answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from api.core.intervals import wilson
from api.stages.model.folder import Model
from api.stages.model.trajectory_score import trajectory_score
from detectors.model.json_value import JsonValue
from lab.training.measures import auroc, bootstrap
from lab.training.preferences import LabelledOutcome
from lab.training.training import Learner

HELD = 3
"""One group of so many, by its sha256, is held out: the same one whatever else comes."""
MARGIN = 0.05
"""By how much the area under the curve may be lower, at the lower end of its 95 % interval."""
MIN_GROUPS = 3
TRUTH = ("person", "env", "rule")
"""Whose outcomes decide, the first that a trajectory has: never a judge's, whom a model is taught
by."""


class GateResult(NamedTuple):
    """``low`` and ``high``: the 95 % interval of new − old, by groups drawn with replacement."""

    passed: bool
    why: str
    cases: int
    groups: int
    new: float | None
    old: float | None
    low: float | None
    high: float | None

    def facts(self) -> dict[str, JsonValue]:
        """Return it as JSON, for a line of the history."""
        return dict(self._asdict())


def is_held(group: str) -> bool:
    """Whether a group is never trained on, so that models can be compared on it."""
    return hashlib.sha256(group.encode()).digest()[0] % HELD == 0


def held_of(groups: Iterable[str]) -> list[str]:
    """The groups that are held out."""
    return [group for group in groups if is_held(group)]


def compare(
    learner: Learner, candidate: Model, served: Model | None, margin: float = MARGIN
) -> GateResult:
    """Compare two models on the outcomes of the groups that are held out; without a served one the
    candidate must be better than chance there."""
    chosen = _outcomes(learner.outcomes)
    groups = [one.trajectory.group for one in chosen]
    truth = np.asarray([one.success for one in chosen], bool)
    count, kinds = len(chosen), len(set(groups))
    if kinds < MIN_GROUPS or truth.all() or not truth.any():
        why = f"{count} cases of {kinds} groups held out, wanted {MIN_GROUPS} with both outcomes"
        return GateResult(False, why, count, kinds, None, None, None, None)
    new = _scores(learner, candidate, chosen)
    old = np.zeros(count) if served is None else _scores(learner, served, chosen)
    low, high = bootstrap(groups, lambda at: auroc(new[at], truth[at]) - auroc(old[at], truth[at]))
    passed = bool(low >= -margin)
    why = f"the lower end of the difference is {low:+.3f}, wanted {-margin:+.3f} or more"
    areas = auroc(new, truth), auroc(old, truth)
    return GateResult(passed, why, count, kinds, *areas, low, high)


def _outcomes(outcomes: Sequence[LabelledOutcome]) -> list[LabelledOutcome]:
    """One outcome of each trajectory in a group that is held out, by whom decides."""
    held = [
        one
        for one in outcomes
        if (one.level, one.aspect) == ("trajectory", "success") and is_held(one.trajectory.group)
    ]
    found: dict[str, LabelledOutcome] = {}
    for source in TRUTH:
        for one in held:
            if one.source == source:
                found.setdefault(one.trajectory.key, one)
    return list(found.values())


def _scores(
    learner: Learner, model: Model, outcomes: Sequence[LabelledOutcome]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the model's score of each outcome's trajectory, in their order."""
    rows = (learner.table.rows_of(one.trajectory) for one in outcomes)
    return np.asarray(
        [trajectory_score(model.heads["success"].score(some)) for some in rows], np.float64
    )


class Drift(NamedTuple):
    """Of ``answered`` audited answers ``wrong`` were not what judge or person said; ``low``: the
    lower end of the 95 % interval of their share."""

    answered: int
    wrong: int
    low: float
    alarm: bool

    def facts(self) -> dict[str, JsonValue]:
        """Return it as JSON, for a line of the history."""
        return dict(self._asdict())


def find_drift(answers: Iterable[tuple[float, float]], risk: float) -> Drift:
    """Compare the model's scores with those of who audited the same items, each from 0 to 1: an
    alarm where more were surely wrong than the stated ``risk``."""
    compared = [(model >= 0.5) == (audit >= 0.5) for model, audit in answers]
    answered, wrong = len(compared), compared.count(False)
    low = wilson(wrong / answered, answered)[0] if answered else 0.0
    return Drift(answered, wrong, low, alarm=low > risk)

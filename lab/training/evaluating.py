"""What a way of training is worth on groups that it never saw: nested, so that calibration has not
seen them either.

Every outcome of a group is scored by a model that was trained and calibrated on other groups alone.
Pairs are made anew from the outcomes: within a task, each success against each failure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from api.stages.model.calibration import CaseKind, gates
from api.stages.model.folder import Model
from detectors.model.json_value import JsonValue
from lab.training.matrices import folds
from lab.training.measures import Floats, Truth, auroc, bootstrap, coverage_at, curve, ece
from lab.training.preferences import Level
from lab.training.training import Learner


@dataclass(frozen=True, slots=True)
class Case:
    """One outcome of a left-out group, and what was said of it."""

    id: str
    group: str
    task: str
    success: bool
    score: float
    p: float
    steps: int
    answers: bool | None
    covered: bool
    """Whether the conformal set at the stated risk has the truth."""
    kind: CaseKind = CaseKind.PAGES


class Measured(NamedTuple):
    """Which outcomes are measured: those of trajectories or of steps, by whom."""

    source: str
    level: Level = "trajectory"


def cases_left_out(
    learner: Learner, risk: float, source: str = "env", outer: int = 8
) -> list[Case]:
    """Each trajectory's outcome by ``source``, said by a model that saw nothing of its group."""
    return levels_left_out(learner, risk, [Measured(source)], outer)[0]


def levels_left_out(
    learner: Learner, risk: float, measured: Sequence[Measured], outer: int = 8
) -> list[list[Case]]:
    """Of each of ``measured`` its outcomes, said by models that saw nothing of their groups. Raises
    ValueError where too few outcomes of trajectories are left to calibrate with."""
    cases: list[list[Case]] = [[] for _ in measured]
    for left_out in folds(learner.groups, outer):
        model = learner.model("left-out", {}, without=left_out)
        if "trajectory" not in model.calibration:
            raise ValueError(
                f"without {', '.join(left_out)[:200]} there are too few outcomes to calibrate with"
            )
        for one, found in zip(measured, cases, strict=True):
            found += cases_of(learner, model, left_out, risk, one)
    return cases


def cases_of(
    learner: Learner, model: Model, groups: Collection[str], risk: float, measured: Measured
) -> list[Case]:
    """What a model says of the outcomes of groups that it never saw; none of a level for which it
    was not calibrated."""
    calibration = model.calibration.get(measured.level)
    if calibration is None:
        return []
    gated = gates(calibration, risk)
    chosen = [
        one
        for one in learner.outcomes
        if (one.source, one.level, one.aspect) == (*measured, "success")
        and one.trajectory.group in groups
    ]
    cases = []
    for scored in learner.score(model.heads["success"], model.known, chosen):
        verdict = gated[scored.kind].judge(scored.score, scored.novelty)
        side, success = scored.outcome.trajectory, scored.outcome.success
        cases.append(
            Case(
                id=scored.outcome.id,
                group=side.group,
                task=side.task,
                success=success,
                score=scored.score,
                p=verdict.p,
                steps=learner.table.length(side),
                answers=verdict.answers,
                covered=success in verdict.possible,
                kind=scored.kind,
            )
        )
    return cases


def report(cases: Sequence[Case], risk: float) -> dict[str, JsonValue]:
    """All figures as JSON. Each is ``[value, low, high]`` with a 95 % interval by group where one
    is given."""
    truth = np.asarray([case.success for case in cases])
    return {
        "cases": len(cases),
        "successes": int(truth.sum()),
        "groups": len({case.group for case in cases}),
        "tasks": len({case.task for case in cases}),
        **_pair_figures(cases),
        **_ranking_figures(cases, truth),
        **_decision_figures(cases, truth, risk),
        **_risk_figures(cases, truth),
    }


def _pair_figures(cases: Sequence[Case]) -> dict[str, JsonValue]:
    """How often the model puts a success above a failure of its task, and how often its length
    alone would."""
    score = np.asarray([case.score for case in cases])
    length = _shortness(cases)
    pairs = _pairs(cases)
    owners = [cases[a].group for a, _ in pairs]
    won = np.asarray([_above(score, a, b) for a, b in pairs])
    by_length = np.asarray([_above(length, a, b) for a, b in pairs])
    alike = np.asarray([cases[a].steps == cases[b].steps for a, b in pairs], bool)
    return {
        "pairs": len(pairs),
        "pair_accuracy": _resample(owners, lambda at: float(won[at].mean()), len(pairs)),
        "pair_accuracy_length": _resample(
            owners, lambda at: float(by_length[at].mean()), len(pairs)
        ),
        "lift": _resample(owners, lambda at: float((won[at] - by_length[at]).mean()), len(pairs)),
        "pair_accuracy_same_length": float(won[alike].mean()) if alike.any() else None,
        "pair_accuracy_task_mean": _task_mean(won, [cases[a].task for a, _ in pairs]),
    }


def _ranking_figures(cases: Sequence[Case], truth: Truth) -> dict[str, JsonValue]:
    """Return how well the scores tell success from failure, beside what the length alone does."""
    score = np.asarray([case.score for case in cases])
    groups = [case.group for case in cases]
    return {
        "auroc": _resample(groups, lambda at: auroc(score[at], truth[at]), len(cases)),
        "auroc_length": auroc(_shortness(cases), truth),
        "auroc_task_mean": _auroc_task_mean(cases, score, truth),
    }


def _decision_figures(cases: Sequence[Case], truth: Truth, risk: float) -> dict[str, JsonValue]:
    """What the calibrated probabilities are worth, and the answers at the stated risk."""
    p = np.asarray([case.p for case in cases])
    answered = np.asarray([case.answers is not None for case in cases])
    right = np.asarray([case.answers == case.success for case in cases])
    called_success = np.asarray([case.answers is True for case in cases])
    called_failure = np.asarray([case.answers is False for case in cases])
    groups = [case.group for case in cases]
    return {
        "accuracy": float(((p >= 0.5) == truth).mean()),
        "ece": _resample(groups, lambda at: ece(p[at], truth[at]), len(cases)),
        "ece_15": ece(p, truth, 15),
        "conformal_coverage": float(np.mean([case.covered for case in cases])),
        "stated_risk": risk,
        "coverage": _resample(groups, lambda at: float(answered[at].mean()), len(cases)),
        "risk": _resample(groups, lambda at: _share(~right[at], answered[at]), len(cases)),
        "success_precision": _share(right, called_success),
        "failure_precision": _share(right, called_failure),
    }


def _risk_figures(cases: Sequence[Case], truth: Truth) -> dict[str, JsonValue]:
    """Coverage against risk, by confidence and, for comparison, by length."""
    p = np.asarray([case.p for case in cases])
    confidence, is_right = np.maximum(p, 1 - p), (p >= 0.5) == truth
    length = _shortness(cases)
    median = np.median(length)
    by_length = curve(np.abs(length - median), (length >= median) == truth)
    return {
        "coverage_at_risk_hindsight": {
            str(level): coverage_at(confidence, is_right, level) for level in (0.05, 0.1)
        },
        "aurc": float(curve(confidence, is_right)[1].mean()),
        "aurc_length": float(by_length[1].mean()),
    }


def _shortness(cases: Sequence[Case]) -> Floats:
    """The shorter the higher: what would be guessed of an episode by its length alone."""
    return -np.asarray([case.steps for case in cases], np.float64)


def coverage_curve(cases: Sequence[Case]) -> tuple[Floats, Floats]:
    """Coverage and risk of the cases by their calibrated confidence."""
    p = np.asarray([case.p for case in cases])
    truth = np.asarray([case.success for case in cases])
    return curve(np.maximum(p, 1 - p), (p >= 0.5) == truth)


def by_task(cases: Sequence[Case]) -> dict[str, tuple[int, float]]:
    """Of each task: how many pairs, and their accuracy."""
    score = np.asarray([case.score for case in cases])
    won: dict[str, list[float]] = defaultdict(list)
    for a, b in _pairs(cases):
        won[cases[a].task].append(_above(score, a, b))
    return {task: (len(values), float(np.mean(values))) for task, values in sorted(won.items())}


def _pairs(cases: Sequence[Case]) -> list[tuple[int, int]]:
    """Each success with each failure of its task, by their places in ``cases``."""
    successes: dict[str, list[int]] = defaultdict(list)
    failures: dict[str, list[int]] = defaultdict(list)
    for at, case in enumerate(cases):
        side = successes if case.success else failures
        side[case.task].append(at)
    pairs: list[tuple[int, int]] = []
    for task in sorted(successes):
        pairs += product(successes[task], failures[task])
    return pairs


def _above(values: Floats, a: int, b: int) -> float:
    """1 where ``values[a]`` is the higher one, 0.5 where both are the same, else 0."""
    return float(values[a] > values[b]) + 0.5 * float(values[a] == values[b])


def _resample(
    groups: Sequence[str], measure: Callable[[NDArray[np.intp]], float], count: int
) -> list[float]:
    """The measure of all, and its interval by resampling groups; NaN where there is nothing."""
    if not count:
        return [float("nan")] * 3
    return [measure(np.arange(count)), *bootstrap(groups, measure)]


def _share(of: Truth, among: Truth) -> float:
    return float(of[among].mean()) if among.any() else float("nan")


def _task_mean(won: Floats, tasks: Sequence[str]) -> float:
    """The mean over tasks of each task's mean; NaN for no task."""
    if not tasks:
        return float("nan")
    of_pair = np.asarray(tasks)
    return float(np.mean([won[of_pair == task].mean() for task in sorted(set(tasks))]))


def _auroc_task_mean(cases: Sequence[Case], score: Floats, truth: Truth) -> float:
    """Return the mean over tasks of the area under each task's curve; NaN where no task has both
    outcomes."""
    of_case = np.asarray([case.task for case in cases])
    tasks = sorted({case.task for case in cases})
    values = np.asarray([auroc(score[of_case == task], truth[of_case == task]) for task in tasks])
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")

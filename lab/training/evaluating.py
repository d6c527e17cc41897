"""What a way of training is worth on groups that it never saw: nested, so that calibration has not
seen them either.

Every outcome of a group is scored by a model that was trained and calibrated on other groups alone.
Pairs are made anew from the outcomes: within a task, each success against each failure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from api.stages.model.calibration import gate
from lab.training.matrices import folds
from lab.training.measures import Floats, Truth, auroc, bootstrap, coverage_at, curve, ece
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


def cases_left_out(
    learner: Learner, risk: float, source: str = "env", outer: int = 8
) -> list[Case]:
    """Each trajectory's outcome by ``source``, said by a model that saw nothing of its group."""
    wanted = [
        one
        for one in learner.outcomes
        if one.source == source and one.level == "trajectory" and one.aspect == "success"
    ]
    found: list[Case] = []
    for left in folds(learner.groups, outer):
        model = learner.model("left-out", {}, without=left)
        calibration = model.calibration.get("trajectory")
        if calibration is None:
            raise ValueError(
                f"without {', '.join(left)[:200]} there are too few outcomes to calibrate with"
            )
        door = gate(calibration, risk)
        chosen = [one for one in wanted if one.trajectory.group in left]
        for one in learner.score(model.heads["success"], model.known, chosen):
            said = door.judge(calibration, one.score, one.novelty)
            side, success = one.outcome.trajectory, one.outcome.success
            steps, covered = learner.table.length(side), success in said.possible
            ids = (one.outcome.id, side.group, side.task)
            found.append(Case(*ids, success, one.score, said.p, steps, said.answers, covered))
    return found


def report(cases: Sequence[Case], risk: float) -> dict[str, Any]:
    """All figures as JSON. Each is ``[value, low, high]`` with a 95 % interval by group where one
    is given."""
    truth = np.asarray([case.success for case in cases])
    score = np.asarray([case.score for case in cases])
    p = np.asarray([case.p for case in cases])
    length = -np.asarray([case.steps for case in cases], np.float64)
    answered = np.asarray([case.answers is not None for case in cases])
    right = np.asarray([case.answers == case.success for case in cases])
    groups = [case.group for case in cases]
    pairs = _pairs(cases)
    owners = [cases[a].group for a, _ in pairs]
    won = np.asarray([_above(score, a, b) for a, b in pairs])
    by_length = np.asarray([_above(length, a, b) for a, b in pairs])
    alike = np.asarray([cases[a].steps == cases[b].steps for a, b in pairs], bool)
    sure = np.maximum(p, 1 - p)
    said = (p >= 0.5) == truth
    return {
        "cases": len(cases),
        "successes": int(truth.sum()),
        "groups": len(set(groups)),
        "tasks": len({case.task for case in cases}),
        "pairs": len(pairs),
        "pair_accuracy": _resample(owners, lambda at: float(won[at].mean()), len(pairs)),
        "pair_accuracy_length": _resample(
            owners, lambda at: float(by_length[at].mean()), len(pairs)
        ),
        "lift": _resample(owners, lambda at: float((won[at] - by_length[at]).mean()), len(pairs)),
        "pair_accuracy_same_length": float(won[alike].mean()) if alike.any() else None,
        "pair_accuracy_task_mean": _task_mean(won, [cases[a].task for a, _ in pairs]),
        "auroc": _resample(groups, lambda at: auroc(score[at], truth[at]), len(cases)),
        "auroc_length": auroc(length, truth),
        "auroc_task_mean": _auroc_task_mean(cases, score, truth),
        "accuracy": float(said.mean()),
        "ece": _resample(groups, lambda at: ece(p[at], truth[at]), len(cases)),
        "ece_15": ece(p, truth, 15),
        "conformal_coverage": float(np.mean([case.covered for case in cases])),
        "stated_risk": risk,
        "coverage": _resample(groups, lambda at: float(answered[at].mean()), len(cases)),
        "risk": _resample(groups, lambda at: _share(~right[at], answered[at]), len(cases)),
        "success_precision": _share(
            right, answered & np.asarray([case.answers is True for case in cases])
        ),
        "failure_precision": _share(
            right, answered & np.asarray([case.answers is False for case in cases])
        ),
        "coverage_at_risk_hindsight": {
            str(level): coverage_at(sure, said, level) for level in (0.05, 0.1)
        },
        "aurc": float(curve(sure, said)[1].mean()),
        "aurc_length": float(
            curve(np.abs(length - np.median(length)), (length >= np.median(length)) == truth)[
                1
            ].mean()
        ),
    }


def coverage_curve(cases: Sequence[Case]) -> tuple[Floats, Floats]:
    """Coverage and risk of the cases by their calibrated confidence."""
    p = np.asarray([case.p for case in cases])
    truth = np.asarray([case.success for case in cases])
    return curve(np.maximum(p, 1 - p), (p >= 0.5) == truth)


def by_task(cases: Sequence[Case]) -> dict[str, tuple[int, float]]:
    """Of each task: how many pairs, and their accuracy."""
    score = np.asarray([case.score for case in cases])
    found: dict[str, list[float]] = defaultdict(list)
    for a, b in _pairs(cases):
        found[cases[a].task].append(_above(score, a, b))
    return {task: (len(values), float(np.mean(values))) for task, values in sorted(found.items())}


def _pairs(cases: Sequence[Case]) -> list[tuple[int, int]]:
    yes: dict[str, list[int]] = defaultdict(list)
    no: dict[str, list[int]] = defaultdict(list)
    for at, case in enumerate(cases):
        (yes if case.success else no)[case.task].append(at)
    return [(a, b) for task, some in sorted(yes.items()) for a in some for b in no[task]]


def _above(values: Floats, a: int, b: int) -> float:
    return float(values[a] > values[b]) + 0.5 * float(values[a] == values[b])


def _resample(groups: Sequence[str], measure: Any, count: int) -> list[float]:
    return [measure(np.arange(count)), *bootstrap(groups, measure)] if count else [float("nan")] * 3


def _share(of: Truth, among: Truth) -> float:
    return float(of[among].mean()) if among.any() else float("nan")


def _task_mean(won: Floats, tasks: Sequence[str]) -> float:
    named = np.asarray(tasks)
    return (
        float(np.mean([won[named == task].mean() for task in sorted(set(tasks))]))
        if tasks
        else float("nan")
    )


def _auroc_task_mean(cases: Sequence[Case], score: Floats, truth: Truth) -> float:
    tasks = np.asarray([case.task for case in cases])
    values = np.asarray(
        [auroc(score[tasks == task], truth[tasks == task]) for task in sorted(set(tasks.tolist()))]
    )
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")

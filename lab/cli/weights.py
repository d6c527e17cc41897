"""`milestoned weights`: what a task's components should weigh, by people's preferences."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from api.replay.recordings import RecordingError, replay
from api.tasks.task_files import BadTaskError, load_task_file
from common.command_line import new_app, option
from common.regular_file import NotRegularError
from detectors.task.ruleset import Ruleset, compile_task

if TYPE_CHECKING:
    from lab.evaluation.weights import FittedWeights
    from lab.training.preferences import Pair, Side

app = new_app("weights", "What a task's components should weigh.")
MIN_PAIRS = 20
"""Of fewer pairs the intervals say nothing."""


class ComparedPairs(NamedTuple):
    """Pairs whose rewards are known: the differences of their levels, by component; 1 for the
    first side, 0.5 for a tie; their groups; and how many were left out."""

    differences: list[list[float]]
    chosen: list[float]
    groups: list[str]
    unknown: int


@app.command
def fit(
    *preferences: Annotated[
        Path, option("lines of preferences, pref/1: docs/reward-model.md", "FILE")
    ],
    task: Annotated[Path, option("the task whose components are weighed", "TASK")],
) -> int:
    """Fit the weights to preferences by Bradley and Terry's model, with 95 % intervals.

    Gives 1 where the preferences don't say enough, 2 for a file that can't be read.
    """
    try:
        from lab.evaluation.weights import fit_weights
        from lab.training.preferences import PreferenceError, read_preferences
    except ImportError as error:
        wanted = "wanted an installation with the extra [rm]"
        print(f"{error.name}: not installed; {wanted}", file=sys.stderr)
        return 2
    try:
        rules = compile_task(load_task_file(task))
        pairs = [pair for pair in read_preferences(preferences).pairs if pair.level == "trajectory"]
        names = weighed_components(rules)
        compared = compare_pairs(pairs, rules, names)
    except (BadTaskError, PreferenceError, RecordingError, NotRegularError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    if len(compared.chosen) < MIN_PAIRS:
        known = f"{len(compared.chosen)} of {len(pairs)} pairs have rewards that are known"
        print(f"expected at least {MIN_PAIRS} pairs of trajectories, got: {known}", file=sys.stderr)
        return 1
    own = [rules.task.weights[name] for name in names]
    try:
        fitted = fit_weights(compared.differences, compared.chosen, compared.groups, own)
    except ValueError as error:
        print(f"expected pairs that differ, got: {error}", file=sys.stderr)
        return 1
    print("\n".join(_report(names, own, fitted, compared)))
    return 0


def weighed_components(rules: Ruleset) -> list[str]:
    """Return the components that milestones of the task pay, sorted."""
    task = rules.task
    beside = {*task.shaped, *task.objectives}
    earning = {m.component for m in task.milestones if m.penalty is None} - beside
    return sorted(name for name in earning if task.weights[name] > 0 and name not in task.credit)


def compare_pairs(pairs: Iterable[Pair], rules: Ruleset, names: list[str]) -> ComparedPairs:
    """Score both sides of each pair under the rules. Raises `RecordingError`, or OSError."""
    compared = ComparedPairs([], [], [], 0)
    unknown = 0
    for pair in pairs:
        chosen = _levels(pair.chosen, rules, names)
        rejected = _levels(pair.rejected, rules, names)
        if chosen is None or rejected is None:
            unknown += 1
            continue
        compared.differences.append([a - b for a, b in zip(chosen, rejected, strict=True)])
        compared.chosen.append(0.5 if pair.tie else 1.0)
        compared.groups.append(pair.chosen.group)
    return compared._replace(unknown=unknown)


def _levels(side: Side, rules: Ruleset, names: list[str]) -> list[float] | None:
    """How far each component was met at the end of a recording; None where a step of it is not
    known, or the side is none that was recorded."""
    if side.perturbed is not None:
        return None
    _, rewards = replay(side.recording, rules)
    if any(reward.reason is not None for reward in rewards):
        return None  # also of a step of which only a penalty is known
    weights, process = rules.task.weights, rules.task.process
    return [
        sum(reward.components[name] or 0.0 for reward in rewards) / (weights[name] * process)
        for name in names
    ]


def _report(
    names: list[str], own: list[float], fitted: FittedWeights, compared: ComparedPairs
) -> Iterator[str]:
    """Yield the lines of the table, and the line for the task file."""
    yield f"{'component':<12}{'own':>7}{'fitted':>9}   95 % interval"
    for n, name in enumerate(names):
        low, high = fitted.low[n], fitted.high[n]
        yield f"{name:<12}{own[n]:>7.3g}{fitted.weights[n]:>9.3f}   {low:.3f} to {high:.3f}"
    yield (
        f"{len(compared.chosen)} pairs, {compared.unknown} left out as not known; ordered as people"
        f" did: {fitted.agreement:.1%}, by the task's own weights {fitted.before:.1%}"
    )
    weights = ", ".join(f"{name}: {fitted.weights[n]:.3f}" for n, name in enumerate(names))
    yield f"weights: {{{weights}}}"

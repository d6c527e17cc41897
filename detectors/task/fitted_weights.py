"""Weights that fit the components which a task uses: `weights: fit`."""

from __future__ import annotations

from collections.abc import Mapping

from detectors.model.rewards import total
from detectors.task.language import Task
from detectors.task.value_types import DEFAULT_WEIGHTS

GOAL_SHARE = 0.5
"""What the goal is worth beside others: as much as all on the way to it."""
OTHER_WEIGHT = 0.2
"""The proportion of a component that has no default weight."""
DIGITS = 3


def fit_weights(task: Task) -> Mapping[str, float]:
    """Return weights of the components in which a milestone pays, 1 in all: half for the goal, and
    the rest in the proportions of the defaults. All others are 0."""
    used = sorted(
        {
            m.component
            for m in task.milestones
            if m.penalty is None and m.component not in task.objectives
        }
    )
    on_way = {name: DEFAULT_WEIGHTS.get(name, OTHER_WEIGHT) for name in used if name != "goal"}
    share = GOAL_SHARE if "goal" in used else 0.0
    if not on_way:
        return {**dict.fromkeys(DEFAULT_WEIGHTS, 0.0), "goal": 1.0}
    whole = total(on_way.values())
    weights = {name: round((1 - share) * weight / whole, DIGITS) for name, weight in on_way.items()}
    if share:
        weights["goal"] = share
    most = max(on_way, key=lambda name: on_way[name])
    others = total(weight for name, weight in weights.items() if name != most)
    weights[most] = round(1 - others, DIGITS)
    return {**dict.fromkeys(DEFAULT_WEIGHTS, 0.0), **weights}

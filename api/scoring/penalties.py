"""Penalties that were seen in steps whose reward is not known."""

from __future__ import annotations

from collections.abc import Sequence

from detectors.model.rewards import RewardJson, total
from detectors.task.ruleset import Ruleset


def seen_penalties(rules: Ruleset, steps: Sequence[RewardJson]) -> dict[str, float]:
    """What was penalised in steps that are not known, by component, each below 0.

    A penalty that rests on what did not happen is none of a step's milestones where a source was
    blind (the engine leaves it out), so that what stands there was seen. Together with the
    penalties of the known steps it is not below the task's floor.
    """
    names = {spec.id for spec in rules.task.milestones if spec.penalty is not None}
    found = [
        (step["reward"] is None, m)
        for step in steps
        for m in step["milestones"]
        if m["id"] in names
    ]
    left = min(
        0.0, total((rules.task.penalty_floor, *(-m["worth"] for masked, m in found if not masked)))
    )
    parts: dict[str, float] = {}
    for m in (m for masked, m in found if masked):
        worth = max(m["worth"], left)
        left = total((left, -worth))
        parts[m["component"]] = total((parts.get(m["component"], 0.0), worth))
    return {component: worth for component, worth in parts.items() if worth < 0}

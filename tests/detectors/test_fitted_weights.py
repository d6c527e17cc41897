"""`weights: fit`: 1 in all, whichever components a task uses, and the goal is worth the most."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.tasks.task_warnings import warnings_of
from detectors.model.rewards import total
from detectors.task.ruleset import compile_task
from detectors.task.task_json import TaskError, task_from_json, task_to_json
from detectors.task.value_types import COMPONENTS

CLICKED = {"element_clicked": {"name": "Send"}}


def spec(*components: str, weights: object = "fit", **more: Any) -> dict[str, Any]:
    milestones: list[dict[str, Any]] = [
        {"id": f"m{n}", "component": name, "when": CLICKED} for n, name in enumerate(components)
    ]
    text = {"id": "t", "version": "1", "instruction": "Do it.", "origin": "http://shop.test"}
    return {**text, "weights": weights, "milestones": milestones, **more}


FITTED = [
    (("goal",), {"goal": 1.0}),
    (("nav",), {"nav": 1.0}),
    (("nav", "goal"), {"nav": 0.5, "goal": 0.5}),
    (("nav", "form", "goal"), {"nav": 0.167, "form": 0.333, "goal": 0.5}),
    (("nav", "form", "file", "goal"), {"nav": 0.083, "form": 0.167, "file": 0.25, "goal": 0.5}),
    (("nav", "ui"), {"nav": 0.333, "ui": 0.667}),
    (("answer", "goal"), {"answer": 0.5, "goal": 0.5}),
    (("nav", "nav", "goal"), {"nav": 0.5, "goal": 0.5}),
]


@pytest.mark.parametrize(("components", "weights"), FITTED, ids=str)
def test_the_weights_fit_the_components(
    components: tuple[str, ...], weights: dict[str, float]
) -> None:
    task = task_from_json(spec(*components))
    assert {name: weight for name, weight in task.weights.items() if weight} == weights


@given(st.lists(st.sampled_from(COMPONENTS), min_size=1, max_size=8))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_they_sum_to_one_and_give_no_warning(components: list[str]) -> None:
    """As numbers in the stored task, which is the same task again."""
    task = task_from_json(spec(*components))
    assert total(task.weights.values()) == 1.0
    assert all(weight >= 0 for weight in task.weights.values())
    warnings = [one for one in warnings_of(compile_task(task)) if one.startswith("weights")]
    assert warnings == []
    stored = task_to_json(task)
    assert isinstance(stored["weights"], dict)
    assert compile_task(task_from_json(stored)).digest == compile_task(task).digest


def test_what_pays_nothing_takes_no_weight() -> None:
    """A penalty, and a milestone of an objective."""
    fined = {"id": "fined", "component": "file", "penalty": 0.1, "when": CLICKED}
    fast = {"id": "fast", "component": "speed", "when": CLICKED}
    one = spec("nav", "goal", objectives={"speed": 1.0})
    one["milestones"] += [fined, fast]
    task = task_from_json(one)
    assert {name for name, weight in task.weights.items() if weight} == {"nav", "goal"}


def test_unset_is_as_before_and_another_word_is_refused() -> None:
    unset = spec("nav", "goal")
    del unset["weights"]
    assert task_from_json(unset).weights["file"] == 0.3
    (warning,) = (one for one in warnings_of(compile_task(task_from_json(unset))) if "sum" in one)
    assert warning.endswith("; or `weights: fit`")
    with pytest.raises(TaskError, match="weights: got 'equal', wanted fit, or an object"):
        task_from_json(spec("nav", "goal", weights="equal"))

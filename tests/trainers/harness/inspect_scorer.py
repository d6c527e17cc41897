"""Inspect's own evaluation of what a solver left behind, scored by the service."""

from __future__ import annotations

import os
import sys
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver
from milestoned_client.adapters.inspect_ai import milestoned

from tests.trainers.harness.say import say


@solver
def says(*texts: str, episode: str | None = None) -> Solver:
    """As a solver does that drove a browser under an episode. It asks no model: counting a call's
    tokens would fetch a table from elsewhere."""
    left = iter(texts)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if episode is not None:
            state.store.set("episode_id", episode)
        state.output = ModelOutput.from_content("none/none", next(left))
        return state

    return solve


def evaluated(samples: list[Sample], solves: Solver, **given: Any) -> dict[str, Any]:
    """The log's own words of an evaluation, a sample after the other."""
    task = Task(dataset=samples, solver=solves, scorer=milestoned(**given))
    (log,) = eval(
        task, model=None, display="none", max_samples=1, log_dir=os.environ["INSPECT_LOG_DIR"]
    )
    metrics = {}
    for one in log.results.scores if log.results else []:
        metrics = {name: metric.value for name, metric in one.metrics.items()}
    scores = [(one.scores or {}).get("milestoned") for one in log.samples or []]
    return {
        "status": log.status,
        "error": log.error.message if log.error else None,
        "metrics": metrics,
        "scores": [
            None if one is None else {"unscored": one.value != one.value, **one.model_dump()}
            for one in scores
        ],
    }


def quiz(many: int) -> list[Sample]:
    return [
        Sample(input="What?", id=n, metadata={"task_id": "quiz/answer"}) for n in range(1, many + 1)
    ]


def main(good: str, lost: str) -> dict[str, Any]:
    unseen = Sample(input="Buy.", id=lost)
    return {
        "answers": evaluated(quiz(4), says("42", "41", "42", "42")),
        "episode": evaluated([Sample(input="Buy.", id="shop/cart")], says("done", episode=good)),
        "lost": evaluated([*quiz(1), unseen], says("42", "done")),
        "paid": evaluated([unseen], says("done"), fallback=-0.25),
        "unknown": evaluated([Sample(input="Buy.", id="no/such")], says("done")),
    }


if __name__ == "__main__":
    say(result=main(*sys.argv[1:]))

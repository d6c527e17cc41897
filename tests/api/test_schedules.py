"""Schedules: numbers of a task that change with a label, evaluated once when an episode opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from api.cli.main import main
from api.tasks.task_warnings import warnings_over_schedules
from detectors.model.errors import SpecError
from detectors.task.ruleset import compile_task
from detectors.task.schedules import evaluate, knots, scheduled_label
from detectors.task.task_json import TaskError, at_label, task_from_json, task_to_json
from tests.api.service import Service
from tests.support.logs import episode, went

POINTS = ((0.0, 1.0), (10.0, 0.5), (20.0, 0.0))
VALUES = {-5: 1.0, 0: 1.0, 5: 0.75, 10: 0.5, 15: 0.25, 20: 0.0, 99: 0.0}
TASK: dict[str, Any] = {
    "id": "shop/scheduled",
    "version": "1",
    "instruction": "Order.",
    "origin": "http://shop.test",
    "weights": {"nav": 0.6, "goal": 0.4},
    "limits": {"steps": 50},
    "outcome": {"alpha": 0.5},
    "schedules": {
        "label": "train_step",
        "points": {
            "weights.nav": [[0, 0.6], [1000, 0.1]],
            "weights.goal": [[0, 0.4], [1000, 0.9]],
            "limits.steps": [[0, 50], [1000, 21]],
            "milestones.help.penalty": [[0, 0.1], [1000, 0.3]],
        },
    },
    "milestones": [
        {"id": "cart", "when": {"url_reached": {"url": "/cart"}}, "component": "nav"},
        {"id": "order", "when": {"goal": {"requires": ["cart"]}}},
        {"id": "help", "when": {"url_reached": {"url": "/help"}}, "penalty": 0.1},
    ],
}


def changed(**schedules: Any) -> dict[str, Any]:
    """The task with other schedules."""
    return {**TASK, "schedules": {**TASK["schedules"], **schedules}}


@pytest.mark.parametrize("at", VALUES)
def test_a_schedule_is_linear_between_its_points_and_constant_outside(at: int) -> None:
    assert evaluate(POINTS, at) == VALUES[at]


def test_a_task_at_a_label_is_a_version_of_its_own_that_can_be_read_again() -> None:
    task = task_from_json(TASK)
    assert knots(task) == [0.0, 1000.0]
    at = at_label(task, 500)
    assert at.version == "1+train_step=500"
    assert (at.weights["nav"], at.weights["goal"]) == (0.35, 0.65)
    assert at.limits is not None
    assert at.limits.steps == 36  # 35.5, rounded to the even one
    assert at.milestones[2].penalty == 0.2
    assert task_from_json(task_to_json(at)) == at
    assert task_from_json(task_to_json(task)) == task
    digests = [compile_task(at_label(task, x)).digest for x in (0, 500, 500.0, 1000, 5000)]
    assert len(set(digests)) == 3, "5000 is as 1000, and each other label is a ruleset of its own"
    assert compile_task(task).digest not in digests


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no such place": (
        {"points": {"weights.file": [[0, 1], [1, 2]]}},
        "schedules.points.weights.file",
    ),
    "no such milestone": (
        {"points": {"milestones.x.weight": [[0, 1], [1, 2]]}},
        "schedules.points.milestones.x.weight",
    ),
    "labels that fall": ({"points": {"weights.nav": [[1, 1], [0, 2]]}}, "the labels rising"),
    "one point": ({"points": {"weights.nav": [[1, 1]]}}, "a list of 2 to 32 points"),
    "no label": ({"label": ""}, "schedules.label"),
    "a text as default": ({"default": "soon"}, "schedules.default"),
    "out of bounds at the last point": (
        {"points": {"outcome.alpha": [[0, 0.5], [7, 1.5]]}},
        "at train_step 7",
    ),
    "out of bounds between": (
        {"points": {"limits.steps": [[0, 5], [5, -1], [9, 5]]}},
        "at train_step 5",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_at_any_point_is_refused_with_its_place(case: str) -> None:
    schedules, expected = REFUSED[case]
    with pytest.raises(TaskError) as refused:
        task_from_json(changed(**schedules))
    assert expected in str(refused.value)


LABELS: dict[str, tuple[dict[str, Any], float | None, float | None]] = {
    "given": ({"train_step": 7}, None, 7.0),
    "given beside a default": ({"train_step": 7}, 3, 7.0),
    "missing with a default": ({}, 3, 3.0),
    "missing": ({}, None, None),
    "a text": ({"train_step": "7"}, 3, None),
    "true": ({"train_step": True}, None, None),
}


@pytest.mark.parametrize("case", LABELS)
def test_the_label_is_a_number_or_the_default(case: str) -> None:
    labels, default, expected = LABELS[case]
    task = task_from_json(changed(default=default) if default is not None else TASK)
    if expected is not None:
        assert scheduled_label(task, labels) == expected
        return
    with pytest.raises(SpecError) as refused:
        scheduled_label(task, labels)
    assert "labels.train_step" in str(refused.value)
    assert "a number: the schedules of shop/scheduled version 1 go by it" in str(refused.value)


def test_an_author_s_version_is_not_named_as_one_at_a_label() -> None:
    with pytest.raises(TaskError) as refused:
        task_from_json({**TASK, "version": "1+train_step=5"})
    assert "version: got '1+train_step=5', wanted a version without +" in str(refused.value)


def test_the_division_of_pay_is_checked_at_every_point() -> None:
    points = {"weights.nav": [[0, 0.6], [400, 0.9], [1000, 0.6]]}
    warned = list(warnings_over_schedules(compile_task(task_from_json(changed(points=points)))))
    assert any(
        one.startswith("at train_step 400: weights:") and "sum to 1.3" in one for one in warned
    )


def test_check_and_replay_take_a_label(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(yaml.safe_dump(TASK))
    assert main(["task", "check", str(file), "--set", "schedules.at=500"]) == 0
    assert "version 1+train_step=500" in capsys.readouterr().out
    assert main(["task", "check", str(file), "--set", "schedules.at=soon"]) == 1
    assert "schedules.at" in capsys.readouterr().err


async def test_an_episode_is_paid_by_what_held_when_it_opened(service: Service) -> None:
    assert (await service.post("/v1/tasks", TASK)).status_code == 201
    asked = {"task": TASK["id"], "labels": {"train_step": 500}}
    opened = (await service.post("/v1/episodes", asked)).json()
    id = opened["episode"]
    await service.tell(id, opened["token"], *episode([went("/cart")]))
    row = (await service.get(f"/v1/episodes/{id}")).json()
    assert row["version"] == "1+train_step=500"
    reward = (await service.reward(id, 0)).json()
    assert reward["components"]["nav"] == 0.35 * 0.5
    assert reward["digest"] == compile_task(at_label(task_from_json(TASK), 500)).digest
    refused = await service.post("/v1/episodes", {"task": TASK["id"]})
    assert refused.status_code == 422
    assert "labels.train_step" in refused.json()["detail"]
    later = await service.post("/v1/episodes", {"task": TASK["id"], "labels": {"train_step": 0}})
    assert later.json()["version"] == "1+train_step=0", "the latest version is the author's"
    listed = (await service.get("/v1/tasks")).json()["tasks"]
    assert [one["version"] for one in listed] == ["1"]

"""Schedules: numbers of a task that change with a numeric label, such as `train_step` (pure).

A schedule is piecewise linear between its points and constant outside them. When an episode opens
with the label, the task becomes one with plain numbers: a version of its own, which its digest and
everything that reads it later know. docs/tasks.md, "Schedules".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from detectors.model.errors import SpecError
from detectors.model.json_value import is_number
from detectors.model.types import Json
from detectors.model.validation import TaskReader
from detectors.task.language import Task
from detectors.task.value_types import Points

MAX_KNOTS = 64
"""Labels at which a task is checked: those of all points together."""
_PLACES = {
    "outcome": ("alpha", "success", "failure"),
    "limits": ("steps", "seconds"),
    "efficiency": ("weight",),
}
_OF_MILESTONE = ("weight", "penalty")
PLACES = (
    "weights.COMPONENT, penalty_floor, outcome.alpha, outcome.success, outcome.failure,"
    " limits.steps, limits.seconds, efficiency.weight, milestones.ID.weight or"
    " milestones.ID.penalty, where the task has a number"
)


def evaluate(points: Points, at: float) -> float:
    """Return the value of a schedule, to 12 digits: linear between its points, constant outside."""
    if at <= points[0][0]:
        return points[0][1]
    for (left, low), (right, high) in pairwise(points):
        if at <= right:
            return round(low + (high - low) * ((at - left) / (right - left)), 12)
    return points[-1][1]


def knots(task: Task) -> list[float]:
    """Return the labels of all points, in order; none where the task has no schedules."""
    if task.schedules is None:
        return []
    return sorted({x for points in task.schedules.points.values() for x, _ in points})


def scheduled_label(task: Task, labels: Mapping[str, Any]) -> float:
    """Return the number that the label of the schedules has, or their default.

    Raises `SpecError` where there is neither, or it is no number.
    """
    assert task.schedules is not None, "of a task with schedules"
    name, default = task.schedules.label, task.schedules.default
    value = labels.get(name, default)
    if not is_number(value):
        expected = f"a number: the schedules of {task.id} version {task.version} go by it"
        raise SpecError(("labels", name), value, expected)
    return float(value)


def scheduled_document(task: Task, document: Mapping[str, Json], at: float) -> dict[str, Json]:
    """Return a task's canonical JSON with the numbers that its schedules have at ``at``.

    Labels outside the points are those of the first or the last: they are one version.
    """
    assert task.schedules is not None, "of a task with schedules"
    ends = knots(task)
    at = min(max(at, ends[0]), ends[-1])
    changed: dict[str, Any] = dict(document)
    for place, points in task.schedules.points.items():
        value = evaluate(points, at)
        head, _, rest = place.partition(".")
        if head == "milestones":
            id, _, key = rest.rpartition(".")
            changed[head] = [
                {**one, key: value} if one["id"] == id else one for one in changed[head]
            ]
        elif rest:
            is_whole = place == "limits.steps"
            changed[head] = {**changed[head], rest: round(value) if is_whole else value}
        else:
            changed[head] = value
    changed["schedules"] = {**changed["schedules"], "at": at}
    changed["version"] = f"{task.version}+{task.schedules.label}={at:.12g}"
    return changed


def check_places(reader: TaskReader, task: Task) -> bool:
    """Note what schedules may not be of; return whether all is right."""
    is_evaluated = task.schedules is not None and task.schedules.at is not None
    if not is_evaluated and "=" in task.version.partition("+")[2]:
        expected = "a version without + and then =, as a task at a label of its schedules has it"
        reader.note_new(("version",), task.version, expected)
    if task.schedules is None:
        return True
    problems = list(_wrong_places(task))
    if len(knots(task)) > MAX_KNOTS:
        expected = f"at most {MAX_KNOTS} different labels in all points"
        problems.append(SpecError(("schedules", "points"), len(knots(task)), expected))
    for problem in problems:
        reader.note(problem.path, problem.value, problem.wanted)
    return not problems


def _wrong_places(task: Task) -> Iterator[SpecError]:
    assert task.schedules is not None, "asked of a task with schedules"
    for place in task.schedules.points:
        if not _has_number(task, place):
            yield SpecError(("schedules", "points", place), place, PLACES)


def _has_number(task: Task, place: str) -> bool:
    head, _, rest = place.partition(".")
    if head == "weights":
        return rest in {m.component for m in task.milestones}
    if head == "milestones":
        id, _, key = rest.rpartition(".")
        found = [m for m in task.milestones if m.id == id and key in _OF_MILESTONE]
        return bool(found) and getattr(found[0], key) is not None
    if head in _PLACES:
        part = getattr(task, head)
        return rest in _PLACES[head] and part is not None and getattr(part, rest) is not None
    return place == "penalty_floor"


def knots_to_check(task: Task) -> Sequence[float]:
    """Return the labels at which a task is to be checked: none of one that has its numbers."""
    return knots(task) if task.schedules is not None and task.schedules.at is None else ()

"""A task's one JSON form: what YAML is read into, what the service stores and the digest is taken
of.

language.py declares it. `task_from_json` checks everything that can be known without running:
names, types, arguments of rules, references between milestones. It collects all problems before it
raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from detectors.model.errors import DetectorError, SpecError
from detectors.model.json_value import object_or_empty
from detectors.model.types import Json
from detectors.model.validation import TaskReader, is_text
from detectors.task.episode_terms import check_endings, complete_shaping
from detectors.task.escalation import check_escalation, check_judged, complete_escalation
from detectors.task.fitted_weights import fit_weights
from detectors.task.language import TASK, Task
from detectors.task.milestones import check_milestones, check_objectives, default_component
from detectors.task.probes import check_probes
from detectors.task.schedules import check_places, knots_to_check, scheduled_document
from detectors.task.task_versions import convert_task
from detectors.task.tools_preset import expand
from detectors.task.value_types import FIT


class TaskError(DetectorError):
    """A task is refused; ``problems`` lists every `SpecError` that was found."""

    def __init__(self, problems: list[SpecError]) -> None:
        self.problems = problems
        super().__init__("; ".join(map(str, problems)))


def task_from_json(spec: Json, *, stored: bool = False) -> Task:
    """The `Task` that ``spec`` says. Raises `TaskError` with every problem that it has.

    ``stored``: the task was taken before; what only newer builds refuse is let be, and old names of
    kinds and fields are read as the new ones.
    """
    spec = convert_task(spec) if stored else spec
    origin = object_or_empty(spec).get("origin")
    reader = TaskReader(stored=stored, origin=origin if is_text(origin) else None)
    if isinstance(spec, Mapping) and "tools" in spec:
        spec = expand(reader, spec)
    with reader.noting():
        task = _complete(reader, TASK.read(reader, spec, ()), spec)
        _check(reader, task, spec)
    if reader.problems:
        raise TaskError(reader.problems)
    return task


def task_to_json(task: Task) -> dict[str, Json]:
    """The canonical JSON of a task, with every default written out; `task_from_json` gives the task
    again."""
    return TASK.write(task)


def _complete(reader: TaskReader, task: Task, spec: Mapping[str, Json]) -> Task:
    """The task with the defaults that follow from its other keys."""
    milestones = tuple(
        m if m.component else replace(m, component=default_component(m.when))
        for m in task.milestones
    )
    task = replace(task, milestones=milestones)
    if spec.get("weights") == FIT:
        task = replace(task, weights=fit_weights(task))
    if isinstance(spec.get("credit"), Mapping):
        reader.note_unknown(spec["credit"], tuple(task.weights), ("credit",))
    levels = {name: how for name, how in task.credit.items() if how == "level"}
    return replace(
        task,
        credit={name: how for name, how in levels.items() if name in task.weights},
        escalation=complete_escalation(task.escalation, milestones, spec.get("escalation")),
        shaping=complete_shaping(task.shaping, milestones, task.objectives),
    )


def _check(reader: TaskReader, task: Task, spec: Mapping[str, Json]) -> None:
    """Note what the keys of a task may not say together."""
    given = spec.get("milestones")
    if isinstance(given, list) and len(given) == len(task.milestones):
        check_milestones(reader, task)
        check_objectives(reader, task)
        check_endings(reader, task, spec)
        check_judged(reader, task)
        check_escalation(reader, task, spec.get("escalation") or {})
    check_probes(reader, task)
    if not reader.problems and check_places(reader, task):
        _check_knots(reader, task)


def at_label(task: Task, at: float) -> Task:
    """Return a task with the numbers that its schedules have at the label ``at``, as a version of
    its own. Raises `TaskError`."""
    return task_from_json(scheduled_document(task, task_to_json(task), at))


def _check_knots(reader: TaskReader, task: Task) -> None:
    """Note what a task may not say at a knot of its schedules: between two, every number lies
    between what it is there."""
    for at in knots_to_check(task):
        try:
            at_label(task, at)
        except TaskError as error:
            assert task.schedules is not None, "it has knots"
            for one in error.problems:
                expected = f"{one.wanted}, at {task.schedules.label} {at:.12g}"
                reader.note(one.path, one.value, expected)

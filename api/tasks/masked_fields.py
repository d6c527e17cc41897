"""Fields whose values a daemon masks by their names: what a task asks of them is never known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from common.secret_names import is_telling
from detectors.model.json_value import object_or_empty
from detectors.model.types import Condition, Json
from detectors.task.guards import leaves
from detectors.task.language import Task

_BY_NAME = {"request_accepted": ("body", "answer"), "form_submitted": ("fields",)}
"""Arguments, of each rule, that are fields by their names."""
_AS_FACTS = {
    "request_answered": ("body", "answer", "cookies", "sent_cookies"),
    "state_accepted": ("facts",),
}
"""Arguments that are lists of facts."""
_STEPS = re.compile(r"[^.\[\]'\"$]+")
_COMPARES_NOTHING: tuple[Json, ...] = (None, True, False, {"glob": "*"})


def warn_of_masked(task: Task) -> Iterator[str]:
    """Yield a warning for each field that a condition compares and that is masked by its name."""
    for n, field in dict.fromkeys(
        (n, field) for n, leaf, _ in leaves(task) for field in _fields(leaf)
    ):
        yield (
            f"milestones[{n}]: {task.milestones[n].id} compares {field}, whose value is masked as a"
            " secret, so that a step that hangs on it is null; leave it out, or take any value of"
            " it: {glob: '*'}"
        )


def _fields(leaf: Condition) -> Iterator[str]:
    """Yield the fields that a condition compares and that are masked by their names."""
    for name, wanted in _compared(leaf):
        steps = [step for step in _STEPS.findall(name) if not step.isdecimal() and step != "*"]
        if steps and is_telling(steps[-1]) and wanted not in _COMPARES_NOTHING:
            yield name


def _compared(leaf: Condition) -> Iterator[tuple[str, Json]]:
    """Yield names, or paths, of the fields that a condition asks for, and what each must be."""
    for part in _BY_NAME.get(leaf.rule, ()):
        yield from _mapping(leaf.args.get(part)).items()
    for part in _AS_FACTS.get(leaf.rule, ()):
        for fact in _objects(leaf.args.get(part)):
            place = fact.get("name") or fact.get("json") or fact.get("path")
            yield str(place or ""), _get_expected(fact)


def _get_expected(fact: Mapping[str, Json]) -> Json:
    """Return what a fact compares with; null where it asks for the place alone."""
    return next((fact[key] for key in ("is", "value", "all", "none") if key in fact), None)


def _mapping(value: Json) -> Mapping[str, Json]:
    return object_or_empty(value)


def _objects(value: Json) -> Iterator[Mapping[str, Json]]:
    """Yield the objects in a list; nothing for anything else."""
    if isinstance(value, list | tuple):
        yield from (item for item in value if isinstance(item, Mapping))

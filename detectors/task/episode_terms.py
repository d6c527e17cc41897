"""What a task may not say of the whole episode: the worth of the end, a bonus for few steps,
shaping."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from detectors.model.types import Json
from detectors.model.validation import TaskReader
from detectors.sdk.window import MAX_STEPS
from detectors.task.language import MilestoneSpec, Shaping, Task


def complete_shaping(
    shaping: Shaping | None,
    milestones: Collection[MilestoneSpec],
    objectives: Collection[str],
) -> Shaping | None:
    """The shaping with its components sorted; by default those of all milestones, without the
    goal's and ``objectives``."""
    if shaping is None:
        return None
    goals = {m.component for m in milestones if m.when.rule == "goal"}
    named = shaping.potential or _paying(milestones, objectives) - goals
    return replace(shaping, potential=tuple(sorted(set(named))))


def check_endings(reader: TaskReader, task: Task, spec: Mapping[str, Json]) -> None:
    """Note what outcome, efficiency and shaping may not say together with the milestones."""
    has_goal = any(m.when.rule == "goal" for m in task.milestones)
    for key, part in (("outcome", task.outcome), ("efficiency", task.efficiency)):
        if part is not None and not has_goal:
            expected = "a milestone with a goal beside it: it says what success is"
            reader.note((key,), spec[key], expected)
    outcome, efficiency = task.outcome, task.efficiency
    if outcome is not None and outcome.failure > outcome.success:
        reader.note(("outcome", "failure"), outcome.failure, "a number up to success")
    if efficiency is not None and efficiency.worst <= efficiency.best:
        expected = f"a whole number above best, up to {MAX_STEPS}"
        reader.note(("efficiency", "worst"), efficiency.worst, expected)
    if task.shaping is not None:
        _check_shaping(reader, task, task.shaping.potential)


def _check_shaping(reader: TaskReader, task: Task, named: tuple[str, ...]) -> None:
    """Refuse components that have no milestones, and what the end decides."""
    paying = _paying(task.milestones, task.objectives)
    if not named or not paying.issuperset(named):
        expected = f"a list of components with milestones; there are {', '.join(sorted(paying))}"
        reader.note(("shaping", "potential"), list(named), expected)
        return
    for n, m in enumerate(task.milestones):
        if m.component in named and (m.must_hold_at_end or m.when.rule == "goal"):
            expected = (
                f"another component than {m.component}: what the end decides has no potential"
            )
            reader.note(("milestones", n, "component"), m.component, expected)
    for name in sorted(set(named) & set(task.credit)):
        expected = "a component that is credited by progress, not by level"
        reader.note(("shaping", "potential"), name, expected)


def _paying(milestones: Iterable[MilestoneSpec], objectives: Collection[str]) -> set[str]:
    """The components with a milestone that is no penalty, without the ``objectives``."""
    return {m.component for m in milestones if m.penalty is None}.difference(objectives)

"""What milestones may not say together though each of their keys is right: names of none, circles,
combinations that could never pay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from detectors.model.types import Condition
from detectors.model.validation import Path, TaskReader
from detectors.sdk.registry import Rule, rules
from detectors.sdk.tier_rules import is_judged
from detectors.task.language import MilestoneSpec, Task
from detectors.task.semantics import ONE_THING, is_positive, is_single
from detectors.task.value_types import COMPONENTS, MAX_OBJECTIVES, is_objective_name

MAX_CHAIN = 64
MAX_NAMED = 50
"""Names that a message lists."""
_NESTED_NONE_OF = "something that happens, beside what must not: put none_of inside all_of"


def default_component(when: Condition) -> str:
    """The rule's own component; of a composite, that of its first part; a goal's is goal."""
    rule = rules()[when.rule]
    if isinstance(rule, Rule):
        return rule.component
    return default_component(when.of[0]) if when.of and when.rule != "goal" else "goal"


def check_milestones(read: TaskReader, task: Task) -> None:
    """Note what is wrong with the milestones of a task, each by itself and together."""
    for n, milestone in enumerate(task.milestones):
        path: Path = ("milestones", n)
        _check_component(read, task, milestone, path)
        _check_milestone(read, milestone, path, task.credit)
    _check_references(read, task.milestones)
    _check_circles(read, task.milestones)


def check_objectives(read: TaskReader, task: Task) -> None:
    """Note objectives of names that there can't be, or to which no milestone belongs."""
    if len(task.objectives) > MAX_OBJECTIVES:
        read.note(("objectives",), len(task.objectives), f"at most {MAX_OBJECTIVES} of them")
    used = {milestone.component for milestone in task.milestones}
    for name in task.objectives:
        if not is_objective_name(name):
            expected = (
                "a name of lower case letters, digits and _, at most 32, that is no component's"
            )
            read.note(("objectives", name), name, expected)
        elif name not in used:
            expected = f"a milestone with component: {name}"
            read.note(("objectives", name), task.objectives[name], expected)


def _check_component(read: TaskReader, task: Task, m: MilestoneSpec, path: Path) -> None:
    """Refuse a component that is neither weighed nor an objective, and in an objective what no
    reading of events decides."""
    if m.component in task.objectives:
        if m.penalty is not None:
            expected = "no penalty in an objective, which takes nothing from the reward"
            read.note((*path, "penalty"), m.penalty, expected)
        if is_judged(rules()[m.when.rule]):
            expected = f"a condition that events decide, in the objective {m.component}"
            read.note((*path, "when"), m.when.rule, expected)
    elif m.component not in task.weights:
        expected = f"a weight for it: give weights.{m.component}"
        if m.component not in COMPONENTS:
            expected = f"one of {', '.join(COMPONENTS)}, or objectives.{m.component}"
        read.note((*path, "component"), m.component, expected)


def required_milestones(milestone: MilestoneSpec) -> tuple[str, ...]:
    """The milestones that a goal requires."""
    when = milestone.when
    return tuple(when.args.get("requires", ())) if when.rule == "goal" else ()


def _check_milestone(
    read: TaskReader, m: MilestoneSpec, path: Path, credit: Mapping[str, str]
) -> None:
    """Refuse combinations that could never pay, or pay for nothing."""
    if not is_positive(m.when):
        read.note((*path, "when"), m.when.rule, _NESTED_NONE_OF)
    if m.repeat > 1 and m.penalty is None:
        _check_repeat(read, m, path, credit)
    if m.since is not None and m.within is None:
        read.note((*path, "since"), m.since, "within: {steps: …} or {seconds: …} beside it")
    if m.penalty is not None and (m.must_hold_at_end or m.revoke_on):
        read.note((*path, "penalty"), m.penalty, "a penalty without must_hold_at_end and revoke_on")
    if m.must_hold_at_end and m.component in credit:
        expected = f"progress credit: {m.component} is credited by level, at each step"
        read.note((*path, "must_hold_at_end"), True, expected)


def _check_repeat(
    read: TaskReader, m: MilestoneSpec, path: Path, credit: Mapping[str, str]
) -> None:
    """Refuse a milestone that may be reached several times, where those can't be counted."""
    is_leaf = isinstance(rules()[m.when.rule], Rule)
    if not is_leaf or m.must_hold_at_end or m.component in credit:
        expected = "1, or a single rule that is credited by progress and need not hold at the end"
        read.note((*path, "repeat"), m.repeat, expected)
    elif is_single(m.when, read.origin):
        expected = f"1, or `distinct` in {m.when.rule}: {ONE_THING}"
        read.note_new((*path, "repeat"), m.repeat, expected)


def _check_references(read: TaskReader, milestones: Sequence[MilestoneSpec]) -> None:
    """Refuse ids that two milestones have, and names of milestones that there are not."""
    ids = [m.id for m in milestones if m.id]
    known, before = frozenset(ids), set[str]()
    listed = ", ".join(ids[:MAX_NAMED]) + (", …" if len(ids) > MAX_NAMED else "")
    for n, m in enumerate(milestones):
        path: Path = ("milestones", n)
        if m.id and m.id in before:
            read.note((*path, "id"), m.id, "an id that no other milestone of the task has")
        before.add(m.id)
        for key, name in _references(m):
            if name not in known or name == m.id:
                read.note((*path, key), name, f"another milestone's id; there are {listed}")


def _references(m: MilestoneSpec) -> Iterator[tuple[str, str]]:
    """The other milestones that one names, each with the key under which it does."""
    yield from (("after", name) for name in m.after)
    yield from (("before", name) for name in m.before)
    if m.since:
        yield "since", m.since
    yield from (("when", name) for name in required_milestones(m))


def _check_circles(read: TaskReader, milestones: Iterable[MilestoneSpec]) -> None:
    """Refuse a milestone that waits for itself, through others or not, or for a chain longer than
    anybody can follow."""
    waits = {m.id: [name for key, name in _references(m) if key != "before"] for m in milestones}
    depth = dict.fromkeys(waits, 0)
    for _ in range(MAX_CHAIN + 1):
        deeper = {
            id: 1 + max((depth[name] for name in names if name in depth), default=-1)
            for id, names in waits.items()
        }
        if deeper == depth:
            return
        depth = deeper
    expected = f"after and requires without a circle, at most {MAX_CHAIN} deep"
    for n, m in enumerate(milestones):
        if depth[m.id] > MAX_CHAIN:
            read.note(("milestones", n), m.id, expected)

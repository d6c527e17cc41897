"""What a task says of the whole episode: limits, the worth of the end, a bonus for few steps,
shaping.

limits: {steps: 30, seconds: 600}
outcome: {alpha: 0.3, success: 1, failure: 0}
efficiency: {weight: 0.1, best: 5, worst: 20}
shaping: {potential: [nav, form], gamma: 0.99}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from detectors.model.types import Efficiency, MilestoneSpec, Outcome, Shaping, Task
from detectors.model.validation import Path, TaskReader, is_mapping, is_number, is_text
from detectors.sdk.registry import rules
from detectors.sdk.window import window_from_json, window_to_json

KEYS = ("limits", "outcome", "efficiency", "shaping")
MAX_STEPS = 100_000


def endings_from_json(
    read: TaskReader, spec: Mapping[str, Any], milestones: Iterable[MilestoneSpec]
) -> dict[str, Any]:
    """The fields of `Task` that the four keys say; problems go to ``read``."""
    listed = tuple(milestones)
    found: dict[str, Any] = {}
    if "limits" in spec:
        found["limits"] = read.attempt(window_from_json, spec["limits"], ("limits",))
    if "outcome" in spec:
        found["outcome"] = _outcome(read, spec["outcome"])
    if "efficiency" in spec:
        found["efficiency"] = _efficiency(read, spec["efficiency"])
    if "shaping" in spec:
        found["shaping"] = _shaping(read, spec["shaping"], listed)
    goals = any(m.when.rule == "goal" for m in listed)
    for key in ("outcome", "efficiency"):
        if key in spec and not goals:
            read.note(
                (key,), spec[key], "a milestone with a goal beside it: it says what success is"
            )
    return found


def endings_to_json(task: Task) -> dict[str, Any]:
    """The same, as a task's canonical JSON has it."""
    out: dict[str, Any] = {}
    if task.limits is not None:
        out["limits"] = window_to_json(task.limits)
    if task.outcome is not None:
        alpha = {} if task.outcome.alpha is None else {"alpha": task.outcome.alpha}
        out["outcome"] = {**alpha, "success": task.outcome.success, "failure": task.outcome.failure}
    if task.efficiency is not None:
        e = task.efficiency
        out["efficiency"] = {"weight": e.weight, "best": e.best, "worst": e.worst}
    if task.shaping is not None:
        out["shaping"] = {"potential": list(task.shaping.components), "gamma": task.shaping.gamma}
    return out


def _object(read: TaskReader, spec: Any, path: Path, keys: str) -> Mapping[str, Any]:
    if not is_mapping(spec):
        read.note(path, spec, f"an object with {keys}")
        return {}
    read.unknown(spec, frozenset(keys.split(", ")), path)
    return spec  # type: ignore[no-any-return]


def _part(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 1


def _outcome(read: TaskReader, spec: Any) -> Outcome:
    path: Path = ("outcome",)
    given = _object(read, spec, path, "alpha, success, failure")
    alpha = read.get(given, "alpha", path, _part, "a number from 0 to 1: the process's part")
    success = read.get(
        given, "success", path, lambda v: is_number(v) and v >= 0, "a number from 0", 1.0
    )
    failure = read.get(
        given,
        "failure",
        path,
        lambda v: is_number(v) and v <= success,
        "a number up to success",
        0.0,
    )
    return Outcome(None if alpha is None else float(alpha), float(success), float(failure))


def _efficiency(read: TaskReader, spec: Any) -> Efficiency:
    path: Path = ("efficiency",)
    given = _object(read, spec, path, "weight, best, worst")
    for key in ("weight", "best", "worst"):
        if key not in given:
            read.note((*path, key), None, "this key; it must be given")
    weight = read.get(
        given, "weight", path, lambda v: is_number(v) and v > 0, "a number above 0", 1.0
    )
    best = read.get(
        given,
        "best",
        path,
        lambda v: type(v) is int and 1 <= v < MAX_STEPS,
        "a whole number from 1",
        1,
    )
    wanted = f"a whole number above best, up to {MAX_STEPS}"
    worst = read.get(
        given, "worst", path, lambda v: type(v) is int and best < v <= MAX_STEPS, wanted, MAX_STEPS
    )
    return Efficiency(float(weight), best, worst)


def _shaping(read: TaskReader, spec: Any, milestones: tuple[MilestoneSpec, ...]) -> Shaping:
    path: Path = ("shaping",)
    given = _object(read, spec, path, "potential, gamma")
    there = {m.component for m in milestones if m.penalty is None}
    goals = {m.component for m in milestones if m.when.rule == "goal"}
    gamma = read.get(given, "gamma", path, _part, "the trainer's discount, from 0 to 1", 1.0)
    named = given.get("potential", sorted(there - goals))
    if (
        not isinstance(named, list)
        or not named
        or not all(is_text(name) and name in there for name in named)
    ):
        read.note(
            (*path, "potential"),
            named,
            f"a list of components with milestones; there are {', '.join(there)}",
        )
        return Shaping(float(gamma), ())
    for n, m in enumerate(milestones):
        if m.component in named and (m.must_hold_at_end or rules()[m.when.rule].name == "goal"):
            wanted = f"another component than {m.component}: what the end decides has no potential"
            read.note(("milestones", n, "component"), m.component, wanted)
    return Shaping(float(gamma), tuple(sorted(set(named))))

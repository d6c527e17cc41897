"""What a task may not say of the tiers beyond its rules though each of its keys is right: weights
that don't sum to 1, a blend that asks nobody, what a tier can't decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from detectors.model.types import Json
from detectors.model.validation import Path, TaskReader
from detectors.sdk.registry import rules
from detectors.sdk.tier_rules import is_judged
from detectors.task.language import Escalation, MilestoneSpec, Task
from detectors.task.milestones import required_milestones
from detectors.task.value_types import TIERS

ITEMS = ("goal", "step")
"""What else is asked about beside milestones, by their ids."""
_PATH: Path = ("escalation",)


def complete_escalation(
    escalation: Escalation | None, milestones: Sequence[MilestoneSpec], given: Json
) -> Escalation | None:
    """The escalation with the defaults that follow from its other keys; where none is ``given``,
    one that asks about nothing else, if a tier decides a milestone."""
    if given is None and any(_is_judged(m) for m in milestones):
        return Escalation(escalate=(), audit=0.0)
    if escalation is None or not isinstance(given, Mapping):
        return escalation
    if not escalation.escalate and "audit" not in given:
        escalation = replace(escalation, audit=0.0)
    if not given.get("weights"):
        escalation = replace(escalation, weights=Escalation().weights)
    return escalation


def check_escalation(reader: TaskReader, task: Task, given: Mapping[str, Json]) -> None:
    """Note what the keys of ``escalation`` may not say together. ``given``: its JSON."""
    escalation = task.escalation
    if escalation is None or not given:
        return
    _check_escalated(reader, task, escalation)
    if escalation.route == "blend":
        _check_blend(reader, escalation, given)
    elif given.get("weights"):
        expected = "route: blend beside it; in a cascade the first confident tier decides"
        reader.note((*_PATH, "weights"), given["weights"], expected)
    total = sum(escalation.weights.values())
    if abs(total - 1.0) > 1e-9:
        expected = f"numbers that sum to 1; these sum to {total:g}"
        reader.note((*_PATH, "weights"), given["weights"], expected)
    if escalation.route == "blend" and task.outcome is not None and task.outcome.failure > 0:
        # Where tiers abstain, a failure would weigh more than a success does elsewhere.
        expected = "a number up to 0 beside route: blend"
        reader.note(("outcome", "failure"), task.outcome.failure, expected)


def _check_escalated(reader: TaskReader, task: Task, escalation: Escalation) -> None:
    """Note what is asked about that the task has not, or that no tier can answer."""
    path = (*_PATH, "escalate")
    if "goal" in escalation.escalate and not any(m.when.rule == "goal" for m in task.milestones):
        expected = "a milestone with a goal beside it: it says what success is worth"
        reader.note(path, "goal", expected)
    if "cause" in escalation.escalate and "judge" not in escalation.tiers:
        reader.note(path, "cause", "judge in tiers beside it: only a judge says why")


def _check_blend(reader: TaskReader, escalation: Escalation, given: Mapping[str, Json]) -> None:
    """A blend is asked about every step, and what the rules pay is a term of it that nothing
    outweighs."""
    escalate, weights = set(escalation.escalate), escalation.weights
    if not escalate & {"unscored", "goal"} or not escalate <= {"unscored", "goal", "cause"}:
        expected = "unscored, goal, or both: a blend asks about every step"
        reader.note((*_PATH, "escalate"), given.get("escalate"), expected)
    path = (*_PATH, "weights")
    for tier in TIERS:
        if tier not in escalation.tiers and weights[tier] > 0:
            expected = f"0, or {tier} in tiers: who is not asked can't weigh"
            reader.note((*path, tier), weights[tier], expected)
    if not 0 < weights["rule"] < 1:
        expected = "above 0 and below 1: rules and a tier both weigh in a blend"
        reader.note((*path, "rule"), weights["rule"], expected)
    elif "goal" in escalate and weights["rule"] < 0.5:
        expected = (
            "at least 0.5 where the goal is asked about: with less, a tier's yes is worth more than"
            " the rules' own"
        )
        reader.note((*path, "rule"), weights["rule"], expected)


def check_judged(reader: TaskReader, task: Task) -> None:
    """Refuse what a milestone that a tier decides can't be: nobody knows at the seal whether it is
    met."""
    judged = {m.id for m in task.milestones if _is_judged(m)}
    for n, m in enumerate(task.milestones):
        path: Path = ("milestones", n)
        if m.id in judged:
            if m.id in ITEMS:
                expected = f"an id other than {' and '.join(ITEMS)}: those are asked about as well"
                reader.note((*path, "id"), m.id, expected)
            _check_alone(reader, m, path, task.shaped)
        named = {
            "after": m.after,
            "before": m.before,
            "since": (m.since,),
            "when": required_milestones(m),
        }
        expected = "a milestone that rules decide: a tier answers only after the seal"
        for key, names in named.items():
            for name in judged.intersection(names):
                reader.note((*path, key), name, expected)


def _is_judged(m: MilestoneSpec) -> bool:
    return is_judged(rules()[m.when.rule])


_NOT_OF_JUDGED = (
    "penalty",
    "repeat",
    "baseline",
    "must_hold_at_end",
    "revoke_on",
    "only_if",
    "within",
    "before",
    "decisive",
)
"""Keys that a milestone can't have that a tier decides."""


def _check_alone(reader: TaskReader, m: MilestoneSpec, path: Path, shaped: tuple[str, ...]) -> None:
    plain = MilestoneSpec(id=m.id, when=m.when)
    for key in _NOT_OF_JUDGED:
        value = getattr(m, key)
        if value != getattr(plain, key):
            expected = f"none of it: {m.when.rule} decides this milestone, once"
            reader.note((*path, key), value, expected)
    if m.when.args.get("ask") == "after" and not m.after:
        reader.note((*path, "when"), "ask: after", "after: [milestone ids] beside it")
    if m.component in shaped:
        reader.note((*path, "component"), m.component, "a component that shaping does not pay")

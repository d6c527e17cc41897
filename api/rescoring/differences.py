"""What a changed ruleset changed: by episode, step and milestone, with the events that speak for
both sides.

Null is not zero: a reward that is not known differs from one of 0. What is always another under
another ruleset says nothing and is left out of the comparison: the digest, who said a verdict, a
rule's version.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypedDict

from api.rewards.scored_episode import REWARD_FIELDS, Result
from detectors.model.rewards import MilestoneJson

Change = Literal["gained", "lost", "changed", "moved"]
"""A milestone: only the new side has it, only the old, both in this step but not alike, both in
different steps."""

OF_EPISODE = ("closed", "success", "total", "through")
_NAMELESS = ("version",)
Fields = dict[str, list[object]]
"""The fields that differ: name → [old, new]."""
Pairs = Callable[[MilestoneJson, MilestoneJson], bool]
"""Whether an old milestone and a new one are taken together."""


class MilestoneChange(TypedDict):
    """A milestone that differs; ``old`` or ``new`` is None where that side has not reached it."""

    id: str
    change: Change
    old: MilestoneJson | None
    new: MilestoneJson | None


class StepDifference(TypedDict):
    """A step that differs. ``only``: the side that alone has it."""

    step: int
    only: Literal["old", "new"] | None
    fields: Fields
    milestones: list[MilestoneChange]


class Differences(TypedDict):
    """What of the episode and which steps differ; both empty where nothing does."""

    episode: Fields
    steps: list[StepDifference]


def compare(old: Result, new: Result) -> Differences:
    """``{episode, steps}``: what of the episode and which steps differ; both empty where nothing
    does.

    Each item of ``episode`` and of a step's ``fields`` is ``{name: [old, new]}``; a step's
    ``milestones`` are ``{id, change, old, new}`` with whole milestones or None. ``only`` names the
    side that alone has a step, whose fields are then None on the other. Step -1 holds what was so
    before the first.
    """
    return {"episode": _fields(OF_EPISODE, old, new), "steps": _steps(old, new)}


def is_same(differences: Differences) -> bool:
    """Whether neither a step nor the episode as a whole differs."""
    return not differences["episode"] and not differences["steps"]


def evidence_of(differences: Differences) -> list[int]:
    """The numbers of all events that the differing milestones lean on."""
    seqs: set[int] = set()
    for step in differences["steps"]:
        for change in step["milestones"]:
            for milestone in (change["old"], change["new"]):
                if milestone is not None:
                    seqs.update(milestone["evidence"])
    return sorted(seqs)


def _fields(names: Sequence[str], old: Mapping[str, object], new: Mapping[str, object]) -> Fields:
    return {name: [old[name], new[name]] for name in names if not _alike(old[name], new[name])}


def _alike(old: object, new: object) -> bool:
    """Whether two values are the same; a truth value is none of the numbers."""
    if isinstance(old, dict) and isinstance(new, dict):
        return _components_alike(old, new)
    # True == 1 and False == 0 in Python, and a number is no truth value.
    return old == new and isinstance(old, bool) == isinstance(new, bool)


def _components_alike(old: Mapping[str, object], new: Mapping[str, object]) -> bool:
    """Whether two mappings agree; a component that one task alone has is news where it paid
    something."""
    for name in {**old, **new}:
        if not _comparable(name, old, new):
            continue
        if not _alike(old.get(name, 0.0), new.get(name, 0.0)):
            return False
    return True


def _comparable(name: str, old: Mapping[str, object], new: Mapping[str, object]) -> bool:
    """Whether both sides have a component, or the side that alone has it knows what it paid."""
    if name in old and name in new:
        return True
    return None not in (old.get(name, 0.0), new.get(name, 0.0))


def _steps(old: Result, new: Result) -> list[StepDifference]:
    """Return the steps in which two results differ, by field and milestone."""
    if old["rewards"] == new["rewards"] and old["baseline"] == new["baseline"]:
        return []
    before = {reward["step"]: reward for reward in old["rewards"]}
    after = {reward["step"]: reward for reward in new["rewards"]}
    milestones = _milestones(_milestones_in_order(old), _milestones_in_order(new))
    nothing: dict[str, object] = dict.fromkeys(REWARD_FIELDS)
    differing: list[StepDifference] = []
    for step in sorted({*before, *after, *milestones}):
        changes = milestones.get(step, [])
        fields = _fields(REWARD_FIELDS, before.get(step, nothing), after.get(step, nothing))
        if fields or changes:
            differing.append(
                {
                    "step": step,
                    "only": _only(step in before, step in after),
                    "fields": fields,
                    "milestones": changes,
                }
            )
    return differing


def _only(before: bool, after: bool) -> Literal["old", "new"] | None:
    """Return the side that alone has a step; None where both have it."""
    if before == after:
        return None
    return "old" if before else "new"


def _milestones_in_order(side: Result) -> list[MilestoneJson]:
    """Every milestone of a side, in the order in which they were reached, by step."""
    milestones = list(side["baseline"])
    for reward in side["rewards"]:
        milestones.extend(reward["milestones"])
    return milestones


def _milestones(
    old: list[MilestoneJson], new: list[MilestoneJson]
) -> dict[int, list[MilestoneChange]]:
    """The milestones that differ, by the step in which the new side has them (the old one's where
    it has not)."""
    left: dict[str, list[MilestoneJson]] = defaultdict(list)
    for m in old:
        left[m["id"]].append(m)
    extra = [m for m in new if not _take(left[m["id"]], m, _same_milestone)]
    by_step: dict[int, list[MilestoneChange]] = defaultdict(list)
    unmatched = []
    for m in extra:
        partner = _take(left[m["id"]], m, _same_step)
        if partner is None:
            unmatched.append(m)
        else:
            by_step[m["step"]].append(_told_change("changed", partner, m))
    for m in unmatched:
        partner = _take(left[m["id"]], m, _any_milestone)
        change: Change = "gained" if partner is None else "moved"
        by_step[m["step"]].append(_told_change(change, partner, m))
    for lost in left.values():
        for m in lost:
            by_step[m["step"]].append(_told_change("lost", m, None))
    return {step: sorted(changes, key=_order) for step, changes in by_step.items()}


def _same_step(old: MilestoneJson, new: MilestoneJson) -> bool:
    return old["step"] == new["step"]


def _any_milestone(old: MilestoneJson, new: MilestoneJson) -> bool:
    return True


def _take(left: list[MilestoneJson], m: MilestoneJson, fits: Pairs) -> MilestoneJson | None:
    """Take the first milestone that fits out of a list, None where none does."""
    for place, candidate in enumerate(left):
        if fits(candidate, m):
            return left.pop(place)
    return None


def _same_milestone(old: Mapping[str, object], new: Mapping[str, object]) -> bool:
    return all(_alike(old[name], new[name]) for name in new if name not in _NAMELESS)


def _told_change(
    change: Change, old: MilestoneJson | None, new: MilestoneJson | None
) -> MilestoneChange:
    side = new or old
    assert side is not None
    return {"id": side["id"], "change": change, "old": old, "new": new}


def _order(change: MilestoneChange) -> tuple[str, str, tuple[int, ...]]:
    side = change["new"] or change["old"]
    assert side is not None
    return change["id"], change["change"], tuple(side["evidence"])

"""Two results step by step: what each side did and was paid, and in words why they differ (pure).

The sides are two episodes, or one under two rulesets: then the same events speak for both, and are
shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from api.pages.render import format_change, number
from api.rewards.rendering import unpaid_in_words
from api.rewards.scored_episode import Result
from detectors.model.rewards import RewardJson

Sides = tuple[str, str]
"""What the two are called in sentences."""
Pair = tuple[RewardJson | None, RewardJson | None]
"""A step's reward on each side; None where that side has no such step."""
FirstSteps = tuple[dict[str, int], dict[str, int]]
"""For each side the first step that reached a milestone; -1: it was met at baseline."""


class Row(NamedTuple):
    """A step of both: each side's action and sealed reward (None where it has no such step), and
    the reasons."""

    step: int
    actions: tuple[str | None, str | None]
    rewards: Pair
    reasons: list[str]
    evidence: list[str]


def align_steps(
    sides: Sides,
    results: tuple[Result, Result],
    actions: Sequence[Mapping[int, str]],
    lines: Mapping[int, str],
) -> list[Row]:
    """Every step of either, in order; ``lines`` are events by number, where both sides have the
    same log."""
    left, right = ({one["step"]: one for one in result["rewards"]} for result in results)
    where = (_first_steps(results[0]), _first_steps(results[1]))
    rows = []
    for step in sorted({*left, *right, *actions[0], *actions[1]}):
        pair = (left.get(step), right.get(step))
        reasons = list(_reasons(sides, step, pair, where))
        done = (actions[0].get(step), actions[1].get(step))
        evidence = [lines[seq] for seq in _evidence(pair) if seq in lines] if reasons else []
        rows.append(Row(step, done, pair, reasons, evidence))
    return rows


def _first_steps(result: Result) -> dict[str, int]:
    """Return the step in which each milestone first came true; -1 for the start."""
    found: dict[str, int] = {one["id"]: -1 for one in result["baseline"]}
    for reward in result["rewards"]:
        for one in reward["milestones"]:
            found.setdefault(one["id"], reward["step"])
    return found


def _reasons(sides: Sides, step: int, pair: Pair, where: FirstSteps) -> Iterator[str]:
    """Yield why two episodes were paid differently in a step."""
    left, right = pair
    if left is None and right is None:
        return
    if left is None or right is None:
        yield f"only {sides[left is None]} has this step"
        return
    if left["mask"] != right["mask"]:
        name, masked = (sides[0], left) if left["mask"] else (sides[1], right)
        yield f"{name} is not known here: {masked['reason']}"
    yield from _milestones(sides, (left, right), where)
    is_known = left["reward"] is not None and right["reward"] is not None
    if is_known and left["reward"] != right["reward"]:
        yield from _components(sides, left, right)


def _milestones(
    sides: Sides, pair: tuple[RewardJson, RewardJson], where: FirstSteps
) -> Iterator[str]:
    """Yield which milestones only one side reached, or what they were worth in each."""
    left, right = (_worths(reward) for reward in pair)
    for id in sorted({*left, *right}):
        if id not in right:
            change = f"{format_change(left[id])}{_unpaid(pair[0], left[id])}"
            otherwise = _reached_when(where[1].get(id))
            yield f"{sides[0]} reached {id} ({change}), {sides[1]} {otherwise}"
        elif id not in left:
            change = f"{format_change(right[id])}{_unpaid(pair[1], right[id])}"
            otherwise = _reached_when(where[0].get(id))
            yield f"{sides[1]} reached {id} ({change}), {sides[0]} {otherwise}"
        elif left[id] != right[id]:
            first = f"{format_change(left[id])} in {sides[0]}{_unpaid(pair[0], left[id])}"
            second = f"{format_change(right[id])} in {sides[1]}{_unpaid(pair[1], right[id])}"
            yield f"{id} is worth {first}, {second}"


def _reached_when(step: int | None) -> str:
    """Say when a side reached a milestone: at ``step``, before the first one, or never."""
    if step is None:
        return "never did"
    if step < 0:
        return "had it so at the start"
    return f"at step {step}"


def _unpaid(reward: RewardJson, worth: float) -> str:
    """Why a milestone of a step has not paid what it is ``worth``, after a comma; empty where it
    has."""
    why = unpaid_in_words(
        reward["status"], mask=reward["mask"], worth=worth, reason=reward["reason"]
    )
    return f", {why}" if why else ""


def _worths(reward: RewardJson) -> dict[str, float]:
    """Return what each milestone of a step was worth, summed."""
    found: dict[str, float] = {}
    for one in reward["milestones"]:
        if not one["baseline"]:
            found[one["id"]] = found.get(one["id"], 0.0) + one["worth"]
    return found


def _components(sides: Sides, left: RewardJson, right: RewardJson) -> Iterator[str]:
    """Yield the components that pay differently."""
    for name in sorted({*left["components"], *right["components"]}):
        first = left["components"].get(name) or 0.0
        second = right["components"].get(name) or 0.0
        if first != second:
            yield f"{name} pays {number(first)} in {sides[0]}, {number(second)} in {sides[1]}"


def _evidence(pair: Pair) -> list[int]:
    """The numbers of the events that either side's milestones of a step rest on."""
    seqs: set[int] = set()
    for reward in pair:
        if reward is None:
            continue
        for milestone in reward["milestones"]:
            seqs.update(milestone["evidence"])
    return sorted(seqs)

"""Which conditions guard: their being true lowers what an episode is worth.

So a penalty, what revokes a milestone, what must not have been reached before, and each part of
these. A milestone may both pay and guard, as one that pays and that a penalty waits for (`after`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Flag, auto
from typing import Any, Literal

from detectors.model.types import Condition
from detectors.sdk.arguments import parse_args
from detectors.sdk.documents import has_address
from detectors.sdk.registry import Composite, Rule, rules
from detectors.task.language import MilestoneSpec, Task

Role = Literal["when", "revoke_on", "only_if"]


class Bearing(Flag):
    """What the truth of a condition does to the reward."""

    PAYS = auto()
    GUARDS = auto()


def opposite(bearing: Bearing) -> Bearing:
    """Return the bearing of a condition on whose absence one of ``bearing`` rests."""
    found = Bearing(0)
    if Bearing.PAYS in bearing:
        found |= Bearing.GUARDS
    if Bearing.GUARDS in bearing:
        found |= Bearing.PAYS
    return found


def conditions_of(m: MilestoneSpec, bearing: Bearing) -> Iterator[tuple[Role, Condition, Bearing]]:
    """Yield the conditions of a milestone of ``bearing``, each with its own."""
    yield "when", m.when, bearing
    if m.revoke_on is not None:
        yield "revoke_on", m.revoke_on, opposite(bearing)
    if m.only_if is not None:
        yield "only_if", m.only_if, bearing


def parts_bearing(rule: Rule | Composite, args: Any, bearing: Bearing) -> Bearing:
    """Return the bearing of the parts of a condition that itself has ``bearing``."""
    if not isinstance(rule, Composite):
        return bearing
    effect = rule.effect(args)
    if effect == "either":
        return bearing | opposite(bearing)
    return bearing if effect == "supports" else opposite(bearing)


def milestone_bearings(task: Task) -> list[Bearing]:
    """Return of each milestone whether its being reached pays, guards, or both: by itself, and by
    the milestones that name it.

    One of an objective pays, but moves nothing of the reward: what it names bears nothing by it.
    """
    index = {m.id: n for n, m in enumerate(task.milestones)}
    alone = [_own_bearing(m) for m in task.milestones]
    found = [
        Bearing(0) if m.component in task.objectives else own
        for m, own in zip(task.milestones, alone, strict=True)
    ]
    named = [list(_named(m, task.origin)) for m in task.milestones]
    waiting = list(range(len(found)))
    while waiting:
        n = waiting.pop()
        for name, is_opposed in named[n]:
            other = index[name]
            bearing = found[other] | (opposite(found[n]) if is_opposed else found[n])
            if bearing != found[other]:
                found[other] = bearing
                waiting.append(other)
    return [bearing | own for bearing, own in zip(found, alone, strict=True)]


def _own_bearing(m: MilestoneSpec) -> Bearing:
    return Bearing.PAYS if m.penalty is None else Bearing.GUARDS


def leaves(task: Task) -> Iterator[tuple[int, Condition, Bearing]]:
    """Yield every condition without parts, with the index of its milestone and its bearing."""
    bearings = milestone_bearings(task)
    for n, m in enumerate(task.milestones):
        for _, condition, bearing in conditions_of(m, bearings[n]):
            for leaf, of_leaf in _leaves_below(condition, bearing, task.origin):
                yield n, leaf, of_leaf


def names_address(leaf: Condition, origin: str | None) -> bool:
    """Whether a condition without parts names the address of a page."""
    return has_address(parse_args(rules()[leaf.rule].args, leaf.args, (leaf.rule,), origin))


def _leaves_below(
    condition: Condition, bearing: Bearing, origin: str | None
) -> Iterator[tuple[Condition, Bearing]]:
    if not condition.of:
        yield condition, bearing
    for part, below in _parts(condition, bearing, origin):
        yield from _leaves_below(part, below, origin)


def _named(m: MilestoneSpec, origin: str | None) -> Iterator[tuple[str, bool]]:
    """Yield the milestones that ``m`` names, each with whether its being reached is against
    ``m``."""
    yield from ((name, False) for name in m.after)
    yield from ((name, True) for name in m.before)
    if m.since is not None:
        yield m.since, False
    for _, condition, bearing in conditions_of(m, Bearing.PAYS):
        for name, of_name in _required(condition, bearing, origin):
            if Bearing.PAYS in of_name:
                yield name, False
            if Bearing.GUARDS in of_name:
                yield name, True


def _required(
    condition: Condition, bearing: Bearing, origin: str | None
) -> Iterator[tuple[str, Bearing]]:
    """Yield the milestones that a condition of ``bearing`` or its parts require, with their own."""
    required = condition.args.get("requires") if condition.rule == "goal" else None
    if isinstance(required, Sequence) and not isinstance(required, str):
        yield from ((str(name), bearing) for name in required)
    for part, below in _parts(condition, bearing, origin):
        yield from _required(part, below, origin)


def _parts(
    condition: Condition, bearing: Bearing, origin: str | None
) -> Iterator[tuple[Condition, Bearing]]:
    """Yield the parts of a condition of ``bearing``, with their own."""
    if condition.of:
        rule = rules()[condition.rule]
        args = parse_args(rule.args, condition.args, (condition.rule,), origin)
        below = parts_bearing(rule, args, bearing)
        yield from ((part, below) for part in condition.of)

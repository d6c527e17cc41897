"""Which milestones a step leaves unknown that is not known itself: those that what was not observed
in it could have reached, and no other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from detectors.engine.gaps import REST
from detectors.engine.state import State
from detectors.sdk.tier_rules import is_judged
from detectors.task.ruleset import Ruleset

RULES = "rules"
"""Stands among sources for what no rule could know, and for what rests on what was not observed
before."""


class UnobservedStep(NamedTuple):
    """Why the rules do not know a step: ``sources`` are those that observed nothing, or
    ``source:part``; ``hidden`` the milestones with a condition that no rule could know so far;
    ``is_goal_open`` whether nobody knows of the goal, which its end would decide."""

    sources: tuple[str, ...]
    hidden: tuple[str, ...]
    is_goal_open: bool


class UnknownMilestones(NamedTuple):
    """What an episode leaves unknown: ``by_step``: the ids of the milestones that may have been
    reached in a step that is not known, or only in part, by its number, or taken back in it;
    ``revocable``: those that may be taken back, which a later step does not say if such a step did
    not pay them."""

    by_step: Mapping[int, Collection[str]]
    revocable: Collection[str]


def describe_unobserved(state: State, *, is_goal_open: bool) -> UnobservedStep:
    """Return why the step is not known that is about to be sealed in ``state``."""
    return UnobservedStep(tuple(state.blind), tuple(state.hidden), is_goal_open)


def find_unknown(rules: Ruleset, step: UnobservedStep) -> frozenset[str]:
    """Return the ids of the milestones that may have been reached in a step that is not known, or
    taken back: those with a condition that needs what was not observed, and all that rest on one.

    A tier is not asked about such a step, so that what a tier decides is unknown too.
    """
    unknown = _find_judged(rules)
    for name in step.sources:
        unknown |= _find_of_source(rules, name, step.hidden)
    if step.is_goal_open:
        unknown |= {n for n, top in enumerate(rules.tops) if rules.nodes[top].rule.name == "goal"}
        unknown |= _find_doubtful(rules, step.hidden)
    return frozenset(add_dependents(rules, unknown))


def find_revocable(rules: Ruleset) -> frozenset[str]:
    """Return the ids of the milestones that may be taken back."""
    return frozenset(add_dependents(rules, _list_revocable(rules)))


def find_undecided(rules: Ruleset) -> frozenset[str]:
    """Return the ids of the milestones that a step leaves unknown of which the rules know all and
    a tier that was asked did not decide: what tiers decide, the goal, and all that rest on one."""
    goals = {n for n, top in enumerate(rules.tops) if rules.nodes[top].rule.name == "goal"}
    return frozenset(add_dependents(rules, _find_judged(rules) | goals))


def add_dependents(rules: Ruleset, owners: Iterable[int]) -> set[str]:
    """Return the ids of milestones, and of all that rest on one of them."""
    given = set(owners)
    return {
        spec.id
        for spec, rests_on in zip(rules.task.milestones, rules.find_dependencies(), strict=True)
        if rests_on & given
    }


def _find_of_source(rules: Ruleset, name: str, hidden: Iterable[str]) -> set[int]:
    """Return the milestones that need a source, or that part of it. Of a source that no rule
    depends on, such as the journal or a refused start, nothing is known: all of them."""
    if name == RULES:
        return _find_doubtful(rules, hidden)
    source, _, part = name.partition(":")
    if source not in rules.sources:
        return set(range(len(rules.tops)))
    return set(rules.owners_of(source, None if part in ("", REST) else part))


def _find_doubtful(rules: Ruleset, hidden: Iterable[str]) -> set[int]:
    """Return the milestones with a condition that no rule could know, and those that rest on what
    did not happen or has to hold at the end: what was not observed before leaves them open."""
    return {
        n
        for n, spec in enumerate(rules.task.milestones)
        if spec.id in set(hidden) or rules.negative[n] or spec.must_hold_at_end
    }


def _find_judged(rules: Ruleset) -> set[int]:
    """Return the milestones that a tier decides."""
    return {n for n, top in enumerate(rules.tops) if is_judged(rules.nodes[top].rule)}


def _list_revocable(rules: Ruleset) -> set[int]:
    """Return the milestones that something takes back."""
    specs = rules.task.milestones
    return {n for n, spec in enumerate(specs) if spec.revoke_on is not None}

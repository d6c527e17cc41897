"""Which milestones a step leaves unknown that is not known itself: those that what was not observed
in it could have reached, and no other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from detectors.engine.gaps import REST, RULES
from detectors.engine.state import State
from detectors.sdk.registry import Composite, Rule
from detectors.sdk.tier_rules import is_judged
from detectors.task.ruleset import ConditionNode, Ruleset
from detectors.task.source_dependencies import depends_on


class UnobservedStep(NamedTuple):
    """Why the rules do not know a step: ``sources`` are those that observed nothing, or
    ``source:part``; ``hidden`` the milestones with a condition that no rule could know so far;
    ``is_goal_open`` whether nobody knows of the goal, which its end would decide; ``refused`` the
    indices of the milestones that it would have reached if nothing had gone unobserved, or of
    which a rule failed; ``reached`` the ids of those that it reached; ``is_last`` whether it is
    the step that the close ends, which alone decides what must hold at the end."""

    sources: tuple[str, ...]
    hidden: tuple[str, ...]
    is_goal_open: bool
    refused: tuple[int, ...]
    reached: tuple[str, ...]
    is_last: bool


class UnknownMilestones(NamedTuple):
    """What an episode leaves unknown: ``by_step``: the ids of the milestones that may have been
    reached in a step that is not known, or only in part, by its number, or taken back in it;
    ``revocable``: those that may be taken back, which a later step does not say if such a step did
    not pay them."""

    by_step: Mapping[int, Collection[str]]
    revocable: Collection[str]


def describe_unobserved(state: State, *, is_goal_open: bool) -> UnobservedStep:
    """Return why the step is not known that is about to be sealed in ``state``."""
    return UnobservedStep(
        tuple(state.blind),
        tuple(state.hidden),
        is_goal_open,
        tuple(state.refused),
        tuple(sorted({milestone.id for milestone in state.pending})),
        state.closed,
    )


def find_unknown(rules: Ruleset, step: UnobservedStep) -> frozenset[str]:
    """Return the ids of the milestones that may have been reached in a step that is not known, or
    taken back: those with a condition that needs what was not observed, and all that rest on one.

    What a source can only prevent (`before`, `none_of`) is known where nothing came of it: had all
    been observed, no more could have. Where something would have, the engine refused it. A tier is
    not asked about such a step, so that what a tier decides is unknown too.
    """
    names = [name for name in step.sources if name != RULES]
    if any(name.partition(":")[0] not in rules.sources for name in names):
        return frozenset(rules.index)  # such as the journal or a refused start: nothing is known
    unknown = add_dependents(rules, _list_doubtful(rules, step))
    needing: set[int] = set()
    raised: set[int] = set()
    for name in names:
        source, _, part = name.partition(":")
        of = None if part in ("", REST) else part
        needing |= rules.owners_of(source, of)
        raised |= _find_raised(rules, source, of)
    unknown |= {rules.task.milestones[n].id for n in _add_raised(rules, raised)}
    told = {*step.reached, *find_revocable(rules)}
    unknown |= add_dependents(rules, needing) & told
    if not step.is_last:
        unknown -= _list_decided_at_end(rules)
    return frozenset(unknown)


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


def _list_doubtful(rules: Ruleset, step: UnobservedStep) -> set[int]:
    """Return the milestones that a step leaves unknown whichever source it is that observed
    nothing: with a condition that no rule could know, refused by the engine, decided by a tier, or
    by the end, where that is not known."""
    doubtful = {*step.refused, *_find_judged(rules)}
    for n, spec in enumerate(rules.task.milestones):
        is_of_end = step.is_last and spec.must_hold_at_end
        is_open_goal = step.is_goal_open and rules.nodes[rules.tops[n]].rule.name == "goal"
        if spec.id in step.hidden or is_of_end or is_open_goal:
            doubtful.add(n)
    return doubtful


def _list_decided_at_end(rules: Ruleset) -> set[str]:
    """Return the ids of the milestones that no step but the last can reach."""
    task = rules.task
    return {
        spec.id
        for spec in task.milestones
        if spec.must_hold_at_end and spec.component not in task.credit
    }


def _find_raised(rules: Ruleset, source: str, of: str | None) -> set[int]:
    """Return the milestones that may have been reached by what a source, or that part of it, did
    not report: with a condition on it that does more than prevent them."""
    return {
        node.owner
        for node in rules.nodes
        if isinstance(node.rule, Rule)
        and depends_on(node.rule.heard_kinds(node.args), node.args, source, of)
        and _may_raise(rules, node, node.rule)
    }


def _may_raise(rules: Ruleset, leaf: ConditionNode, rule: Rule) -> bool:
    """Return whether what a leaf did not read can have made its milestone more than it was. What
    happens only prevents where an odd number of `none_of` lie above it; what stands may have ended
    unseen."""
    prevents = False
    id = leaf.parent
    while id >= 0:
        node = rules.nodes[id]
        assert isinstance(node.rule, Composite)
        effect = node.rule.effect(node.args)
        if effect == "either" or node.rule.ticks or node.rule.present is None:
            return True
        prevents ^= effect == "opposes"
        id = node.parent
    return not prevents or not rule.occurs(leaf.args)


def _add_raised(rules: Ruleset, raised: Iterable[int]) -> set[int]:
    """Return milestones, with all that may have been reached because one of them was, or, where it
    may have ended unseen, because it was not."""
    index, found, waiting = rules.index, set(raised), True
    while waiting:
        waiting = False
        for n, spec in enumerate(rules.task.milestones):
            names = {*spec.after, *((spec.since,) if spec.since else ())}
            others = {index[name] for name in names}
            others |= {index[name] for name in spec.before if not _is_lasting(rules, index[name])}
            for node in rules.nodes:
                if node.owner == n:
                    others.update(node.requires)
            if n not in found and not others.isdisjoint(found):
                found.add(n)
                waiting = True
    return found


def _is_lasting(rules: Ruleset, owner: int) -> bool:
    """Return whether a milestone that the engine calls reached was reached whatever else went
    unobserved: by something that happened, or by one condition alone."""
    spec = rules.task.milestones[owner]
    if spec.revoke_on is not None or spec.baseline == "transition":
        return False
    nodes = [node for node in rules.nodes if node.owner == owner]
    if len(nodes) == 1 and isinstance(nodes[0].rule, Rule):
        return True
    return all(
        node.rule.occurs(node.args) if isinstance(node.rule, Rule) else not node.requires
        for node in nodes
    )


def _find_judged(rules: Ruleset) -> set[int]:
    """Return the milestones that a tier decides."""
    return {n for n, top in enumerate(rules.tops) if is_judged(rules.nodes[top].rule)}


def _list_revocable(rules: Ruleset) -> set[int]:
    """Return the milestones that something takes back."""
    specs = rules.task.milestones
    return {n for n, spec in enumerate(specs) if spec.revoke_on is not None}

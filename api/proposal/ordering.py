"""What a milestone of a proposal is to come after."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from api.proposal.support import ConditionSupport, Proposal


def list_anchors(support: ConditionSupport, proposal: Proposal) -> list[ConditionSupport]:
    """Return all that a milestone is to come after: the closing click, after what else the goal
    asks that every success had done before it."""
    if support is proposal.closing_click:
        earlier = _find_earlier(support, proposal.goal)
        return [one for one in proposal.goal if any(one is other for other in earlier)]
    anchor = find_anchor(support, proposal)
    return [] if anchor is None else [anchor]


def find_anchor(support: ConditionSupport, proposal: Proposal) -> ConditionSupport | None:
    """Return what a milestone is to come after; None: it counts at any time.

    What is no evidence by itself comes after what is. Anything else but a field, which may be
    filled in at any time, comes after the last of what was so in every success before it, and in a
    failure was not yet. The goal, and what its evidence rests on, may be reached in another way
    than these recordings show.
    """
    evidence = _find_evidence(support, proposal.milestones)
    rests = [_find_evidence(one, proposal.milestones) for one in proposal.goal]
    is_of_goal = any(one is support for one in (*proposal.goal, *rests))
    if evidence is not None or is_of_goal or support.rule == "field_filled":
        return evidence
    skipped = [
        one for one in _find_earlier(support, proposal.milestones) if _is_skipped(one, support)
    ]
    return max(skipped, key=lambda one: fmean(one.places), default=None)


def _find_evidence(
    support: ConditionSupport, milestones: Sequence[ConditionSupport]
) -> ConditionSupport | None:
    """Return what came last in every success before what is no evidence by itself.

    Before a file, which may have come from anywhere: what the task's site alone can meet, a request
    that it accepted, else a page. Before an address that any script of the page may put there: such
    a request, else what a hand did.
    """
    if support.rule == "file_matches":
        rules: tuple[str, ...] = ("request_accepted", "url_reached")
    elif support.is_by_script:
        rules = ("request_accepted", "element_clicked", "field_filled")
    else:
        return None
    earlier = _find_earlier(support, milestones)
    for rule in rules:
        of_rule = [one for one in earlier if one.rule == rule]
        if of_rule:
            return max(of_rule, key=lambda one: fmean(one.places))
    return None


def _find_earlier(
    support: ConditionSupport, milestones: Sequence[ConditionSupport]
) -> list[ConditionSupport]:
    """Return what every success met before, or by the same event."""
    return [
        one
        for one in milestones
        if one is not support
        and all(mine <= theirs for mine, theirs in zip(one.places, support.places, strict=True))
    ]


def _is_skipped(earlier: ConditionSupport, support: ConditionSupport) -> bool:
    """Return whether a failure met a condition before, or without, one that all successes met
    first."""
    if any(mine == theirs for mine, theirs in zip(earlier.places, support.places, strict=True)):
        return False
    return any(
        later is not None and (first is None or later < first)
        for first, later in zip(earlier.in_failures, support.in_failures, strict=True)
    )

"""What tells failures from successes where no single condition does, or only an exact one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from api.proposal.candidates import TaskCandidate
from api.proposal.measuring import collect_candidates, keep_separating, measure_candidates
from api.proposal.narrowing import narrow_candidates, text_candidates
from api.proposal.support import (
    DEEDS,
    EFFECTS,
    SETTINGS,
    ConditionSupport,
    RecordedRun,
    address_of,
    leaves_open,
    sort_by_place,
)
from detectors.model.json_value import JsonObject, JsonValue


def is_separation_missing(
    milestones: Sequence[ConditionSupport], bad: Sequence[RecordedRun]
) -> bool:
    """Return whether there are failures, and one of them met all that is definite: else each misses
    one of the conditions, where one may be wrong in this and another in that."""
    telling = find_telling(milestones)
    return bool(bad) and (not telling or bool(find_untold(telling)))


def find_telling(milestones: Sequence[ConditionSupport]) -> list[ConditionSupport]:
    """Return definite conditions of which each failure misses one, or as many failures as can be:
    what a server accepted before what shows it, what fewer failures met first."""
    closed = [one for one in milestones if not leaves_open(one)]
    left = {n for one in closed for n, _ in enumerate(one.in_failures)}
    told = []
    for one in sorted(closed, key=lambda one: (one.rule not in EFFECTS, one.in_bad)):
        missing = {n for n in left if one.in_failures[n] is None}
        if missing:
            told.append(one)
            left -= missing
    return told


def find_untold(conditions: Sequence[ConditionSupport]) -> set[int]:
    """Return the numbers of the failures that met all of some conditions."""
    met = [
        {n for n, place in enumerate(one.in_failures) if place is not None} for one in conditions
    ]
    return set.intersection(*met)


def hold_all_set(
    milestones: Sequence[ConditionSupport],
    good: Sequence[RecordedRun],
    bad: Sequence[RecordedRun],
    origin: str | None,
) -> list[ConditionSupport]:
    """Return the condition that what was filled in and switched stands as successes left it when
    they did their last deed, where failures do not meet it: one may have changed it again before.
    Nothing where an effect of what was done tells them apart, or there are no failures."""
    closed = [one for one in milestones if not leaves_open(one)]
    set_before = [one for one in closed if one.rule in SETTINGS]
    deeds = [one for one in closed if one.rule in DEEDS]
    has_effect = any(one.rule in EFFECTS and not one.in_bad for one in closed)
    if not bad or has_effect or not set_before or not deeds:
        return []
    conditions: list[JsonValue] = [dict(one.candidate.when) for one in set_before]
    wholes = _join_with_last_deed(conditions, deeds)
    return keep_separating(wholes, good, bad, origin)[:1]


def _join_with_last_deed(
    conditions: list[JsonValue], deeds: Sequence[ConditionSupport]
) -> list[tuple[TaskCandidate, str]]:
    """Return the conditions that all of ``conditions`` hold as the last deed is done, and at the
    same time as it, in any order."""
    last_deed, holding = deeds[-1], {"holding": True}
    saves = _list_saves(deeds)
    if len(saves) > 1:  # a page that saves each field by itself has no last deed
        together: list[JsonValue] = [*conditions, *(dict(one.candidate.when) for one in saves)]
        return [join_conditions("all_of", together, last_deed, holding)]
    last = dict(last_deed.candidate.when)
    whole: JsonValue = {"all_of": {"holding": True, "of": conditions}}
    first = whole if len(conditions) > 1 else conditions[0]
    return [
        join_conditions("sequence", [first, last], last_deed, holding),
        join_conditions("all_of", [*conditions, last], last_deed, holding),
    ]


def _list_saves(deeds: Sequence[ConditionSupport]) -> list[ConditionSupport]:
    """Return the requests to the address of the last deed; nothing where that is no request."""
    last = deeds[-1].candidate
    if deeds[-1].rule != "request_accepted":
        return []
    requests = [one for one in deeds if one.rule == "request_accepted"]
    return [one for one in requests if address_of(one.candidate) == address_of(last)]


def order_all(
    milestones: Sequence[ConditionSupport],
    good: Sequence[RecordedRun],
    bad: Sequence[RecordedRun],
    origin: str | None,
) -> list[ConditionSupport]:
    """Return the condition that all was done in the order of the successes, if they had one, where
    failures do not meet it."""
    closed = [one for one in milestones if not leaves_open(one)]
    if len(closed) < 2 or not _are_ordered(closed):
        return []
    conditions: list[JsonValue] = [dict(one.candidate.when) for one in closed]
    whole = join_conditions("sequence", conditions, closed[-1], {})
    return keep_separating([whole], good, bad, origin)


def ask_exactly(
    milestones: Sequence[ConditionSupport],
    good: Sequence[RecordedRun],
    bad: Sequence[RecordedRun],
    origin: str | None,
    notes: list[str],
) -> list[ConditionSupport]:
    """Return the milestones with exact addresses and surroundings in the place of open ones, where
    these tell failures from successes."""
    exact = measure_candidates(
        collect_candidates(good, origin, narrow_candidates), good, bad, origin
    )
    shared = [one for one in exact if one.in_good == len(good)]
    separating = [one for one in _last_of_best_rank(shared) if not one.in_bad]
    if not separating:
        return [*milestones]
    replaced = {one.candidate.part_of for one in separating}
    kept = [one for one in milestones if one.candidate.family not in replaced]
    notes.append(
        "only an exact address, or what a clicked element stands in, tells the failures from the"
        " successes: leave it open where it is another in the next run"
    )
    return sort_by_place([*kept, *separating])


def _last_of_best_rank(supports: Iterable[ConditionSupport]) -> list[ConditionSupport]:
    """Keep of each family the lowest rank, and of several conditions of that the one that was met
    last: what stands in the end."""
    best: dict[str, ConditionSupport] = {}
    for one in sort_by_place(supports):
        known = best.get(one.candidate.family)
        if known is None or one.candidate.rank <= known.candidate.rank:
            best[one.candidate.family] = one
    return [*best.values()]


def find_separating_text(
    good: Sequence[RecordedRun], bad: Sequence[RecordedRun], origin: str | None
) -> list[ConditionSupport]:
    """Return the last text that pages showed in all successes, and in no failure."""
    found = keep_separating(collect_candidates(good, origin, text_candidates), good, bad, origin)
    return sort_by_place(found)[-1:]


def join_conditions(
    rule: str, of: list[JsonValue], last: ConditionSupport, facts: JsonObject
) -> tuple[TaskCandidate, str]:
    """Return a condition on several ones, and the name of the log that it was made of."""
    when: JsonObject = {rule: {**facts, "of": of}}
    return TaskCandidate("all together", 0, when, last.candidate.event), last.log


def _are_ordered(supports: Sequence[ConditionSupport]) -> bool:
    """Return whether each success met the conditions in this order."""
    return all(
        mine <= theirs
        for one, following in pairwise(supports)
        for mine, theirs in zip(one.places, following.places, strict=True)
    )

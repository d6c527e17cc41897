"""Which candidates all successes share, and which of them failures lack: the engine itself finds
it, so that what is proposed is what is paid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from api.proposal.candidates import candidates_of, join_parts, join_within
from api.proposal.goal import choose_goal, find_closing_click, find_wanted, hold_until
from api.proposal.guarding import choose_guards
from api.proposal.measuring import (
    build_trial_task,
    collect_candidates,
    collect_state_candidates,
    measure_candidates,
)
from api.proposal.separating import (
    ask_exactly,
    find_separating_text,
    find_untold,
    hold_all_set,
    is_separation_missing,
    order_all,
)
from api.proposal.slots import fill_task
from api.proposal.support import (
    ConditionSupport,
    Proposal,
    RecordedRun,
    address_of,
    facts_of,
    fields_of,
    leaves_open,
    sort_by_place,
)
from api.proposal.unusable import list_unusable
from api.suggestions.drawn_texts import MAY_BE_DRAWN, list_drawn
from detectors.engine.engine import Engine
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json

MAX_ALONE = 3
"""Deeds of one success that are named where successes share none."""


def propose(
    good: Sequence[RecordedRun],
    bad: Sequence[RecordedRun],
    origin: str | None,
    instruction: str = "",
) -> Proposal:
    """Find what all of ``good`` share and ``bad`` lacks; ``instruction``: what the agent was told
    in them, if that is known. Raises `ValueError` where nothing is shared."""
    supports = _find_supports(good, bad, origin)
    notes: list[str] = []
    milestones = _choose_milestones(supports, good, bad, origin, notes)
    separating = choose_goal(milestones, len(bad), notes)
    goal = [*separating, *find_wanted(milestones, separating, instruction)]
    closing_click = find_closing_click(milestones, goal)
    if closing_click is not None:
        as_set = hold_until(closing_click, goal, good, bad, origin)
        milestones = [as_set if one is closing_click else one for one in milestones]
        closing_click = as_set
        goal = [*goal, closing_click]
    guards = choose_guards(supports, good, bad)
    unknown_steps = list(_count_unknown_steps([*good, *bad], origin, milestones))
    notes += [one.describe() for one in unknown_steps if one.unknown]
    is_decided = bool(bad) and _is_decided(separating, unknown_steps[len(good) :])
    if bad and not is_decided:
        notes += _name_unusable(good, origin)
    if len(good) == 1:
        notes.append("one success alone: what it did by the way cannot be told from what it had to")
        notes += _name_drawn(milestones, good[0])
    ends = None if closing_click is None or closing_click.is_choice else closing_click
    return Proposal(milestones, goal, guards, notes, is_decided, ends)


def _find_supports(
    good: Sequence[RecordedRun], bad: Sequence[RecordedRun], origin: str | None
) -> list[ConditionSupport]:
    """Return all that the runs' events meet, and the states that all successes brought about."""
    states = collect_state_candidates(good, origin)
    sent = {address_of(one) for one, _ in states}  # what they carry is told by their facts
    is_one_task = not any(log.values for log in (*good, *bad))
    make = partial(candidates_of, by_path=is_one_task)
    collected = collect_candidates([*good, *bad], origin, make)
    deeds = [one for one in collected if address_of(one[0]) not in sent]
    return measure_candidates([*deeds, *states], good, bad, origin)


def _choose_milestones(
    supports: Sequence[ConditionSupport],
    good: Sequence[RecordedRun],
    bad: Sequence[RecordedRun],
    origin: str | None,
    notes: list[str],
) -> list[ConditionSupport]:
    """Choose of all that the successes share what says most, in their order. Where nothing of it
    tells failures from successes, that is looked for: in exact conditions, in what pages showed, in
    the order of what was done. Raises `ValueError` where nothing is shared."""
    shared = [one for one in supports if one.in_good == len(good)]
    joined = _find_joined(shared, supports, good, bad, origin)
    shared = [one for one in (*joined, *shared) if not one.candidate.part_of]
    milestones = sort_by_place(_drop_implied(_most_specific(shared)))
    milestones += hold_all_set(milestones, good, bad, origin)
    if is_separation_missing(milestones, bad):
        milestones = ask_exactly(milestones, good, bad, origin, notes)
    if not milestones or is_separation_missing(milestones, bad):
        milestones = sort_by_place([*milestones, *find_separating_text(good, bad, origin)])
    if not milestones:
        raise ValueError(_describe_nothing_shared(good, supports, origin))
    if is_separation_missing(milestones, bad):
        milestones += order_all(milestones, good, bad, origin)
    return milestones


def _name_unusable(good: Sequence[RecordedRun], origin: str | None) -> Iterator[str]:
    """Yield a note of what successes did that no condition can be made of."""
    for run in good:
        for reason in list_unusable(run.events, run.origin or origin):
            yield f"{run.name}, {reason}"


def _describe_nothing_shared(
    good: Sequence[RecordedRun], supports: Sequence[ConditionSupport], origin: str | None
) -> str:
    """Return why no task can be proposed: what each success did alone, and what of it a proposal
    cannot use."""
    said = ["the recordings of successes share nothing that a rule could tell"]
    for run in good:
        of_run = (one.candidate.family for one in supports if one.log == run.name)
        alone = list(dict.fromkeys(of_run))[:MAX_ALONE]
        reasons = list_unusable(run.events, run.origin or origin)
        if alone and len(good) > 1:
            said.append(f"{run.name}: it alone has {', '.join(alone)}")
        said += [f"{run.name}: {reason}" for reason in reasons]
    return "\n".join(said)


def _name_drawn(milestones: Sequence[ConditionSupport], run: RecordedRun) -> Iterator[str]:
    """Yield a note of what a run's conditions ask that looks drawn, or like the time of doing,
    though nobody typed it."""
    typed = {str(event.data.get("value")) for event in run.events if event.kind == "field.filled"}
    found = list_drawn([one.candidate.when for one in milestones])
    drawn = [part for part in found if part not in typed]
    if drawn:
        yield f"{MAY_BE_DRAWN}: {', '.join(drawn)}"


def _is_decided(goal: Sequence[ConditionSupport], of_failures: Sequence[_UnknownSteps]) -> bool:
    """Return whether it is known that no failure met the goal."""
    closed = [one for one in goal if not leaves_open(one)]
    is_missed = bool(closed) and not find_untold(closed)
    return is_missed and not any(one.unknown for one in of_failures)


@dataclass(frozen=True, slots=True)
class _UnknownSteps:
    """How many of a recording's steps are not known under what is proposed: what was reached in one
    does not show, and is not known to be missing."""

    name: str
    unknown: int
    count: int

    def describe(self) -> str:
        """Return it as a note of the proposal."""
        return (
            f"{self.unknown} of {self.count} steps of {self.name} are not known: what it lacks may"
            " be there"
        )


def _count_unknown_steps(
    logs: Sequence[RecordedRun], origin: str | None, milestones: Sequence[ConditionSupport]
) -> Iterator[_UnknownSteps]:
    """Yield for each recording how many of its steps are not known."""
    candidates = [one.candidate for one in milestones]
    for log in logs:
        task = fill_task(build_trial_task(candidates, log.origin or origin), log.values)
        rules = compile_task(task_from_json(task))
        rewards = Engine(rules, log.events[0].episode).feed(log.events).rewards
        unknown = sum(reward.reward is None for reward in rewards)
        yield _UnknownSteps(log.name, unknown, len(rewards))


def _find_joined(
    shared: Sequence[ConditionSupport],
    supports: Sequence[ConditionSupport],
    good: Sequence[RecordedRun],
    bad: Sequence[RecordedRun],
    origin: str | None,
) -> list[ConditionSupport]:
    """Return one condition a request, of the fields of its body that all successes share: of
    requests to one address that carry different fields, the last that all successes made."""
    parts: dict[str, list[ConditionSupport]] = {}
    for one in shared:
        if one.candidate.part_of:
            parts.setdefault(one.candidate.part_of, []).append(one)
    joined = []
    names = {log.name for log in good}
    for family, of in parts.items():
        own = (one for one in supports if one.log in names)
        bodies = [one.candidate for one in own if one.candidate.family == family]
        together = join_parts([one.candidate for one in of])
        within = [*join_within(bodies, [one.candidate for one in of]), together]
        measured = measure_candidates([(one, of[0].log) for one in within], good, bad, origin)
        joined += _last_of_each_part([one for one in measured if one.in_good == len(good)])
    return joined


def _last_of_each_part(bodies: Sequence[ConditionSupport]) -> list[ConditionSupport]:
    """Return the last of conditions on the bodies of one address, and before it the last ones that
    have no field of those: of {quantity}, {price} and {quantity} again the last two."""
    kept: list[ConditionSupport] = []
    known: set[str] = set()
    for one in reversed(bodies):
        fields = fields_of(one)
        if kept and known & fields:
            continue
        family = one.candidate.family
        named = one.candidate._replace(family=f"{family} {' '.join(sorted(fields))}")
        kept.append(replace(one, candidate=named) if kept else one)
        known |= fields
    return kept


def _drop_implied(supports: Sequence[ConditionSupport]) -> list[ConditionSupport]:
    """Drop a click on an element of some name where the same click is asked for with what the
    element stands in."""
    placed = {one.candidate.event for one in supports if "around" in facts_of(one)}
    return [
        one
        for one in supports
        if one.candidate.event not in placed
        or one.rule != "element_clicked"
        or "around" in facts_of(one)
    ]


def _most_specific(supports: Iterable[ConditionSupport]) -> list[ConditionSupport]:
    """Keep of each family what says most: the lowest rank, and of several values of a field the one
    that it had last."""
    best: dict[str, ConditionSupport] = {}
    for one in supports:
        known = best.get(one.candidate.family)
        if known is None or one.candidate.rank < known.candidate.rank or _is_later(one, known):
            best[one.candidate.family] = one
    return list(best.values())


def _is_later(value: ConditionSupport, known: ConditionSupport) -> bool:
    """Return whether a field had a value after another one, in the successes' mean."""
    is_same = value.candidate.rank == known.candidate.rank and value.rule == "field_filled"
    return is_same and fmean(value.places) > fmean(known.places)

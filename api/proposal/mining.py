"""Which candidates all successes share, and which of them failures lack: the engine itself finds
it, so that what is proposed is what is paid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from statistics import fmean

from api.proposal.candidates import (
    ANY_TEXT,
    CHOICES,
    TaskCandidate,
    candidates_of,
    join_parts,
    join_within,
)
from api.proposal.named_values import is_slot, stands_in, stands_in_condition
from api.proposal.narrowing import narrow_candidates, text_candidates
from api.proposal.slots import Values, fill_task, with_slots
from api.proposal.states import state_candidates
from api.proposal.unusable import list_unusable
from api.proposal.weighing import EVEN_WEIGHTS
from api.suggestions.drawn_texts import MAY_BE_DRAWN, list_drawn
from api.suggestions.event_values import OPERATION
from detectors.engine.engine import Engine
from detectors.model.codec import canonical
from detectors.model.json_value import JsonObject, JsonValue
from detectors.model.optional_values import without_none
from detectors.model.rewards import episode_total
from detectors.model.safe_json import mapping
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import TaskError, task_from_json

CandidateMaker = Callable[[Sequence[Event], str | None], Iterator[TaskCandidate]]
"""Makes candidates of a log's events and the task's site."""

MAX_CANDIDATES = 1_500
EFFECTS = frozenset(("state_accepted", "request_accepted", "file_matches", "answer_matches"))
"""Rules of what a server, the disk or the user got: what a goal is made of, if there is any."""
SETTINGS = ("field_filled", "element_state")
"""Rules of what can be set otherwise again before the last deed."""
STANDING = ("url_reached", "window_opened", "tool_called", *SETTINGS)
SOME_ALIKE = "nothing separates the failures from the successes, in some of them"
"""What is said where the goal tells some failures from the successes, and not all."""
DEEDS = ("element_clicked", "request_accepted", "url_reached")
"""Rules of which the last one that all successes met may be what ends the task."""
MAX_GUARDS = 5
MAX_ALONE = 3
"""Deeds of one success that are named where successes share none."""
MIN_NAMED = 3
"""Characters of a value that is looked for in an instruction."""
GUARDED_DEEDS = ("element_clicked", "file_matches")
MIN_GUARD_RUNS = 2
"""Failures that did it, and successes that did not, below which a click or a file is no guard."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A recording: its name, its events, what its instruction gives the template's slots, and its
    site, where it is another than that of the task."""

    name: str
    events: Sequence[Event]
    values: Values = field(default_factory=dict)
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class ConditionSupport:
    """In how many successes and failures a condition was met. ``places``: where it stood in each of
    the successes, 0 is the first event, 1 the last; ``in_failures``: the same of each failure, None
    where it was not met; ``log`` has the event it was made of."""

    candidate: TaskCandidate
    log: str
    in_good: int
    places: tuple[float, ...]
    in_failures: tuple[float | None, ...]

    @property
    def in_bad(self) -> int:
        """In how many failures it was met."""
        return sum(place is not None for place in self.in_failures)

    @property
    def rule(self) -> str:
        """The name of the candidate's rule."""
        return next(iter(self.candidate.when))

    @property
    def is_by_script(self) -> bool:
        """Whether it is an address that only page script put there, in some of the recordings."""
        return mapping(self.candidate.when.get("url_reached")).get("loaded") is False

    @property
    def is_choice(self) -> bool:
        """Whether it is a click that chooses one of several values, and sends nothing."""
        role = mapping(self.candidate.when.get("element_clicked")).get("role")
        return isinstance(role, str) and role in CHOICES

    @property
    def is_switch(self) -> bool:
        """Whether it is a switch, or a box that a page made itself, that stands as it was set."""
        return "checked" in mapping(self.candidate.when.get("element_state"))

    @property
    def is_by_path(self) -> bool:
        """Whether it names an element by its place in the page."""
        of_elements = (self.candidate.when.get(rule) for rule in ("element_clicked", *SETTINGS))
        return any("path" in mapping(facts) for facts in of_elements)


@dataclass(frozen=True, slots=True)
class Proposal:
    """``milestones`` in the order in which successes reached them; ``goal``: those of them that
    make the goal; ``guards``: what only failures did; ``notes``: what could not be found out.
    ``is_decided``: every success met the goal, and no failure did, of which all steps are known;
    ``closing_click``: the click of the goal that ended every success, and tells no failure
    apart."""

    milestones: list[ConditionSupport]
    goal: list[ConditionSupport]
    guards: list[ConditionSupport]
    notes: list[str]
    is_decided: bool
    closing_click: ConditionSupport | None = None


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
    separating = _choose_goal(milestones, len(bad), notes)
    goal = [*separating, *_find_wanted(milestones, separating, instruction)]
    closing_click = _find_closing_click(milestones, goal)
    if closing_click is not None:
        as_set = _hold_until(closing_click, goal, good, bad, origin)
        milestones = [as_set if one is closing_click else one for one in milestones]
        closing_click = as_set
        goal = [*goal, closing_click]
    guards = _choose_guards(supports, good, bad)
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
    states = _collect_states(good, origin)
    sent = {_address_of(one) for one, _ in states}  # what they carry is told by their facts
    is_one_task = not any(log.values for log in (*good, *bad))
    make = partial(candidates_of, by_path=is_one_task)
    collected = _collect([*good, *bad], origin, make)
    deeds = [one for one in collected if _address_of(one[0]) not in sent]
    return _measure([*deeds, *states], good, bad, origin)


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
    milestones = _sort(_drop_implied(_most_specific(shared)))
    milestones += _hold_all_set(milestones, good, bad, origin)
    if _is_lacking(milestones, bad):
        milestones = _narrow(milestones, good, bad, origin, notes)
    if not milestones or _is_lacking(milestones, bad):
        milestones = _sort([*milestones, *_find_text(good, bad, origin)])
    if not milestones:
        raise ValueError(_describe_nothing_shared(good, supports, origin))
    if _is_lacking(milestones, bad):
        milestones += _order_all(milestones, good, bad, origin)
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


def _is_decided(goal: Sequence[ConditionSupport], of_failures: Sequence[_UnknownSteps]) -> bool:
    """Return whether it is known that no failure met the goal."""
    closed = [one for one in goal if not _leaves_open(one)]
    is_missed = bool(closed) and not _find_untold(closed)
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
        task = fill_task(_task_of(candidates, log.origin or origin), log.values)
        rules = compile_task(task_from_json(task))
        rewards = Engine(rules, log.events[0].episode).feed(log.events).rewards
        unknown = sum(reward.reward is None for reward in rewards)
        yield _UnknownSteps(log.name, unknown, len(rewards))


def _choose_guards(
    supports: Sequence[ConditionSupport], good: Sequence[RecordedRun], bad: Sequence[RecordedRun]
) -> list[ConditionSupport]:
    """Choose what failures alone did: requests, whatever they carried; else clicks and files of
    several failures, at least half of them, where several successes lack such a thing.

    A click may be harmless where a request has an effect. So one whose failures all sent a guarded
    request is none; and where runs are told different things, neither clicks nor files are: what is
    wrong in one may be right in the next.
    """
    requests = [one for one in supports if _is_guarded_request(one)]
    is_one_task = not any(log.values for log in (*good, *bad))
    least = max(MIN_GUARD_RUNS, (len(bad) + 1) // 2)
    deeds: dict[str, ConditionSupport] = {}
    if is_one_task and len(good) >= MIN_GUARD_RUNS:
        of_good = {one.candidate.family for one in supports if one.in_good}
        for one in supports:
            is_new = one.candidate.family not in of_good
            is_often = one.in_bad >= least and not _is_told_by(one, requests)
            if one.rule in GUARDED_DEEDS and is_new and is_often:
                deeds.setdefault(one.candidate.family, one)
    return [*requests, *deeds.values()][:MAX_GUARDS]


def _is_guarded_request(support: ConditionSupport) -> bool:
    """Return whether failures alone sent such a request, whatever it carried."""
    has_body = bool(_fields_of(support) - {OPERATION})
    is_request = (
        support.rule == "request_accepted" and not has_body and not support.candidate.part_of
    )
    return is_request and support.in_bad > 0 and not support.in_good


def _is_told_by(support: ConditionSupport, requests: Sequence[ConditionSupport]) -> bool:
    """Return whether each failure that met a condition met one of ``requests`` too."""
    return all(
        place is None or any(one.in_failures[n] is not None for one in requests)
        for n, place in enumerate(support.in_failures)
    )


def score_log(rules: Ruleset, log: RecordedRun) -> float | None:
    """Return what a log is worth under the rules: the sum of its rewards, None where one of them is
    not known."""
    rewards = Engine(rules, log.events[0].episode).feed(log.events).rewards
    return episode_total(reward.reward for reward in rewards)


def _sort(milestones: Iterable[ConditionSupport]) -> list[ConditionSupport]:
    """Return milestones in the order in which the successes met them."""
    return sorted(milestones, key=lambda one: fmean(one.places))


def _is_lacking(milestones: Sequence[ConditionSupport], bad: Sequence[RecordedRun]) -> bool:
    """Return whether there are failures, and one of them met all that is definite: else each misses
    one of the conditions, where one may be wrong in this and another in that."""
    telling = _find_telling(milestones)
    return bool(bad) and (not telling or bool(_find_untold(telling)))


def _find_telling(milestones: Sequence[ConditionSupport]) -> list[ConditionSupport]:
    """Return definite conditions of which each failure misses one, or as many failures as can be:
    what a server accepted before what shows it, what fewer failures met first."""
    closed = [one for one in milestones if not _leaves_open(one)]
    left = {n for one in closed for n, _ in enumerate(one.in_failures)}
    told = []
    for one in sorted(closed, key=lambda one: (one.rule not in EFFECTS, one.in_bad)):
        missing = {n for n in left if one.in_failures[n] is None}
        if missing:
            told.append(one)
            left -= missing
    return told


def _find_untold(conditions: Sequence[ConditionSupport]) -> set[int]:
    """Return the numbers of the failures that met all of some conditions."""
    met = [
        {n for n, place in enumerate(one.in_failures) if place is not None} for one in conditions
    ]
    return set.intersection(*met)


def _hold_all_set(
    milestones: Sequence[ConditionSupport],
    good: Sequence[RecordedRun],
    bad: Sequence[RecordedRun],
    origin: str | None,
) -> list[ConditionSupport]:
    """Return the condition that what was filled in and switched stands as successes left it when
    they did their last deed, where failures do not meet it: one may have changed it again before.
    Nothing where an effect of what was done tells them apart, or there are no failures."""
    closed = [one for one in milestones if not _leaves_open(one)]
    set_before = [one for one in closed if one.rule in SETTINGS]
    deeds = [one for one in closed if one.rule in DEEDS]
    has_effect = any(one.rule in EFFECTS and not one.in_bad for one in closed)
    if not bad or has_effect or not set_before or not deeds:
        return []
    conditions: list[JsonValue] = [dict(one.candidate.when) for one in set_before]
    last = dict(deeds[-1].candidate.when)
    whole: JsonValue = {"all_of": {"holding": True, "of": conditions}}
    first = whole if len(conditions) > 1 else conditions[0]
    saves = _list_saves(deeds)
    candidates = [
        _join_conditions("sequence", [first, last], deeds[-1], {"holding": True}),
        _join_conditions("all_of", [*conditions, last], deeds[-1], {"holding": True}),
    ]
    if len(saves) > 1:  # a page that saves each field by itself has no last deed
        together: list[JsonValue] = [*conditions, *(dict(one.candidate.when) for one in saves)]
        candidates = [_join_conditions("all_of", together, deeds[-1], {"holding": True})]
    return _keep_separating(candidates, good, bad, origin)[:1]


def _list_saves(deeds: Sequence[ConditionSupport]) -> list[ConditionSupport]:
    """Return the requests to the address of the last deed; nothing where that is no request."""
    last = deeds[-1].candidate
    if deeds[-1].rule != "request_accepted":
        return []
    requests = [one for one in deeds if one.rule == "request_accepted"]
    return [one for one in requests if _address_of(one.candidate) == _address_of(last)]


def _order_all(
    milestones: Sequence[ConditionSupport],
    good: Sequence[RecordedRun],
    bad: Sequence[RecordedRun],
    origin: str | None,
) -> list[ConditionSupport]:
    """Return the condition that all was done in the order of the successes, if they had one, where
    failures do not meet it."""
    closed = [one for one in milestones if not _leaves_open(one)]
    if len(closed) < 2 or not _are_ordered(closed):
        return []
    conditions: list[JsonValue] = [dict(one.candidate.when) for one in closed]
    whole = _join_conditions("sequence", conditions, closed[-1], {})
    return _keep_separating([whole], good, bad, origin)


def _keep_separating(
    candidates: Sequence[tuple[TaskCandidate, str]],
    good: Sequence[RecordedRun],
    bad: Sequence[RecordedRun],
    origin: str | None,
) -> list[ConditionSupport]:
    """Return those of the conditions that all successes met, and no failure."""
    found = _measure(candidates, good, bad, origin)
    return [one for one in found if one.in_good == len(good) and not one.in_bad]


def _narrow(
    milestones: Sequence[ConditionSupport],
    good: Sequence[RecordedRun],
    bad: Sequence[RecordedRun],
    origin: str | None,
    notes: list[str],
) -> list[ConditionSupport]:
    """Return the milestones with exact addresses and surroundings in the place of open ones, where
    these tell failures from successes."""
    exact = _measure(_collect(good, origin, narrow_candidates), good, bad, origin)
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
    return _sort([*kept, *separating])


def _last_of_best_rank(supports: Iterable[ConditionSupport]) -> list[ConditionSupport]:
    """Keep of each family the lowest rank, and of several conditions of that the one that was met
    last: what stands in the end."""
    best: dict[str, ConditionSupport] = {}
    for one in _sort(supports):
        known = best.get(one.candidate.family)
        if known is None or one.candidate.rank <= known.candidate.rank:
            best[one.candidate.family] = one
    return [*best.values()]


def _find_text(
    good: Sequence[RecordedRun], bad: Sequence[RecordedRun], origin: str | None
) -> list[ConditionSupport]:
    """Return the last text that pages showed in all successes, and in no failure."""
    found = _keep_separating(_collect(good, origin, text_candidates), good, bad, origin)
    return _sort(found)[-1:]


def _join_conditions(
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


def _leaves_open(support: ConditionSupport) -> bool:
    """Return whether a condition takes any text: the successes' differed, by no slot."""
    return mapping(support.candidate.when.get("field_filled")).get("value") == ANY_TEXT


def _choose_goal(
    milestones: Sequence[ConditionSupport], bad: int, notes: list[str]
) -> list[ConditionSupport]:
    """Choose what separates successes from failures: effects, if there are any, else all that was
    filled in together with the last deed, else what pages showed."""
    if not bad:
        notes.append("no failure to compare with: the goal may be reached by runs that fail")
    separating = [one for one in milestones if not one.in_bad]
    closed = [one for one in separating if not _leaves_open(one)]
    for rules in (
        EFFECTS,
        frozenset(("all_of", "sequence")),
        frozenset(STANDING),
        frozenset(DEEDS),
        frozenset(("text_visible",)),
    ):
        chosen = [one for one in closed if one.rule in rules]
        if chosen:
            if rules is not EFFECTS:
                notes.append("the goal rests on what pages show, on no effect of what was done")
            return chosen
    telling = _find_telling(milestones)
    if telling and bad:
        notes += [] if not _find_untold(telling) else [SOME_ALIKE]
        return telling
    if separating:
        notes.append("failures lack only what may be anything: what it has to be is not known")
        return separating
    notes.append("nothing separates the failures from the successes: their last deed is the goal")
    return [milestones[-1]]


def _find_wanted(
    milestones: Sequence[ConditionSupport], goal: Sequence[ConditionSupport], instruction: str
) -> list[ConditionSupport]:
    """Return what every success filled in, chose or sent with a value of the instruction, of which
    the goal says nothing: failures that happened to do it too do not make it optional. What a
    server accepted is asked for before what shows it. A switch that every success set is asked for
    where no effect may carry it: what it is called need not stand in an instruction."""
    found: list[ConditionSupport] = []
    asked = [*goal]
    has_effect = any(one.rule in EFFECTS or one.rule in ("all_of", "sequence") for one in goal)
    for one in sorted(milestones, key=lambda one: one.rule not in EFFECTS):
        values = [value for value in _list_set_values(one) if _is_wanted(value, instruction)]
        is_new = any(
            not any(stands_in_condition(value, other.candidate.when) for other in asked)
            for value in values
        )
        if (is_new or (one.is_switch and not has_effect)) and not any(
            one is other for other in asked
        ):
            found.append(one)
            asked.append(one)
    return found


def _is_wanted(value: str, instruction: str) -> bool:
    """Return whether a value is one of the instruction, or of a template's slot."""
    return is_slot(value) or _is_named(value, instruction)


def _list_set_values(support: ConditionSupport) -> Iterator[str]:
    """Yield what a condition says was filled in, chosen or sent."""
    facts = _facts_of(support)
    if support.rule == "field_filled" and isinstance(facts.get("value"), str):
        yield str(facts["value"])
    elif support.rule == "request_accepted":
        values = mapping(facts.get("body")).values()
        yield from (str(value) for value in values if isinstance(value, str | int | float))
    elif support.is_choice:
        yield str(facts.get("name"))


def _find_closing_click(
    milestones: Sequence[ConditionSupport], goal: Sequence[ConditionSupport]
) -> ConditionSupport | None:
    """Return the click that ended every success, where the goal rests on what pages show and was
    so before it: a run that never sends what it filled in has not done the task."""
    if any(one.rule in EFFECTS or one.rule in ("all_of", "sequence") for one in goal):
        return None
    clicks = [one for one in milestones if one.rule == "element_clicked"]
    is_last = bool(clicks) and all(_is_after(clicks[-1], one) for one in goal)
    return clicks[-1] if is_last else None


def _hold_until(
    click: ConditionSupport,
    goal: Sequence[ConditionSupport],
    good: Sequence[RecordedRun],
    bad: Sequence[RecordedRun],
    origin: str | None,
) -> ConditionSupport:
    """Return the condition that the switches of a goal stand so as a click is made, where all
    successes meet it; else the click alone. Set back before it, they were not sent."""
    switches: list[JsonValue] = [dict(one.candidate.when) for one in goal if one.is_switch]
    if not switches or click.is_choice:
        return click
    whole: JsonValue = {"all_of": {"holding": True, "of": switches}}
    first = switches[0] if len(switches) == 1 else whole
    of: list[JsonValue] = [first, dict(click.candidate.when)]
    joined = _join_conditions("sequence", of, click, {"holding": True})
    [found] = _measure([joined], good, bad, origin)
    return found if found.in_good == len(good) else click


def _is_after(later: ConditionSupport, earlier: ConditionSupport) -> bool:
    """Return whether every success met one condition after another."""
    return all(mine < theirs for mine, theirs in zip(earlier.places, later.places, strict=True))


def _is_named(value: str, instruction: str) -> bool:
    """Return whether a value is a number, or long enough to be looked for, and stands in the
    instruction."""
    return (value.isdigit() or len(value) >= MIN_NAMED) and stands_in(value, instruction)


def _collect(
    logs: Sequence[RecordedRun], origin: str | None, make: CandidateMaker
) -> list[tuple[TaskCandidate, str]]:
    """Return the candidates of all logs, each once, with the name of its first log."""
    found: dict[bytes, tuple[TaskCandidate, RecordedRun]] = {}
    for log in logs:
        for candidate in make(log.events, log.origin or origin):
            for one in (*with_slots(candidate, log.values), candidate):
                if len(found) < MAX_CANDIDATES:
                    # A body of one field is a whole body and a part of it: both are kept.
                    found.setdefault(canonical([one.part_of, dict(one.when)]), (one, log))
    return [
        (candidate, log.name)
        for candidate, log in found.values()
        if _is_valid(candidate, origin, [log.values, *(other.values for other in logs)])
    ]


def _collect_states(
    good: Sequence[RecordedRun], origin: str | None
) -> list[tuple[TaskCandidate, str]]:
    """Return what the successes changed in the state that their application sent."""
    logs = [log.events for log in good]
    found = state_candidates(logs, [log.origin or origin for log in good])
    values = [log.values for log in good]
    return [(one, good[0].name) for one in found if _is_valid(one, origin, values)]


def _address_of(candidate: TaskCandidate) -> tuple[JsonValue, JsonValue] | None:
    """Return method and address of a request whose content is asked for; None for others."""
    [about] = map(mapping, candidate.when.values())
    has_content = "body" in about or "facts" in about
    return (about.get("method"), about.get("url")) if has_content else None


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
        measured = _measure([(one, of[0].log) for one in within], good, bad, origin)
        joined += _last_of_each_part([one for one in measured if one.in_good == len(good)])
    return joined


def _last_of_each_part(bodies: Sequence[ConditionSupport]) -> list[ConditionSupport]:
    """Return the last of conditions on the bodies of one address, and before it the last ones that
    have no field of those: of {quantity}, {price} and {quantity} again the last two."""
    kept: list[ConditionSupport] = []
    known: set[str] = set()
    for one in reversed(bodies):
        fields = _fields_of(one)
        if kept and known & fields:
            continue
        family = one.candidate.family
        named = one.candidate._replace(family=f"{family} {' '.join(sorted(fields))}")
        kept.append(replace(one, candidate=named) if kept else one)
        known |= fields
    return kept


def _fields_of(support: ConditionSupport) -> set[str]:
    """Return the names of the fields of a body that a condition asks for."""
    return {*mapping(mapping(support.candidate.when.get("request_accepted")).get("body"))}


def _measure(
    candidates: Sequence[tuple[TaskCandidate, str]],
    good: Sequence[RecordedRun],
    bad: Sequence[RecordedRun],
    origin: str | None,
) -> list[ConditionSupport]:
    """Return where each candidate is met, as the engine finds it."""
    if not candidates:
        return []
    met = [_first_met([one for one, _ in candidates], log, origin) for log in (*good, *bad)]
    supports = []
    for number, (candidate, name) in enumerate(candidates):
        places = [of[number] for of in met]
        in_good = without_none(places[: len(good)])
        in_failures = tuple(places[len(good) :])
        supports.append(
            ConditionSupport(candidate, name, len(in_good), tuple(in_good), in_failures)
        )
    return supports


def _is_valid(candidate: TaskCandidate, origin: str | None, fillings: Sequence[Values]) -> bool:
    """Return whether a task may say so, with the values of each run: what pages wrote need not be
    a value that a rule takes."""
    task = _task_of([candidate], origin)
    try:
        task_from_json(fill_task(task, fillings[0]))
        if fillings[0]:
            for values in fillings[1:]:
                task_from_json(fill_task(task, values))
    except TaskError:
        return False
    return True


def _first_met(
    candidates: Sequence[TaskCandidate], log: RecordedRun, origin: str | None
) -> list[float | None]:
    """Return where in a log each candidate was met first, as a share of it; None: nowhere."""
    task = fill_task(_task_of(candidates, log.origin or origin), log.values)
    rules = compile_task(task_from_json(task))
    engine = Engine(rules, log.events[0].episode)
    places: dict[str, float] = {}
    for milestone in engine.feed(log.events).milestones:
        place = max(milestone.evidence, default=0) / len(log.events)
        places.setdefault(milestone.id, place)
    return [places.get(f"m{number}") for number in range(len(candidates))]


def _task_of(candidates: Sequence[TaskCandidate], origin: str | None) -> dict[str, JsonValue]:
    """Return a task with one milestone a candidate, to score recordings by."""
    milestones: list[JsonValue] = [
        {"id": f"m{number}", "when": dict(candidate.when)}
        for number, candidate in enumerate(candidates)
    ]
    task: dict[str, JsonValue] = {
        "id": "proposal",
        "version": "1",
        "instruction": "proposal",
        "weights": dict(EVEN_WEIGHTS),
        "milestones": milestones,
    }
    return {**task, "origin": origin} if origin else task


def _drop_implied(supports: Sequence[ConditionSupport]) -> list[ConditionSupport]:
    """Drop a click on an element of some name where the same click is asked for with what the
    element stands in."""
    placed = {one.candidate.event for one in supports if "around" in _facts_of(one)}
    return [
        one
        for one in supports
        if one.candidate.event not in placed
        or one.rule != "element_clicked"
        or "around" in _facts_of(one)
    ]


def _facts_of(support: ConditionSupport) -> Mapping[str, JsonValue]:
    return mapping(support.candidate.when.get(support.rule))


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

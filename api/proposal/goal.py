"""Which of the conditions that successes share make the goal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from api.proposal.measuring import measure_candidates
from api.proposal.named_values import is_slot, stands_in, stands_in_condition
from api.proposal.separating import find_telling, find_untold, join_conditions
from api.proposal.support import (
    DEEDS,
    EFFECTS,
    SETTINGS,
    ConditionSupport,
    RecordedRun,
    facts_of,
    leaves_open,
)
from detectors.model.json_value import JsonValue
from detectors.model.safe_json import mapping

STANDING = ("url_reached", "window_opened", "tool_called", *SETTINGS)

SOME_ALIKE = "nothing separates the failures from the successes, in some of them"
"""What is said where the goal tells some failures from the successes, and not all."""

MIN_NAMED = 3
"""Characters of a value that is looked for in an instruction."""


def choose_goal(
    milestones: Sequence[ConditionSupport], bad: int, notes: list[str]
) -> list[ConditionSupport]:
    """Choose what separates successes from failures: effects, if there are any, else all that was
    filled in together with the last deed, else what pages showed."""
    if not bad:
        notes.append("no failure to compare with: the goal may be reached by runs that fail")
    separating = [one for one in milestones if not one.in_bad]
    closed = [one for one in separating if not leaves_open(one)]
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
    telling = find_telling(milestones)
    if telling and bad:
        notes += [] if not find_untold(telling) else [SOME_ALIKE]
        return telling
    if separating:
        notes.append("failures lack only what may be anything: what it has to be is not known")
        return separating
    notes.append("nothing separates the failures from the successes: their last deed is the goal")
    return [milestones[-1]]


def find_wanted(
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
    facts = facts_of(support)
    if support.rule == "field_filled" and isinstance(facts.get("value"), str):
        yield str(facts["value"])
    elif support.rule == "request_accepted":
        values = mapping(facts.get("body")).values()
        yield from (str(value) for value in values if isinstance(value, str | int | float))
    elif support.is_choice:
        yield str(facts.get("name"))


def find_closing_click(
    milestones: Sequence[ConditionSupport], goal: Sequence[ConditionSupport]
) -> ConditionSupport | None:
    """Return the click that ended every success, where the goal rests on what pages show and was
    so before it: a run that never sends what it filled in has not done the task."""
    if any(one.rule in EFFECTS or one.rule in ("all_of", "sequence") for one in goal):
        return None
    clicks = [one for one in milestones if one.rule == "element_clicked"]
    is_last = bool(clicks) and all(_is_after(clicks[-1], one) for one in goal)
    return clicks[-1] if is_last else None


def hold_until(
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
    joined = join_conditions("sequence", of, click, {"holding": True})
    [found] = measure_candidates([joined], good, bad, origin)
    return found if found.in_good == len(good) else click


def _is_after(later: ConditionSupport, earlier: ConditionSupport) -> bool:
    """Return whether every success met one condition after another."""
    return all(mine < theirs for mine, theirs in zip(earlier.places, later.places, strict=True))


def _is_named(value: str, instruction: str) -> bool:
    """Return whether a value is a number, or long enough to be looked for, and stands in the
    instruction."""
    return (value.isdigit() or len(value) >= MIN_NAMED) and stands_in(value, instruction)

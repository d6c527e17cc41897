"""What one click was on, against what the goal names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from api.stages.model import looks
from api.stages.model.compared import AGREES, CONTROLS, FIELDS, GoalComparison
from api.stages.model.screen import BOXES, ScreenElement, shown_element
from api.stages.model.words import REFUSALS, SUBMITS, wanted_places

HINTED = 0.9
"""How well what has a word of the goal in its class or colour agrees with it."""
SET = BOXES | FIELDS - {"spinbutton"}
"""Roles of what is clicked to be set or written into; a spin button's click turns it."""
TAGS = frozenset("button input select textarea option a".split())


class Target(NamedTuple):
    """``told``: its name says something; ``alike``: it does not tell it from others; ``slots``: of
    the goal, that its kind or its looks are; ``placed``: it stands where an ordinal of the goal
    says, ``off``: elsewhere."""

    shown: ScreenElement
    name: str
    told: bool
    alike: bool
    hint: bool
    agrees: float
    slots: tuple[str, ...]
    exact: bool
    """It is a slot of the goal, or a phrase of three words and more."""
    control: bool
    field: bool
    native: bool
    """Fields tell how it stands."""
    ends: bool
    regret: float
    kind: bool
    placed: bool
    off: bool

    @property
    def stray(self) -> bool:
        """Nothing that is meant to be clicked, and nothing of the goal."""
        return not self.control and self.agrees < AGREES

    @property
    def refusal(self) -> bool:
        """A name of refusal that the goal does not have."""
        return self.agrees < AGREES and any(part in REFUSALS for part in self.name.split())


def target_of(click: Mapping[str, Any], seen: GoalComparison) -> Target:
    """Read one click."""
    element, goal = click["element"], seen.goal
    one, named = shown_element(element), bool(element.get("name") or element.get("text"))
    name = "" if one.role in BOXES and not element.get("name") else one.name
    name = name if named else looks.label(click) or name
    parts = name.split()
    told = named and any(len(part) > 1 for part in parts)
    look = frozenset() if told else looks.looks(click)
    kinds = frozenset((one.role, one.tag, str(element.get("type") or "")))
    slots = tuple(sorted((kinds | look) & set(goal.slots)))
    hint = not told and looks.agrees(click, goal)
    agrees = 1.0 if kinds & set(slots) else max(seen.agrees(name), HINTED * hint)
    ends = one.role == "button" and any(part in SUBMITS for part in parts)
    ends = (
        ends
        or element.get("type") == "submit"
        or (not told and bool(SUBMITS & (look | set(parts))))
    )
    place, count = seen.screen.place(element)
    wanted = wanted_places(goal, kinds) if place else frozenset()
    placed = bool(wanted & {place, -1 if place == count else 0})
    return Target(
        one,
        name,
        told,
        alike=not told or seen.screen.elements[one] > 1,
        hint=hint,
        agrees=agrees,
        slots=slots,
        exact=agrees == 1.0 and (name in goal.slots or len(parts) >= 3 or bool(slots)),
        control=one.role in CONTROLS or one.tag in TAGS,
        field=one.role in SET,
        native=one.role in BOXES and one.tag in ("input", "option"),
        ends=ends,
        regret=0.0 if ends or one.role in SET else seen.regret(one, agrees),
        kind=any(f" {word} " in goal.text for word in kinds if word),
        placed=placed,
        off=bool(wanted) and count > 1 and not placed and not ends,
    )

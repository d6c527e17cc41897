"""What one click was on, against what the goal names."""

from __future__ import annotations

from typing import NamedTuple

from api.stages.model import looks
from api.stages.model.goal_comparison import AGREES, CONTROLS, FIELDS, GoalComparison
from api.stages.model.screen import BOXES, EventData, ScreenElement, shown_element
from api.stages.model.words import REFUSALS, SUBMITS, Goal, wanted_places

HINTED = 0.9
"""How well what has a word of the goal in its class or colour agrees with it."""
SET = BOXES | FIELDS - {"spinbutton"}
"""Roles of what is clicked to be set or written into; a spin button's click turns it."""
TAGS = frozenset("button input select textarea option a".split())


class Target(NamedTuple):
    """An element that was clicked. ``slots``: slots of the goal that are its kind or its looks;
    ``kind``: the goal names its role, type or tag; ``hint``: or its class or colour."""

    shown: ScreenElement
    name: str
    ambiguous: bool
    """Its name does not distinguish it from other elements."""
    hint: bool
    agrees: float
    slots: tuple[str, ...]
    exact: bool
    """It is a slot of the goal, or a phrase of three words and more."""
    control: bool
    field: bool
    native: bool
    """The browser itself keeps its state: fields say whether it is checked."""
    ends: bool
    regret: float
    kind: bool
    placed: bool
    """It stands where an ordinal of the goal says."""
    misplaced: bool
    """It stands elsewhere."""

    @property
    def fits(self) -> bool:
        """Whether it agrees with the goal."""
        return self.agrees >= AGREES

    @property
    def stray(self) -> bool:
        """Whether it is meant to be clicked by nobody and has nothing of the goal."""
        return not self.control and not self.fits

    @property
    def refusal(self) -> bool:
        """Whether it has a name of refusal that the goal does not have."""
        return not self.fits and any(word in REFUSALS for word in self.name.split())


class Naming(NamedTuple):
    """What names a clicked element: ``expressive``, if its own name says something, else ``looks``
    are the words of its class and colour."""

    name: str
    expressive: bool
    looks: frozenset[str]

    @property
    def words(self) -> list[str]:
        """The words of the element's accessible name, normalised."""
        return self.name.split()


def read_target(click: EventData, comparison: GoalComparison) -> Target:
    """Compare what was clicked with the goal."""
    goal, screen = comparison.goal, comparison.screen
    element = click["element"]
    shown = shown_element(element)
    naming = _read_naming(click, shown)
    kinds = frozenset((shown.role, shown.tag, str(element.get("type") or "")))
    slots = tuple(sorted((kinds | naming.looks) & set(goal.slots)))
    hint = not naming.expressive and looks.agrees(click, goal)
    is_slot_kind = bool(kinds.intersection(slots))
    agrees = 1.0 if is_slot_kind else max(comparison.agrees(naming.name), HINTED * hint)
    ends = _ends_something(element, shown, naming)
    placed, misplaced = _read_place(element, kinds, comparison)
    is_field = shown.role in SET
    has_regret = not ends and not is_field
    return Target(
        shown=shown,
        name=naming.name,
        ambiguous=not naming.expressive or screen.elements[shown] > 1,
        hint=hint,
        agrees=agrees,
        slots=slots,
        exact=agrees == 1.0 and _is_specific(naming, slots, comparison),
        control=shown.role in CONTROLS or shown.tag in TAGS,
        field=is_field,
        native=shown.role in BOXES and shown.tag in ("input", "option"),
        ends=ends,
        regret=comparison.regret(shown, agrees) if has_regret else 0.0,
        kind=_is_kind_named(kinds, goal),
        placed=placed,
        misplaced=misplaced and not ends,
    )


def _read_naming(click: EventData, shown: ScreenElement) -> Naming:
    """Take the element's own name, else the few words beside it."""
    element = click["element"]
    is_named = bool(element.get("name") or element.get("text"))
    name = shown.name
    if shown.role in BOXES and not element.get("name"):
        name = ""  # its text is that of the choices
    if not is_named:
        name = looks.label(click) or name
    expressive = is_named and any(len(word) > 1 for word in name.split())
    return Naming(name, expressive, frozenset() if expressive else looks.looks(click))


def _is_specific(naming: Naming, slots: tuple[str, ...], comparison: GoalComparison) -> bool:
    """Whether it is a slot of the goal, by kind, looks or name, or has three words and more."""
    return bool(slots) or naming.name in comparison.goal.slots or len(naming.words) >= 3


def _is_kind_named(kinds: frozenset[str], goal: Goal) -> bool:
    return any(f" {word} " in goal.text for word in kinds if word)


def _ends_something(element: EventData, shown: ScreenElement, naming: Naming) -> bool:
    """Whether the element's type, name or looks are those of a submission."""
    if element.get("type") == "submit":
        return True
    if shown.role == "button" and SUBMITS.intersection(naming.words):
        return True
    return not naming.expressive and bool(SUBMITS & naming.looks.union(naming.words))


def _read_place(
    element: EventData, kinds: frozenset[str], comparison: GoalComparison
) -> tuple[bool, bool]:
    """Whether the element stands where an ordinal of the goal says, and whether it stands
    elsewhere; neither where no ordinal is said of its kind."""
    place, count = comparison.screen.place(element)
    wanted = wanted_places(comparison.goal, kinds) if place else frozenset()
    is_last = place == count
    placed = place in wanted or (is_last and -1 in wanted)
    return placed, bool(wanted) and count > 1 and not placed

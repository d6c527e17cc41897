"""What was clicked, against what the goal names, and what of it adds up over the steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from api.stages.model import looks
from api.stages.model.goal_comparison import AGREES, GoalComparison
from api.stages.model.screen import EventData, identity_of, shown_element
from api.stages.model.step import Step
from api.stages.model.target import Target, read_target
from api.stages.model.words import ENDS, WHOLE, ratio

PART = 0.5
"""What an element stands in is a place of its own where it has less than this share of the page's
words."""
MAX_MISSED = 5
MAX_CLICKED = 500
"""Clicked elements that are remembered; of what each stands in the first so many characters."""
MAX_AROUND = 200
CLICK_FEATURES = (
    "click_goal", "click_exact", "click_regret", "click_submit", "click_refusal", "click_field",
    "click_bare", "click_stray", "click_near", "click_kind", "click_hint", "click_off",
    "click_missed", "click_order", "click_around",
)  # fmt: skip
"""Of a step's clicks the largest of each, 0 without any click."""


class Around(NamedTuple):
    """What a clicked element stands in. ``pointed``: the share of the goal's pointing words that is
    there; ``missed``: how many are not."""

    pointed: float
    missed: float


class LastClick(NamedTuple):
    """The last click that ended nothing."""

    agrees: float = 0.0
    regret: float = 0.0
    pointed: float = 0.0
    hint: float = 0.0


class Clicks:
    """The clicks so far."""

    def __init__(self, comparison: GoalComparison) -> None:
        self.found_slots: dict[str, None] = {}
        """Slots that were found in clicks, drags or fields, in that order."""
        self.names: set[str] = set()
        """Names that agree with the goal."""
        self.wrong = 0
        """Clicks of what the goal does not name, where it names others of their kind."""
        self.hits = 0
        """Clicks that agree with the goal and end nothing."""
        self.endings: set[str] = set()
        """Words of the endings."""
        self.counts = dict.fromkeys(
            ("strays", "others", "matched", "unlike", "orders", "offs", "drags", "reclicked"), 0.0
        )
        self._clicked: set[str] = set()
        """What was clicked, and what last: role, what distinguishes it, and what it stands in."""
        self._clicked_last = ""
        self._comparison = comparison
        self._best: dict[str, float] = {}
        """Of each role the best agreement."""
        self._last = LastClick()

    def find_slots(self, slots: Iterable[str]) -> None:
        """Note that these slots were found."""
        for slot in slots:
            self.found_slots.setdefault(slot)

    def fold_step(self, step: Step) -> dict[str, float]:
        """Return the features of a step's clicks and drags."""
        agrees = self._comparison.agrees
        self.names |= {name for name in step.hovered if agrees(name) >= AGREES}
        features = dict.fromkeys(CLICK_FEATURES, 0.0)
        for click in step.clicks:
            if step.drops and _is_nameless(click["element"]):
                continue  # the end of a drag
            for name, value in self._fold_click(click, quiet=step.quiet).items():
                features[name] = max(features[name], value)
        features |= {
            "last_goal": self._last.agrees,
            "last_regret": self._last.regret,
            "last_around": self._last.pointed,
            "last_hint": self._last.hint,
        }
        return features | self._fold_drops(step)

    def _fold_click(self, click: EventData, *, quiet: bool) -> dict[str, float]:
        """Return one click's features, and count it."""
        target = read_target(click, self._comparison)
        self.find_slots(target.slots)
        around = self._fold_around(click, target)
        self._count(target)
        self._note_agreement(target, quiet=quiet)
        self._note_again(click, target)
        if not target.ends:
            self._last = LastClick(target.agrees, target.regret, around.pointed, float(target.hint))
        return {
            "click_goal": target.agrees,
            "click_exact": float(target.exact),
            "click_regret": target.regret,
            "click_submit": float(target.ends),
            "click_refusal": float(target.refusal),
            "click_field": float(target.field),
            "click_bare": float(not target.control),
            "click_stray": float(target.stray),
            "click_near": self._comparison.nearness(target.name),
            "click_kind": float(target.kind),
            "click_hint": float(target.hint),
            "click_off": float(target.misplaced),
            "click_missed": around.missed,
            "click_order": float(target.placed),
            "click_around": around.pointed,
        }

    def _fold_around(self, click: EventData, target: Target) -> Around:
        """Compare what the element stands in with the goal; slots there are found."""
        comparison = self._comparison
        around = looks.around(click, comparison.goal)
        if around is None:
            return Around(0.0, 0.0)
        hit, miss = comparison.compare_surroundings(around)
        words = comparison.screen.places
        page = len(words) - sum(word in words for word in set(comparison.goal.text.split()))
        is_own_place = target.regret == 0 and len(around) < PART * page
        if target.ambiguous or is_own_place:
            slots = comparison.goal.slots
            self.find_slots(slot for slot in slots if around.issuperset(slot.split()))
        return Around(ratio(hit, hit + miss, 0.0), float(min(MAX_MISSED, miss)))

    def _count(self, target: Target) -> None:
        counts, role = self.counts, target.shown.role
        is_other = not (target.stray or target.ends or target.field or target.fits)
        best = self._best.get(role, 0.0)
        counts["orders"] += target.placed
        counts["offs"] += target.misplaced
        counts["strays"] += target.stray
        counts["matched"] += target.fits
        counts["others"] += is_other
        counts["unlike"] += target.agrees < best
        self._best[role] = max(target.agrees, best)

    def _note_again(self, click: EventData, target: Target) -> None:
        """Count what ends nothing and is clicked again after something else was: it may be
        undone."""
        if target.ends:
            self._clicked_last = ""
            return
        element = click["element"]
        around = str(click.get("around") or "")[:MAX_AROUND]
        clicked = f"{element.get('role')}|{identity_of(element)[:MAX_AROUND]}|{around}"
        self.counts["reclicked"] += clicked in self._clicked and clicked != self._clicked_last
        self._clicked_last = clicked
        if len(self._clicked) < MAX_CLICKED:
            self._clicked.add(clicked)

    def _note_agreement(self, target: Target, *, quiet: bool) -> None:
        """Note what the click does towards the goal: an ending, a name, a slot or a mistake."""
        self.endings |= ENDS.intersection(target.name.split())
        if target.ends:
            self.endings.add("submit")
        if target.fits:
            self.hits += not target.ends
            if not target.native:
                self.names.add(target.name)
        elif target.regret > 0 or (target.stray and quiet):
            self.wrong += 1
        if not target.native:
            slots = self._comparison.goal.slots
            self.find_slots(slot for slot in slots if is_name_of(target.name, slot))

    def _fold_drops(self, step: Step) -> dict[str, float]:
        """Return the features of a step's drags: the least agreement of what was dragged and of
        onto what, and whether its place is one that the goal says."""
        goal, agrees = self._comparison.goal, self._comparison.agrees
        dragged = [shown_element(drop["element"]).name for drop in step.drops]
        targets = [drop["target"] for drop in step.drops if isinstance(drop.get("target"), Mapping)]
        places = {place for place, _ in goal.places}
        for name in dragged:
            self.find_slots(slot for slot in goal.slots if f" {slot} " in f" {name} ")
        self.counts["drags"] += len(step.drops)
        return {
            "drag_goal": min(map(agrees, dragged), default=0.0),
            "drag_onto": min((agrees(shown_element(onto).name) for onto in targets), default=0.0),
            "drag_place": float(any(_dropped_place(drop) in places for drop in step.drops)),
        }


def _is_nameless(element: EventData) -> bool:
    return not (element.get("name") or element.get("text"))


def _dropped_place(drop: EventData) -> int | None:
    """Where it was dropped among its siblings, from 1; None where that is not known."""
    place = drop.get("index")
    return place + 1 if isinstance(place, int) else None


def is_name_of(name: str, slot: str) -> bool:
    """Whether a name is the slot or has it whole; a cross on a button is called Close."""
    if name == slot:
        return True
    if slot == "x" and name == "close":
        return True
    return len(slot) >= WHOLE and f" {slot} " in f" {name} "

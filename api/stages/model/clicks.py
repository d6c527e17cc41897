"""What was clicked, against what the goal names, and what of it adds up over the steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.stages.model import looks
from api.stages.model.compared import AGREES, GoalComparison
from api.stages.model.screen import shown_element
from api.stages.model.step import Step
from api.stages.model.target import Target, target_of
from api.stages.model.words import ENDS, WHOLE

PART = 0.5
"""What an element stands in is a place of its own where it has less than this share of the page's words."""


class Clicks:
    """The clicks so far. ``found``: slots that were clicked, ``names``: names that agree;
    ``wrong``: clicks of what the goal does not name, where it names others of their kind; ``hits``:
    that agree and end nothing; ``ends``: words of endings; ``counts``: features."""

    def __init__(self, seen: GoalComparison) -> None:
        self.found: dict[str, None] = {}
        self.names: set[str] = set()
        self.wrong = 0
        self.hits = 0
        self.ends: set[str] = set()
        self.counts = dict.fromkeys(
            ("strays", "others", "matched", "unlike", "orders", "offs", "drags"), 0.0
        )
        self._seen = seen
        self._best: dict[str, float] = {}
        self._last = (0.0, 0.0, 0.0, 0.0)

    def fold_step(self, step: Step, made: dict[str, float]) -> bool:
        """The step's clicks, the worst of each feature, into ``made``; whether one ended
        something."""
        named = (
            "goal exact regret submit refusal field bare stray near kind hint off missed".split()
        )
        worst = dict.fromkeys((f"click_{name}" for name in named), 0.0)
        ended = False
        good = {"click_order": 0.0, "click_around": 0.0}
        self.names |= {name for name in step.hovered if self._seen.agrees(name) >= AGREES}
        for click in step.clicks:
            if step.drops and not (click["element"].get("name") or click["element"].get("text")):
                continue  # the end of a drag
            one = self._target(click, good, quiet=step.quiet)
            if one["click_submit"]:
                ended = True
            for name, value in one.items():
                worst[name] = max(worst[name], value)
        made |= worst | good
        made["last_goal"], made["last_regret"], made["last_around"], made["last_hint"] = self._last
        self._drops(step, made)
        return ended

    def _drops(self, step: Step, made: dict[str, float]) -> None:
        """What was dragged and dropped: the least agreement of what, and of onto what; whether the
        place is asked."""
        goal, agrees, carried, onto, placed = self._seen.goal, self._seen.agrees, [], [], 0.0
        for drop in step.drops:
            what = shown_element(drop["element"]).name
            carried.append(agrees(what))
            self.found |= dict.fromkeys(slot for slot in goal.slots if f" {slot} " in f" {what} ")
            if isinstance(drop.get("onto"), Mapping):
                onto.append(agrees(shown_element(drop["onto"]).name))
            if isinstance(place := drop.get("place"), int):
                placed = max(placed, float(any(place + 1 == one for one, _ in goal.places)))
        self.counts["drags"] += len(step.drops)
        made["drag_goal"] = min(carried, default=0.0)
        made["drag_onto"] = min(onto, default=0.0)
        made["drag_place"] = placed

    def _target(
        self, click: Mapping[str, Any], good: dict[str, float], *, quiet: bool
    ) -> dict[str, float]:
        """One click's features; what of it adds up is noted."""
        one = target_of(click, self._seen)
        self.found |= dict.fromkeys(one.slots)
        pointed, missed = self._around(click, one)
        good["click_order"] = max(good["click_order"], float(one.placed))
        good["click_around"] = max(good["click_around"], pointed)
        self._note(one, pointed, quiet=quiet)
        return {
            "click_goal": one.agrees,
            "click_exact": float(one.exact),
            "click_regret": one.regret,
            "click_submit": float(one.ends),
            "click_refusal": float(one.refusal),
            "click_field": float(one.field),
            "click_bare": float(not one.control),
            "click_stray": float(one.stray),
            "click_near": self._seen.nearness(one.name),
            "click_kind": float(one.kind),
            "click_hint": float(one.hint),
            "click_off": float(one.off),
            "click_missed": missed,
        }

    def _around(self, click: Mapping[str, Any], one: Target) -> tuple[float, float]:
        """How well what it stands in is what the goal points at, and what of that it lacks; 0 where
        nothing is told."""
        around = looks.around(click, self._seen.goal)
        if around is None:
            return 0.0, 0.0
        hit, miss = self._seen.pointed(around)
        page = len(self._seen.screen.places.keys() - set(self._seen.goal.text.split()))
        if one.alike or (one.regret == 0 and len(around) < PART * page):
            self.found |= dict.fromkeys(
                slot for slot in self._seen.goal.slots if around.issuperset(slot.split())
            )
        return hit / (hit + miss) if hit + miss else 0.0, float(min(5, miss))

    def _note(self, one: Target, pointed: float, *, quiet: bool) -> None:
        sofar, role, fits = self.counts, one.shown.role, one.agrees >= AGREES
        self.ends |= {part for part in one.name.split() if part in ENDS} | (
            {"submit"} if one.ends else set()
        )
        sofar["orders"] += one.placed
        sofar["offs"] += one.off
        sofar["strays"] += one.stray
        sofar["matched"] += fits
        self.hits += fits and not one.ends
        sofar["others"] += not (one.stray or one.ends or one.field or fits)
        if fits:
            self.names |= set() if one.native else {one.name}
        elif one.regret > 0 or (one.stray and quiet):
            self.wrong += 1
        sofar["unlike"] += one.agrees < self._best.get(role, 0.0)
        self._best[role] = max(one.agrees, self._best.get(role, 0.0))
        if not one.ends:
            self._last = (one.agrees, one.regret, pointed, float(one.hint))
        self.found |= dict.fromkeys(
            slot for slot in self._seen.goal.slots if not one.native and names(one.name, slot)
        )


def names(name: str, slot: str) -> bool:
    """Whether a name is the slot or has it whole; a cross on a button is called Close."""
    return (
        name == slot
        or (slot == "x" and name == "close")
        or (len(slot) >= WHOLE and f" {slot} " in f" {name} ")
    )

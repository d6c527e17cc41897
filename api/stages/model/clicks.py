"""What was clicked, against what the goal names, and what of it adds up over the steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.stages.model.compared import AGREES, CONTROLS, Compared
from api.stages.model.screen import BOXES, Shown, shown
from api.stages.model.step import Step
from api.stages.model.words import ENDS, REFUSALS, SUBMITS


class Clicks:
    """The clicks so far. ``found``: slots that were clicked, ``names``: names that agree; ``wrong``: clicks of what
    the goal does not name, where it names others of their kind; ``ends``: words of endings; ``counts``: features."""

    def __init__(self, seen: Compared) -> None:
        self.found: list[str] = []
        self.names: set[str] = set()
        self.wrong = 0
        self.ends: set[str] = set()
        self.counts = dict.fromkeys(("strays", "others", "matched", "unlike"), 0.0)
        self._seen = seen
        self._best: dict[str, float] = {}
        self._last = (0.0, 0.0)

    def of(self, step: Step, made: dict[str, float]) -> bool:
        """The step's clicks, the worst of each feature, into ``made``; whether one ended something."""
        named = "goal exact regret submit refusal field bare stray near kind".split()
        worst = dict.fromkeys((f"click_{name}" for name in named), 0.0)
        ended = False
        for element in step.clicks:
            one = self._target(element)
            if one["click_submit"]:
                ended = True
            for name, value in one.items():
                worst[name] = max(worst[name], value)
        made |= worst
        made["last_goal"], made["last_regret"] = self._last
        return ended

    def _target(self, element: Mapping[str, Any]) -> dict[str, float]:
        goal, target = self._seen.goal, shown(element)
        name = "" if target.role in BOXES and not element.get("name") else target.name
        agrees = self._seen.agrees(name)
        control = target.role in CONTROLS or target.tag in ("button", "input", "select", "textarea", "option", "a")
        parts = name.split()
        ends = (target.role == "button" and any(part in SUBMITS for part in parts)) or element.get("type") == "submit"
        slot = agrees == 1.0 and (name in goal.slots or len(parts) >= 3)
        field_like = target.role in BOXES or target.role in ("textbox", "searchbox", "combobox", "listbox")
        regret = 0.0 if ends or field_like else self._seen.regret(target, agrees)
        stray = not control and agrees < AGREES
        refusal = any(part in REFUSALS for part in parts) and agrees < AGREES
        kind = any(
            f" {word} " in goal.text for word in (target.role, target.tag, str(element.get("type") or "")) if word
        )
        self.ends |= {part for part in parts if part in ENDS} | ({"submit"} if ends else set())
        self._note(target, name, agrees, regret, stray=stray, ends=bool(ends), field_like=field_like)
        return {
            "click_goal": agrees,
            "click_exact": float(slot),
            "click_regret": regret,
            "click_submit": float(ends),
            "click_refusal": float(refusal),
            "click_field": float(field_like),
            "click_bare": float(not control),
            "click_stray": float(stray),
            "click_near": self._seen.near(name),
            "click_kind": float(kind),
        }

    def _note(
        self, target: Shown, name: str, agrees: float, regret: float, *, stray: bool, ends: bool, field_like: bool
    ) -> None:
        sofar = self.counts
        sofar["strays"] += stray
        sofar["matched"] += agrees >= AGREES
        sofar["others"] += not (stray or ends or field_like) and agrees < AGREES
        if agrees >= AGREES:
            self.names.add(name)
        elif regret > 0 or stray:
            self.wrong += 1
        sofar["unlike"] += agrees < self._best.get(target.role, 0.0)
        self._best[target.role] = max(agrees, self._best.get(target.role, 0.0))
        if not ends:
            self._last = (agrees, regret)
        for slot in self._seen.goal.slots:
            if slot == name or (len(slot) > 3 and f" {slot} " in f" {name} "):
                self.found.append(slot)

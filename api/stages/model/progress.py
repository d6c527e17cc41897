"""All that the goal names, of whatever kind: what of it is done, left and wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping

from api.stages.model.clicks import Clicks
from api.stages.model.goal_comparison import CONTROLS, GoalComparison
from api.stages.model.step import Step
from api.stages.model.words import (
    DEEDS,
    ENDS,
    STOP,
    SUBMITS,
    case_off,
    fulfils,
    numbers,
    ratio,
    share,
)

MAX_WORKED = 3


class Progress:
    """How far the episode came with what its goal names."""

    def __init__(self, comparison: GoalComparison, clicks: Clicks) -> None:
        self._comparison = comparison
        self._clicks = clicks
        self._named: set[str] = set()
        """Names of controls that the goal has."""
        self._deeds: set[str] = set()
        """Deeds of the goal's that were done."""
        self._shown_at_first = 0.0

    def begin(self) -> None:
        """Note what the page shows before the first step."""
        self._shown_at_first = self._comparison.share_in_lines()

    def fold_step(
        self, step: Step, features: Mapping[str, float], *, last: bool
    ) -> dict[str, float]:
        """Return the features of what is done and left; ``features`` are those of the fields."""
        goal = self._comparison.goal
        self._note_controls()
        self._note_deeds(step)
        named = self._named | set(goal.slots)
        done = self._find_done(named)
        deeds = [deed for deed, words in DEEDS.items() if goal.words & words]
        left = len(named) - len(done) + len(set(deeds) - self._deeds)
        wrong_case = self._count_wrong_case()
        wrong = (
            features["wrong_now"]
            + self._clicks.wrong
            + features["fields_off"]
            + features["crossed"]
            + wrong_case
            + 1
            - features["order"]
        )
        standing = {
            "done": ratio(len(done), len(named), 1.0),
            "left": float(left),
            "wrong": wrong,
            "unended": float(not goal.ends <= self._clicks.endings),
        }
        final = {f"final_{name}": value if last else 0.0 for name, value in standing.items()}
        return (
            standing
            | final
            | {
                "in_view": step.in_view,
                "shown_new": max(0.0, self._comparison.share_in_lines() - self._shown_at_first),
                "case_off": float(wrong_case),
                "named": math.log1p(len(named)),
                "purity": ratio(len(done), len(done) + wrong, 1.0),
                "asks_deed": float(len(deeds)),
                "asks_work": float(min(MAX_WORKED, goal.worked)),
                "asks_order": float(goal.orders),
                "asks_end": float(any(f" {word} " in goal.text for word in SUBMITS)),
                "goal_text": self._share_on_screen(),
                "words_goal": math.log1p(len(goal.words)),
            }
        )

    def _note_controls(self) -> None:
        """Note the controls that came since the last step and whose names the goal has."""
        fresh = self._comparison.screen.fresh
        for element in fresh:
            is_control = element.role in CONTROLS and bool(element.name)
            if is_control and self._comparison.agrees(element.name) == 1.0:
                self._named |= {element.name} - ENDS - STOP
        fresh.clear()

    def _note_deeds(self, step: Step) -> None:
        if step.drops:
            self._deeds.add("drags")
        if step.pasted:
            self._deeds.add("pasted")

    def _find_done(self, named: set[str]) -> set[str]:
        """Of the names those that are clicked, checked or in a field now."""
        goal, clicks = self._comparison.goal, self._clicks
        fields = self._comparison.screen.fields.values()
        texts = {value for field in fields for value in field.values}
        unchecked = {field.name for field in fields if field.is_box and not field.checked}
        held = texts | clicks.names | self._names_entered()
        done = {
            name for name in named - unchecked if any(fulfils(value, name, goal) for value in held)
        }
        if any(numbers(text) in goal.numbers for text in texts):
            done |= {slot for slot in goal.slots if numbers(slot) in goal.numbers}
        done |= named.intersection(clicks.found_slots) - unchecked
        return done | (named & {str(clicks.hits)})

    def _names_entered(self) -> set[str]:
        """Names of what is checked, and of what somebody wrote into."""
        names = set()
        for field in self._comparison.screen.fields.values():
            is_written = bool(field.values or field.secret) and not field.given
            if field.checked or is_written:
                names.add(field.name)
        return names

    def _count_wrong_case(self) -> int:
        """How many fields agree with the goal but for upper and lower case."""
        goal = self._comparison.goal
        fields = self._comparison.screen.fields.values()
        return sum(case_off(field.text, goal) for field in fields if field.text)

    def _share_on_screen(self) -> float:
        """The share of the goal's rare words on the screen."""
        words, places = self._comparison.goal.words, self._comparison.screen.places
        return share((word for word in words if places.get(word)), words)

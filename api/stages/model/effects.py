"""What a step changed on screen and in fields: the features of its effects."""

from __future__ import annotations

import math

from api.stages.model.goal_comparison import GoalComparison
from api.stages.model.screen import Filled, ScreenElement, shown_element
from api.stages.model.step import Step
from api.stages.model.words import ERRORS, SUCCESS, plain, share

KINDS = ("clicks", "fills", "typed", "navigated", "dialog", "downloaded")
"""Features that say what kinds of things an episode did."""
Acts = tuple[tuple[ScreenElement, ...], tuple[Filled, ...]]
"""What a step clicked, and what it filled in."""
MAX_COUNT = 3
MAX_FAILURES = 5
MAX_DOUBLES = 2


class Effects:
    """The effects so far."""

    def __init__(self, comparison: GoalComparison) -> None:
        self.counts = dict.fromkeys(("nothings", "errors", "repeats"), 0.0)
        self._comparison = comparison
        self._screens: set[int] = set()
        """The screens after each step, hashed."""
        self._last_acts: Acts = ((), ())
        self._kinds: set[str] = set()

    @property
    def kinds(self) -> int:
        """How many kinds of things the episode did so far."""
        return len(self._kinds)

    def fold_step(self, step: Step) -> dict[str, float]:
        """Return the features of a step's effects."""
        goal = self._comparison.goal
        appeared: set[str] = set()
        for text in step.appeared:
            appeared.update(plain(text).split())
        goal_share = share(appeared, goal.words)
        error_words = len(appeared & (ERRORS - goal.words))
        success_words = len(appeared & SUCCESS)
        revisited = self._revisits()
        features = {
            "clicks": float(min(MAX_COUNT, len(step.clicks))),
            "fills": float(min(MAX_COUNT, len(step.changed))),
            "typed": float(step.typed),
            "nothing": float(step.quiet),
            "failed": float(min(MAX_FAILURES, step.errors + error_words)),
            "added": math.log1p(step.added),
            "removed": math.log1p(step.removed),
            "emptied": self._emptied(step),
            "goal_added": goal_share,
            "success_words": float(min(MAX_COUNT, success_words)),
            "success_bare": float(success_words > 0 and goal_share == 0),
            "navigated": float(min(MAX_COUNT, step.navigated)),
            "status": float(step.status),
            "dialog": float(step.dialog),
            "downloaded": float(step.downloaded),
            "tabs": float(step.tabs),
            "doubles": float(min(MAX_DOUBLES, step.doubles)),
            "pasted": float(min(MAX_DOUBLES, step.pasted)),
            "repeated": float(self._repeats(step)),
            "revisited": float(revisited and not step.quiet),
            "undone": float(sum(_is_undone(*change) for change in step.changed)),
        }
        self.counts["nothings"] += features["nothing"]
        self.counts["errors"] += features["failed"]
        self.counts["repeats"] += features["repeated"]
        self._kinds |= {name for name in KINDS if features[name]}
        return features

    def _emptied(self, step: Step) -> float:
        """The share of the screen that went."""
        if not step.before:
            return 0.0
        return max(0.0, 1 - self._comparison.screen.size / step.before)

    def _repeats(self, step: Step) -> bool:
        """Whether the same was clicked and filled in as when something was done last."""
        clicked = tuple(shown_element(click["element"]) for click in step.clicks)
        acts = (clicked, tuple(after for _, after in step.changed))
        if not any(acts):
            return False
        repeated = acts == self._last_acts
        self._last_acts = acts
        return repeated

    def _revisits(self) -> bool:
        """Whether screen and fields are as they were after an earlier step."""
        screen = self._comparison.screen
        now = hash((screen.url, screen.mark, frozenset(screen.fields.items())))
        revisited = now in self._screens
        self._screens.add(now)
        return revisited


def _is_undone(before: Filled | None, after: Filled) -> bool:
    """Whether a box was unchecked or a text emptied."""
    return before is not None and before.is_set and not after.is_set

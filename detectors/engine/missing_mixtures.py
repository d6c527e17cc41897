"""What may be worth otherwise in a mixture of unknown starts that no counterfactual state stands
for.

Of three things that were unknown before the first step, every mixture has a state
(detectors/engine/counterfactual.py). Of more, some have none: then a step is not known in which
anything is read of a milestone that rests on such a thing.
"""

from __future__ import annotations

from collections.abc import Iterable

from detectors.engine.state import State
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset

WHY = "so much was unknown before the first step that not every combination of it was compared"


class MissingMixtures:
    """The milestones of one episode that may stand otherwise in a mixture without a state."""

    def __init__(self, ruleset: Ruleset, state: State) -> None:
        self._ruleset, self._state = ruleset, state
        self._starts: tuple[int, ...] = ()
        self.affected: frozenset[int] = frozenset()
        """Them, and all that they rest on, by their indices."""

    def mark_step(self, owners: Iterable[int], event: Event) -> None:
        """Mark the step as not known where one of the milestones ``owners``, of which something was
        read in ``event``, may stand otherwise."""
        starts = tuple(self._state.unclear_starts)
        if starts != self._starts:
            self._starts, self.affected = starts, self._find_affected(frozenset(starts))
        if not self.affected.isdisjoint(owners):
            self._state.blind.setdefault("rules", [event.seq, WHY])

    def _find_affected(self, starts: frozenset[int]) -> frozenset[int]:
        """Return the milestones that rest on one of ``starts``, with all that these rest on."""
        affected: set[int] = set()
        for dependencies in self._ruleset.find_dependencies():
            if not starts.isdisjoint(dependencies):
                affected |= dependencies
        return frozenset(affected)

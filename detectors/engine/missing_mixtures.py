"""What may be worth otherwise in a mixture of unknown facts without a counterfactual state.

What is credited to nobody can make more worth less: a milestone that was full by then is not paid
any more. Of three things that were unknown before the first step, every mixture has a state
(detectors/engine/counterfactual.py). Of more, some have none, as of several unknown things where a
source finds something when it attaches again. Then a step is not known in which anything is read of
a milestone that rests on such a thing.
"""

from __future__ import annotations

from collections.abc import Collection

from detectors.engine.state import State
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset

WHY = "not every combination of what was unknown before could be compared"


class MissingMixtures:
    """The milestones of one episode that may stand otherwise in a mixture without a state."""

    def __init__(self, ruleset: Ruleset, state: State) -> None:
        self._ruleset, self._state = ruleset, state
        self._starts: tuple[int, ...] = ()
        self.affected: frozenset[int] = frozenset()
        """Them, and all that they rest on, by their indices."""

    def check_reading(self, owners: Collection[int], event: Event) -> None:
        """Take in that something of the milestones ``owners`` was read in ``event``, and mark the
        step as not known where one of them may stand otherwise."""
        state = self._state
        if not state.began:
            return
        if len(state.unclear) > 1 and not state.is_live(event):
            self._record_found(owners)
        if not state.misses_mixtures:
            return
        starts = tuple(state.unclear_starts)
        if starts != self._starts:
            self._starts, self.affected = starts, self._find_affected(frozenset(starts))
        if not self.affected.isdisjoint(owners):
            state.blind.setdefault("rules", [event.seq, WHY])

    def _record_found(self, owners: Collection[int]) -> None:
        """Record that a source found something of ``owners`` on attaching, where that completes
        several unknown things."""
        nodes, state = self._ruleset.nodes, self._state
        unclear_owners = [nodes[id].owner for id in state.unclear]
        for dependencies in self._ruleset.find_dependencies():
            if dependencies.isdisjoint(owners):
                continue
            unknown = [owner for owner in unclear_owners if owner in dependencies]
            if len(unknown) > 1:
                leave_out(state)

    def _find_affected(self, starts: frozenset[int]) -> frozenset[int]:
        """Return the milestones that rest on one of ``starts``, with all that these rest on."""
        affected: set[int] = set()
        for dependencies in self._ruleset.find_dependencies():
            if not starts.isdisjoint(dependencies):
                affected |= dependencies
        return frozenset(affected)


def leave_out(state: State) -> None:
    """Record that some mixture of what was unknown has no state."""
    state.misses_mixtures = True
    state.doubt = state.doubt or WHY

"""Marks steps whose worth hangs on combinations of unknown facts that no state stands for.

An engine compares its own state with counterfactual ones (detectors/engine/counterfactual.py). They
stand for every combination of three facts that were unknown before the first step. Of more, some
combinations have no state, and neither have those of several unknown facts when a source that
attaches again finds something: what it finds is credited to nobody, so that another combination may
be worth less. From then on a step is null in which anything is read of a milestone that rests on
such a fact.
"""

from __future__ import annotations

from collections.abc import Collection

from detectors.engine.state import ALL, State
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset

WHY = "not every combination of what was unknown before could be compared"


class MissingCombinations:
    """Knows which milestones of one episode rest on facts of which a combination has no state."""

    def __init__(self, ruleset: Ruleset, state: State) -> None:
        self._ruleset, self._state = ruleset, state
        self._starts: tuple[int, ...] = ()
        self._unclear: tuple[int, ...] = ()
        self._checked: set[int] = set()
        self.affected: frozenset[int] = frozenset()
        """The indices of these milestones, and of those that they rest on."""

    def check_reading(self, owners: Collection[int], event: Event) -> None:
        """Mark the step as not known if one of the milestones ``owners``, of which something was
        read in ``event``, is affected."""
        state = self._state
        if not state.began:
            return
        is_found = not state.is_live(event)
        if is_found and len(state.unclear) > 1 and not state.misses_combinations:
            self._check_found(owners)
        if not state.misses_combinations:
            return
        starts = tuple(state.unclear_starts)
        if starts != self._starts:
            self._starts, self.affected = starts, self._find_affected(frozenset(starts))
        if not self.affected.isdisjoint(owners):
            state.blind.setdefault("rules", [event.seq, WHY])
            state.refuse(self.affected)
            state.doubt_owners((ALL,))

    def _check_found(self, owners: Collection[int]) -> None:
        """Take in that a source found something of the milestones ``owners`` as it attached: where
        a milestone rests on one of them and on several unknown facts, combinations are missing."""
        unclear = tuple(self._state.unclear)
        if unclear != self._unclear:
            self._unclear, self._checked = unclear, set()
        unchecked = set(owners) - self._checked
        if not unchecked:
            return
        self._checked |= unchecked
        unclear_owners = [self._ruleset.nodes[id].owner for id in unclear]
        for dependencies in self._ruleset.find_dependencies():
            if dependencies.isdisjoint(unchecked):
                continue
            unknown = [owner for owner in unclear_owners if owner in dependencies]
            if len(unknown) > 1:
                record_missing_combination(self._state)
                return

    def _find_affected(self, starts: frozenset[int]) -> frozenset[int]:
        """Return the milestones that rest on one of ``starts``, with all that these rest on."""
        affected: set[int] = set()
        for dependencies in self._ruleset.find_dependencies():
            if not starts.isdisjoint(dependencies):
                affected |= dependencies
        return frozenset(affected)


def record_missing_combination(state: State) -> None:
    """Record in an episode's state that some combination of unknown facts has no state."""
    state.misses_combinations = True
    state.doubt = state.doubt or WHY
    state.doubt_owners((ALL,))

"""Between which levels a condition stands, where some of what it rests on could not be known.

A counterfactual state (detectors/engine/counterfactual.py) supposes that *all* of it was as
expected. Of a condition that rests on something not having happened, that does not cover what is
so of one thing and not of another. Where a condition is decided by how things stand, its bounds
cover every such combination.
"""

from __future__ import annotations

from collections.abc import Sequence

from detectors.engine.conditions import Conditions
from detectors.engine.state import State
from detectors.sdk.registry import Composite
from detectors.task.ruleset import ConditionNode, Ruleset

Bounds = tuple[float, float]
"""The least and the greatest level that a condition may have."""

ANY_LEVEL: Bounds = (0.0, 1.0)


class LevelBounds:
    """The bounds of the conditions of one episode."""

    def __init__(self, ruleset: Ruleset, state: State, conditions: Conditions) -> None:
        self._ruleset, self._state, self._conditions = ruleset, state, conditions

    def is_same_at_end(self, owner: int) -> bool:
        """Return whether a milestone that must hold at the end earns the same at this moment,
        whatever its own conditions could not know. What other milestones could not know is not
        asked for here."""
        ruleset, award = self._ruleset, self._state.award(owner)
        if owner in self._state.unclear_starts:
            return False
        if ruleset.task.milestones[owner].baseline == "transition" and award.base > 0:
            return False  # it could have been lowered at any moment
        nodes = ruleset.nodes
        for id in self._state.unclear:
            if nodes[id].owner == owner and nodes[id].role == "revoke_on":
                return False
        gate = ruleset.gates[owner]
        gate_bounds = (1.0, 1.0) if gate is None else self.bounds(nodes[gate])
        level = self.bounds(nodes[ruleset.tops[owner]])
        if gate_bounds[1] < 1.0 or level[1] <= award.best:
            return True  # it earns nothing
        return gate_bounds[0] >= 1.0 and level[0] == level[1]

    def bounds(self, node: ConditionNode) -> Bounds:
        """Return the least and the greatest level that the condition may have at this moment, as
        `Conditions.level` has it."""
        unclear = self._state.unclear
        if node.id in unclear:
            return ANY_LEVEL
        if not self._is_above_unclear(node):
            level = self._conditions.level(node)
            return level, level
        rule = node.rule
        assert isinstance(rule, Composite)
        if rule.present is None or getattr(node.args, "within", None) is not None:
            return ANY_LEVEL  # it goes by what was, too
        parts = [self.bounds(self._ruleset.nodes[child]) for child in node.children]
        required = [standing.now for standing in self._conditions.required(node)]
        lowest = rule.present([*(least for least, _ in parts), *required])
        highest = rule.present([*(greatest for _, greatest in parts), *required])
        effect = rule.effect(node.args)
        if effect == "either":
            return ANY_LEVEL
        return (lowest, highest) if effect == "supports" else (highest, lowest)

    def _is_above_unclear(self, node: ConditionNode) -> bool:
        nodes = self._ruleset.nodes
        return any(_is_below(nodes, node.id, id) for id in self._state.unclear)


def _is_below(nodes: Sequence[ConditionNode], upper: int, id: int) -> bool:
    """Whether the condition ``id`` is a part of ``upper``, at whatever depth."""
    while id >= 0:
        if id == upper:
            return True
        id = nodes[id].parent
    return False

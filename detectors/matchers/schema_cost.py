"""What a JSON Schema costs over a value, counted before the library validates.

The library follows references without a bound: a few of them that stand side by side, each naming
the one before twice, take it 2^n evaluations. So a schema is read into places (schema_places.py),
each pair of a place and a value that it is applied to is counted once, and the evaluations of a
pair are those of all that it applies, added up: more than the library makes, for it stops at the
first that fails and remembers some, but never fewer.

Where that is too much, what the library remembers is counted, too: of each reference in a circle
the outcome for each object or list, as detectors/matchers/schema_circles.py makes it do. Each such
place is then counted once for each object and list, and no more. A schema with
`unevaluatedProperties` or `unevaluatedItems` is not counted so: those are evaluated beside what is
remembered.
"""

from __future__ import annotations

from typing import NamedTuple

from detectors.matchers.schema_circles import LINKS
from detectors.matchers.schema_places import Place
from detectors.model.budget import MAX_EVENT, Meter, weight
from detectors.model.types import Json

WHAT = "JSON Schema"
PAIR = 5
"""Units of a pair of place and value that is counted."""
EVALUATIONS = 16
"""Evaluations by the library that a unit pays for: each takes 0.04 microseconds."""
MAX_EVALUATIONS = EVALUATIONS * (MAX_EVENT + 1)
"""More are not told apart: they are over any budget."""
MAX_DEPTH = 4_000
"""Evaluations within evaluations: the library recurses."""

_CONTAINERS = (dict, list, tuple)


def charge(root: Place, value: Json, spent: Meter) -> bool:
    """Count what the schema takes over ``value``; return whether that is affordable only where the
    library remembers the references in circles. Raises `BudgetError`."""
    spent.spend(weight(value, spent.left)[0], WHAT)
    counted = _Count(spent, remembers=False).count(root, value)
    units = counted.evaluations // EVALUATIONS
    has_circles = counted.linked_depth > counted.depth
    remembers = units > spent.left and has_circles and counted.linked_depth <= MAX_DEPTH
    if remembers:
        units = _Count(spent, remembers=True).count(root, value).evaluations // EVALUATIONS
    spent.spend(units, WHAT)
    return remembers


_Pair = tuple[Place, Json]
"""A place, and what it is applied to."""


class Counted(NamedTuple):
    """Evaluations, how deep they go one within the other, and how deep where the references that
    are remembered are chains (detectors/matchers/schema_circles.py)."""

    evaluations: int
    depth: int
    linked_depth: int


class _Count:
    """Counts the evaluations of a schema over a value; ``remembers``: of what the library remembers
    once for each object and list."""

    def __init__(self, spent: Meter, *, remembers: bool) -> None:
        self._spent, self._remembers = spent, remembers
        self._counted: dict[tuple[int, int], Counted] = {}
        self._begun: set[tuple[int, int]] = set()
        self._waiting: list[_Pair] = []
        """Pairs that are remembered, and that are yet to be counted for themselves."""

    def count(self, root: Place, value: Json) -> Counted:
        """All evaluations, at most `MAX_EVALUATIONS`; the depths are those of the root, but for
        what is remembered. Raises `BudgetError`."""
        whole = self._count_pair((root, value))
        many = whole.evaluations
        while self._waiting and many < MAX_EVALUATIONS:
            many += self._count_pair(self._waiting.pop()).evaluations
        return whole._replace(evaluations=many)

    def _count_pair(self, root: _Pair) -> Counted:
        waiting: list[tuple[_Pair, list[_Pair] | None]] = [(root, None)]
        while waiting:
            pair, applied = waiting.pop()
            key = _key_of(pair)
            if key in self._counted:
                continue
            if applied is None:
                applied = self._applied(pair)
                waiting.append((pair, applied))
                waiting += [(inner, None) for inner in applied]
            else:
                self._counted[key] = self._add_up(pair, applied)
        return self._counted[_key_of(root)]

    def _applied(self, pair: _Pair) -> list[_Pair]:
        """The pairs that are evaluated within the pair, but for one that is remembered."""
        self._spent.spend(PAIR, WHAT)
        place, value = pair
        applied = place.applied(value)
        self._spent.spend(len(applied), WHAT)
        if place.remembered is None:
            return applied
        remembered = place.remembered, value
        if not self._remembers or not isinstance(value, _CONTAINERS):
            return [*applied, remembered]
        if _key_of(remembered) not in self._begun:
            self._begun.add(_key_of(remembered))
            self._waiting.append(remembered)
        return applied

    def _add_up(self, pair: _Pair, applied: list[_Pair]) -> Counted:
        place, value = pair
        counted = [self._counted[_key_of(inner)] for inner in applied]
        many = place.evaluations(value) + sum(inner.evaluations for inner in counted)
        if place.repeats and isinstance(value, _CONTAINERS):
            many *= 1 + len(value)
        depth = 1 + max((inner.depth for inner in counted), default=0)
        if depth > MAX_DEPTH:
            self._spent.spend(self._spent.left + 1, WHAT)
        linked_depth = 1 + max((inner.linked_depth for inner in counted), default=0)
        if place.remembered is not None:
            linked_depth += LINKS
            many += LINKS if self._remembers else 0
        return Counted(min(many, MAX_EVALUATIONS), depth, linked_depth)


def _key_of(pair: _Pair) -> tuple[int, int]:
    place, value = pair
    return id(place), id(value)

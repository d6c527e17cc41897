"""A compiled JSON Path, evaluated node by node against a budget.

The library's segments and selectors are generators over nodes that make their own children: handed
nodes that count their children, they stop where the budget does, and nothing is held but what was
found. Queries and comparisons inside filters are counted too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from detectors.model.budget import MAX_EVENT, Meter, meter, weight

WHAT = "JSON Path"
MAX_DESCENTS = 4
"""Descendant segments (``..``) of one path, those in its filters too."""


class PathNode:
    """A value on the way of a path, as the library's segments want one; where it stands is not
    kept."""

    __slots__ = ("meter", "root", "value")

    def __init__(self, value: object, root: object, spent: Meter) -> None:
        self.value, self.root, self.meter = value, root, spent

    def new_child(self, value: object, key: int | str, parent: object) -> PathNode:
        """A value in this one, counted."""
        self.meter.spend(1, WHAT)
        return PathNode(value, self.root, self.meter)


class CountedQuery:
    """A query whose segments are handed counting nodes."""

    def __init__(self, query: Any) -> None:
        self._query, self._segments = query, query.segments
        self.descents = 0
        for segment in query.segments:
            self.descents += "Recursive" in type(segment).__name__
            for selector in segment.selectors:
                if hasattr(selector, "expression"):
                    self.descents += _count_in(selector)

    def find(self, value: object) -> list[PathNode]:
        """The nodes that are found. Raises `BudgetError`."""
        nodes: Iterable[Any] = [PathNode(value, value, meter())]
        for segment in self._segments:
            nodes = segment.resolve(nodes)
        return list(nodes)

    def empty(self) -> bool:
        """Whether the query has no segments."""
        return bool(self._query.empty())

    def singular_query(self) -> bool:
        """Whether the query can find at most one node."""
        return bool(self._query.singular_query())


class CountedExpression:
    """An expression of a filter, which is asked once for each candidate; ``weighed``: what it finds
    is compared."""

    def __init__(self, expression: Any, weighed: bool) -> None:
        self._expression, self._weighed = expression, weighed

    def evaluate(self, context: Any) -> object:
        """Evaluate as the library does, and charge the budget. Raises `BudgetError`."""
        spent = meter()
        spent.spend(1, WHAT)
        found = self._expression.evaluate(context)
        if self._weighed:
            single = found[0].value if isinstance(found, list) and len(found) == 1 else found
            units, _ = weight(single if isinstance(single, str | list | dict) else None, MAX_EVENT)
            spent.spend(units, WHAT)
        return found


def _count_in(selector: Any) -> int:
    """Replace what a filter evaluates by what counts; how many descendant segments are in it."""
    waiting, descents = [selector.expression], 0
    while waiting:
        one = waiting.pop()
        if hasattr(one, "query"):
            one.query = CountedQuery(one.query)
            descents += one.query.descents
        compares = hasattr(one, "left") and one.operator not in ("&&", "||")
        for name in ("expression", "left", "right"):
            if hasattr(one, name):
                waiting.append(getattr(one, name))
                if name != "expression":
                    setattr(one, name, CountedExpression(getattr(one, name), compares))
        waiting.extend(getattr(one, "args", ()))
    selector.expression = CountedExpression(selector.expression, False)
    return descents

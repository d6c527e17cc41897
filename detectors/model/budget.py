"""How much an expression of a task's author may cost over what agent or page sent, counted and
never timed.

A unit is about a microsecond of work: a value looked at, copied or made. What is counted depends on
the expression and the event alone, so that the same log exceeds the same budget on every machine. A
rule that would exceed it raises `BudgetError` before or while it works, and the step that it could
have paid in is null.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from detectors.model.errors import BudgetError

MAX_EVENT = 500_000
"""Units for all that the rules of a task ask of one event."""
MAX_EPISODE = 50_000_000
"""Units for all that they ask in one episode."""


class Meter:
    """What is left for the event at hand."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_EVENT

    def spend(self, units: int, what: str) -> None:
        """Take ``units`` from what is left. Raises `BudgetError`, and takes what is left."""
        if units > self.left:
            self.left = 0
            raise BudgetError(what)
        self.left -= units


_METER: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metered() -> Iterator[Meter]:
    """One meter for all that is asked meanwhile."""
    meter = Meter()
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)


def meter() -> Meter:
    """The meter of whoever runs the rules; one for this evaluation alone where nobody does."""
    return _METER.get() or Meter()


def weight(value: object, most: int) -> tuple[int, int]:
    """(units, longest list or object) of a JSON value: one unit a value, and one for each 256
    characters of text. It stops, with more units than ``most``, as soon as there are more. Without
    recursion."""
    units = longest = 0
    waiting = [value]
    while waiting and units <= most:
        one = waiting.pop()
        units += 1
        if isinstance(one, str):
            units += len(one) >> 8
        elif isinstance(one, dict):
            longest = max(longest, len(one))
            units += sum(len(key) >> 8 for key in one if isinstance(key, str)) + len(one)
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            longest = max(longest, len(one))
            waiting.extend(one)
    return units, longest

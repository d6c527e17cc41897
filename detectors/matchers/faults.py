"""What a matcher throws on a text from agent or page: it does not match, and whoever runs the rules
is told.

A text that could make a matcher fail would else be a way to make a step null: an agent could choose
which of its steps are paid. So every public method of a matcher that is asked about such text
stands under `answers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from detectors.model.errors import BudgetError

Method = TypeVar("Method", bound=Callable[..., Any])


class Fault(NamedTuple):
    """The matcher and the type of the error; the error's own words may have a page's in them."""

    matcher: str
    error: str


_COLLECTED: ContextVar[list[Fault] | None] = ContextVar("faults", default=None)


@contextmanager
def collected() -> Iterator[list[Fault]]:
    """The faults of the matchers that are asked meanwhile; they gather in the list."""
    token = _COLLECTED.set([])
    try:
        found = _COLLECTED.get()
        assert found is not None
        yield found
    finally:
        _COLLECTED.reset(token)


def report_fault(fault: Fault) -> None:
    """Add a fault to those that are collected now, if they are."""
    found = _COLLECTED.get()
    if found is not None:
        found.append(fault)


def describe_consequence(error: str) -> str:
    """Return what an error of this name counts as, for the end of a sentence about it."""
    if error == BudgetError.__name__:
        return "whether it matches is not known"
    return "it counts as no match"


def answers(otherwise: object) -> Callable[[Method], Method]:
    """Make a method give ``otherwise`` where it fails, and report the `Fault`."""

    def decorate(method: Method) -> Method:
        @wraps(method)
        def call(self: object, *values: object, **options: Any) -> object:
            try:
                return method(self, *values, **options)
            except (MemoryError, ImportError, BudgetError):
                # the first are the machine's, and another's replay would not have it; of the last
                # nobody knows
                raise
            except Exception as error:  # noqa: BLE001 - a parser met a text that it was not made for
                report_fault(Fault(_name(self), type(error).__name__))
                return otherwise

        call.otherwise = otherwise  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


def _name(matcher: object) -> str:
    """A typed form's own name, where a text matcher has one: Money tells more than TextMatch."""
    return type(getattr(matcher, "typed", None) or matcher).__name__

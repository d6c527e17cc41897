"""Which generator makes a page's task."""

from __future__ import annotations

from collections.abc import Callable

from lab.benchmarks.miniwob.instance import Instance
from lab.benchmarks.miniwob.plan import PagePlan

Generator = Callable[[Instance], PagePlan]
"""Raises `BadSourceError` for an instance that is not of its page, `UnobservableError` for one
that nobody can judge."""

GENERATORS: dict[str, Generator] = {}
UNOBSERVABLE: dict[str, str] = {}
"""page → why no event and no text of its document says what decides it."""


def page(*names: str) -> Callable[[Generator], Generator]:
    """List the decorated generator under the pages' names."""

    def add(generator: Generator) -> Generator:
        """List the generator under all names of the page. Raises ValueError for a name that is
        taken."""
        for name in names:
            if name in GENERATORS:
                raise ValueError(f"page {name!r} is listed twice")
            GENERATORS[name] = generator
        return generator

    return add


def unobservable(name: str, why: str) -> None:
    """Say of a page that it can't be judged."""
    UNOBSERVABLE[name] = why

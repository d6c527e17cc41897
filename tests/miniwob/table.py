"""Every scripted page by its name."""

from __future__ import annotations

from tests.miniwob import choosing, clicking, dragging, filling, finding, flying, typing
from tests.miniwob.script import Table

ENTRIES: Table = {
    **choosing.PAGES,
    **clicking.PAGES,
    **dragging.PAGES,
    **filling.PAGES,
    **finding.PAGES,
    **flying.PAGES,
    **typing.PAGES,
}

SEEDS = ("1", "2", "3")
"""The instances of each page that every run is held to."""

AMBIGUOUS = {("email-inbox-noscroll", "2"): "4"}
"""Instances that nobody can judge, and the seed of the one that stands in their place."""


def seeds(page: str, wanted: tuple[str, ...] = SEEDS) -> tuple[str, ...]:
    """The seeds of a page's instances."""
    return tuple(AMBIGUOUS.get((page, seed), seed) for seed in wanted)

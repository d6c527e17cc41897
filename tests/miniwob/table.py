"""Every scripted page by its name."""

from __future__ import annotations

from tests.miniwob import choosing, clicking, dragging, filling, finding, typing
from tests.miniwob.script import Table

ENTRIES: Table = {
    **choosing.PAGES,
    **clicking.PAGES,
    **dragging.PAGES,
    **filling.PAGES,
    **finding.PAGES,
    **typing.PAGES,
}

SEEDS = ("1", "2", "3")
"""The instances of each page that every run is held to."""

"""Every scripted page by its name."""

from __future__ import annotations

from tests.miniwob import clicking, filling, finding
from tests.miniwob.script import Table

ENTRIES: Table = {**clicking.PAGES, **filling.PAGES, **finding.PAGES}

"""Python's collector of cycles, told how this service lives."""

from __future__ import annotations

import gc

THRESHOLD = 50_000


def spare() -> None:
    """Call it once, when all is loaded."""
    # Every segment makes thousands of short-lived events. Without this the collector walks all
    # loaded modules again and again because of them: a third of the time of an append, measured.
    gc.collect()
    gc.freeze()
    gc.set_threshold(THRESHOLD, 20, 50)

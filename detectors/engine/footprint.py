"""How many bytes an engine takes in memory: its own, without the ruleset that all episodes of its
task share."""

from __future__ import annotations

from detectors.engine.engine import Engine
from detectors.model.memory import size_of

FIXED = 4_000
"""Bytes of the objects that every engine is made of, its table of kinds among them."""


def footprint(engine: Engine) -> int:
    """Bytes of an engine, by a walk through its state, its indexes and its counterfactual states.

    An object that stands in two places is counted once. Linear in the objects, some 0.4 µs each.
    """
    return FIXED + size_of(engine.memory())

"""Places and advantages of the episodes of one group: pure arithmetic on what is known of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from detectors.model.optional_values import without_none

Basis = Literal["rank", "reward"]
Scale = Literal["std", "none"]

DIGITS = 9
"""Decimals in which two rewards are equal: sums of the same parts in another order are a tie."""

Key = tuple[float, ...]
"""What an episode is ordered by: its reward, then what each tier said of the tie that it is in.
Episodes of one tie have keys of the same length."""


@dataclass(frozen=True, slots=True)
class RankedPlace:
    """Where an episode stands. ``rank``: 1 is the best, and equal episodes share the better rank.

    ``score``: the share of the other episodes that it is better than, where an equal one counts
    half; from 0 to 1.
    """

    rank: int
    score: float


def find_ties(keys: Sequence[Key | None]) -> list[list[int]]:
    """Return the positions of equal keys, at least two together, the best tie first."""
    classes: dict[Key, list[int]] = {}
    for position, key in enumerate(keys):
        if key is not None:
            classes.setdefault(key, []).append(position)
    return [classes[key] for key in sorted(classes, reverse=True) if len(classes[key]) > 1]


def rank_keys(keys: Sequence[Key | None]) -> list[RankedPlace | None]:
    """Return each episode's place among those whose key is known; None for the others."""
    known = without_none(keys)
    return [None if key is None else _place(key, known) for key in keys]


def _place(key: Key, known: Sequence[Key]) -> RankedPlace:
    """Return a member's rank, and the share of others that it beats, ties by half."""
    better = sum(other > key for other in known)
    equal = sum(other == key for other in known) - 1
    others = len(known) - 1
    worse = others - better - equal
    return RankedPlace(better + 1, (worse + equal / 2) / others if others else 0.5)


def normalise_advantages(values: Sequence[float | None], scale: Scale) -> list[float | None]:
    """Return A_i = (x_i - mean) / std over the known values, as GRPO has it; None for the others.

    The standard deviation is that of a sample (n - 1). Where it is 0 every advantage is 0: such a
    group teaches nothing. ``none`` leaves the division out (Dr. GRPO).
    """
    known = without_none(values)
    if not known:
        return [None] * len(values)
    mean = math.fsum(known) / len(known)
    divisor = 1.0 if scale == "none" else _deviation(known, mean)
    return [
        None if value is None else (value - mean) / divisor if divisor else 0.0 for value in values
    ]


def _deviation(values: Sequence[float], mean: float) -> float:
    """Return the sample's standard deviation, 0 for what differs by rounding alone."""
    if len(values) < 2 or max(values) - min(values) < 10**-DIGITS:
        return 0.0
    squares = math.fsum((value - mean) ** 2 for value in values)
    return math.sqrt(squares / (len(values) - 1))

"""How far people agree beyond chance: Krippendorff's alpha for names, any number of people, not all
of whom said all.

α = 1 − D_o/D_e over the coincidences of values within an item: Krippendorff, Computing
Krippendorff's Alpha-Reliability (2011), section C. 1: always; 0: as by chance; None where nothing
can be said (no item has two words, or all words are the same one).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import permutations


def alpha(items: Iterable[Sequence[str]]) -> float | None:
    """``items``: each one's values, a value a person; items with fewer than two say nothing."""
    coincidences: dict[tuple[str, str], float] = defaultdict(float)
    for values in items:
        for pair in permutations(values, 2):
            coincidences[pair] += 1 / (len(values) - 1)
    of_value: dict[str, float] = defaultdict(float)
    for (a, _), many in coincidences.items():
        of_value[a] += many
    whole = sum(of_value.values())
    expected = sum(of_value[a] * of_value[b] for a, b in permutations(of_value, 2))
    if not expected:
        return None
    observed = sum(many for (a, b), many in coincidences.items() if a != b)
    return float(1 - (whole - 1) * observed / expected)

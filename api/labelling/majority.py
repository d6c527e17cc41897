"""What most people say of an item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

Item = tuple[str, int, str]
"""An episode, a step of it, and what of the step is asked about."""


def majority_labels(words: Sequence[Any]) -> dict[Item, bool]:
    """Return what most people say of each item (rows of `api.labelling.tables.preferences`); an
    item on which they are even has no label."""
    counts: dict[Item, Counter[str]] = {}
    for word in words:
        if not word.second and word.choice in ("yes", "no"):
            counts.setdefault((word.first, word.step, word.item), Counter())[word.choice] += 1
    return {
        item: count["yes"] > count["no"]
        for item, count in counts.items()
        if count["yes"] != count["no"]
    }

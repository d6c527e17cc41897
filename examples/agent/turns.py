"""A demonstration as the model is trained on it: its turns, and the same with other names."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

Row = tuple[list[int], list[int]]
"""A conversation's tokens and labels."""


@dataclass(frozen=True)
class Turn:
    """What the model was told, what it answered, the page that it saw and the words of its
    instruction."""

    told: str
    said: str
    saw: str
    asked: frozenset[str]

    def others(self) -> list[str]:
        """Return the names of the elements that have the role of the one it named, and that the
        instruction does not ask for."""
        elements = [line.split()[:2] for line in self.saw.splitlines()]
        named = self.said.split()[1]
        role = next((role for role, name in elements if name == named), None)
        return [name for kind, name in elements if kind == role and name not in self.asked]


def rename(row: Row, pools: Sequence[Sequence[int]], chance: random.Random) -> Row:
    """Return a conversation with other names in place of its own, each the same everywhere.
    ``pools``: the tokens of the names that may stand in each other's place."""
    other = {
        name: drawn
        for pool in pools
        for name, drawn in zip(pool, chance.sample(pool, len(pool)), strict=True)
    }
    ids, labels = row
    return [other.get(token, token) for token in ids], [other.get(token, token) for token in labels]

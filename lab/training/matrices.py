"""Preferences as arrays: rows of features, which rows are whose, who is better than whom, and of
which groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from api.stages.model.schema import NAMES
from api.stages.model.trajectory_score import step_shares
from lab.training.preferences import LabelledOutcome, Pair, PreferenceSet, Side, rows_of

Floats = NDArray[np.float64]
Whole = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """``rows`` [n, features] of all sides, one after the other; side i has
    ``rows[starts[i]:starts[i + 1]]``."""

    rows: Floats
    starts: Whole
    sides: tuple[Side, ...]
    index: dict[str, int]

    def rows_of(self, side: Side) -> Floats:
        """The rows of features of one side, [steps, features]."""
        at = self.index[side.key]
        return self.rows[self.starts[at] : self.starts[at + 1]]

    def length(self, side: Side) -> int:
        """How many steps the side has."""
        return len(self.rows_of(side))


@dataclass(frozen=True, slots=True)
class LearningProblem:
    """What a model is trained on: ``better[i]`` and ``worse[i]`` are trajectories, ``weight[i]`` of
    the pair.

    ``owner[r]`` is the trajectory of row r, ``share[r]`` the weight of its score in that
    trajectory's.
    """

    rows: Floats
    owner: Whole
    share: Floats
    better: Whole
    worse: Whole
    weight: Floats


def table(preferences: PreferenceSet) -> FeatureTable:
    """Read every side once. Raises `PreferenceError`."""
    sides: dict[str, Side] = {}
    both: list[Pair | LabelledOutcome] = [*preferences.pairs, *preferences.outcomes]
    for one in both:
        for side in _sides(one):
            sides.setdefault(side.key, side)
    # A recording's sides one after the other: it is read once.
    order = sorted(sides.items(), key=lambda item: (str(item[1].recording), item[0]))
    parts = [np.asarray(rows_of(side), np.float64).reshape(-1, len(NAMES)) for _, side in order]
    starts = np.cumsum([0, *(len(part) for part in parts)])
    rows = np.concatenate(parts) if parts else np.zeros((0, len(NAMES)))
    return FeatureTable(
        rows,
        starts,
        tuple(side for _, side in order),
        {key: at for at, (key, _) in enumerate(order)},
    )


def problem(
    known: FeatureTable, pairs: Sequence[Pair], without: Collection[str] = ()
) -> LearningProblem:
    """The pairs of which no side is in a group of ``without``."""
    left_out = set(without)
    used = [pair for pair in pairs if left_out.isdisjoint((pair.chosen.group, pair.rejected.group))]
    sides = {side.key: side for pair in used for side in _sides(pair)}
    place = {key: at for at, key in enumerate(sides)}
    parts = [*map(known.rows_of, sides.values())]
    lengths = [*map(len, parts)]
    shares = [*map(step_shares, lengths)]
    return LearningProblem(
        rows=_joined(parts),
        owner=np.repeat(np.arange(len(parts)), lengths),
        share=np.concatenate([np.zeros(0), *shares]),
        better=np.asarray([place[pair.chosen.key] for pair in used], np.intp),
        worse=np.asarray([place[pair.rejected.key] for pair in used], np.intp),
        weight=np.asarray([pair.weight for pair in used]),
    )


def _joined(parts: Sequence[Floats]) -> Floats:
    """Matrices of features one below the other, also of none."""
    return np.concatenate([np.zeros((0, len(NAMES))), *parts])


def groups_of(items: Iterable[Pair | LabelledOutcome]) -> list[str]:
    """The groups of all sides, sorted and each once."""
    found: set[str] = set()
    for one in items:
        found |= {side.group for side in _sides(one)}
    return sorted(found)


def _sides(one: Pair | LabelledOutcome) -> tuple[Side, ...]:
    return (one.chosen, one.rejected) if isinstance(one, Pair) else (one.trajectory,)


def folds(groups: Sequence[str], count: int) -> list[list[str]]:
    """The groups dealt out to at most ``count`` folds."""
    count = max(1, min(count, len(groups)))
    return [list(groups[at::count]) for at in range(count)]

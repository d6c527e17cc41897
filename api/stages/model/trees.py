"""Boosted trees as arrays, walked by numpy alone: what LightGBM trained, with no LightGBM where it
serves.

All trees lie one after the other in flat arrays; a leaf points to itself, so that a walk of
``depth`` turns ends in leaves. A missing number (NaN) goes where training sent it; where training
saw none, it counts as 0, as LightGBM's does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from api.stages.model import schema

Floats = NDArray[np.float64]
MAX_DEPTH = 1_024
BATCH = 512
"""Rows that are walked at once; more would only move memory."""


class Node(NamedTuple):
    """One node of `Trees`."""

    left: int
    right: int
    feature: int = 0
    threshold: float = math.inf
    value: float = 0.0
    missing: int = 0


class Trees(NamedTuple):
    """``feature``, ``threshold``, ``left``, ``right``, ``value``, ``missing`` a node; ``roots`` a
    tree.

    ``missing``: 0 NaN counts as 0, 1 it goes left, 2 it goes right. ``value`` is a leaf's,
    unitless.
    """

    feature: NDArray[np.int32]
    threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Floats
    missing: NDArray[np.int8]
    roots: NDArray[np.int32]
    depth: int

    def score(self, rows: Floats) -> Floats:
        """Of each row [n, features] the sum of its leaves: [n]."""
        if len(rows) == 1:
            return self._score_one(rows[0])
        parts = [self._score(rows[at : at + BATCH]) for at in range(0, len(rows), BATCH)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _score_one(self, row: Floats) -> Floats:
        """Of one row [features] what `_score` gives of it: [1]. All splits are decided at once,
        which is a tenth of the calls of numpy that a walk makes."""
        unknown = np.isnan(row)
        goes_left = np.where(unknown, 0.0, row)[self.feature] <= self.threshold
        decided = unknown[self.feature] & (self.missing > 0)
        goes_left = np.where(decided, self.missing == 1, goes_left)
        following = np.where(goes_left, self.left, self.right)
        node = self.roots
        for _ in range(self.depth):
            node = following[node]
        total: Floats = self.value[node][None].sum(axis=1)
        return total

    def _score(self, rows: Floats) -> Floats:
        """Return the sum over all trees for each row; a missing value goes the way that the tree
        learnt."""
        unknown = np.isnan(rows)
        has_unknown = bool(unknown.any())
        known = np.where(unknown, 0.0, rows)
        node = np.broadcast_to(self.roots, (len(rows), len(self.roots))).copy()
        line = np.arange(len(rows))[:, None]
        for _ in range(self.depth):
            feature = self.feature[node]
            goes_left = known[line, feature] <= self.threshold[node]
            if has_unknown:
                missing = self.missing[node]
                decided = unknown[line, feature] & (missing > 0)
                goes_left = np.where(decided, missing == 1, goes_left)
            node = np.where(goes_left, self.left[node], self.right[node])
        total: Floats = self.value[node].sum(axis=1)
        return total

    def arrays(self) -> dict[str, Any]:
        """Return what `from_arrays` reads, for `numpy.savez`."""
        return self._asdict()


def from_arrays(arrays: Mapping[str, Any]) -> Trees:
    """Read what `Trees.arrays` gave; raises KeyError where one is missing, ValueError for what is
    no tree of `schema`'s features."""
    trees = Trees(
        **{name: arrays[name] for name in Trees._fields if name != "depth"},
        depth=int(arrays["depth"]),
    )
    _require_walkable(trees)
    return trees


def _require_walkable(trees: Trees) -> None:
    """Refuse arrays on which a walk would fail, or not end soon. Raises ValueError."""
    rows = {name: array for name, array in trees.arrays().items() if name != "depth"}
    for name, row in rows.items():
        _require_numbers(name, row)
    count = len(trees.left)
    for name, row in rows.items():
        if name != "roots" and len(row) != count:
            raise ValueError(f"{name}: expected {count} nodes, got {len(row)}")
    for name in ("left", "right", "roots"):
        _require_below(count, name, rows[name])
    _require_below(len(schema.NAMES), "feature", rows["feature"])
    if not 0 <= trees.depth <= MAX_DEPTH:
        raise ValueError(f"depth: expected 0 to {MAX_DEPTH}, got {trees.depth}")
    if not np.isfinite(trees.value).all():
        raise ValueError("value: expected finite numbers")


def _require_numbers(name: str, row: NDArray[Any]) -> None:
    """Refuse what is no row of numbers. Raises ValueError."""
    if row.ndim != 1 or row.dtype.kind not in "if":
        raise ValueError(f"{name}: expected a row of numbers, got {row.dtype}{row.shape}")


def _require_below(bound: int, name: str, row: NDArray[Any]) -> None:
    """Refuse a row that has anything but whole numbers from 0 to below ``bound``. Raises
    ValueError."""
    is_within = len(row) == 0 or 0 <= row.min() <= row.max() < bound
    if row.dtype.kind != "i" or not is_within:
        raise ValueError(f"{name}: expected whole numbers from 0 to {bound - 1}")


def route_by_kind(desktop: Trees, pages: Trees, desk: int, text: int) -> Trees:
    """Return trees of which a row reaches those of its kind alone, the others add 0.

    A row is of a desktop where the feature ``desk`` is 1 (a desktop, files or tools are reported)
    and ``text`` is 0 (the text of no page is).
    """
    joined = _Joined()
    for trees, is_desktop in ((desktop, True), (pages, False)):
        joined.add(trees, is_desktop=is_desktop, desk=desk, text=text)
    return joined.to_trees()


class _Joined:
    """Nodes of several `Trees`, each tree behind two splits; the first node is a leaf of 0."""

    def __init__(self) -> None:
        self._nodes = [Node(0, 0)]
        self._roots: list[int] = []
        self._depth = 0

    def add(self, trees: Trees, *, is_desktop: bool, desk: int, text: int) -> None:
        """Append trees that a row of this kind reaches."""
        base = len(self._nodes)
        leading = (trees.left + base, trees.right + base, trees.feature, trees.threshold)
        for node in zip(*leading, trees.value, trees.missing, strict=True):
            self._nodes.append(Node(*(number.item() for number in node)))
        for root in (trees.roots + base).tolist():
            here, other = (root, 0) if is_desktop else (0, root)
            self._nodes.append(Node(here, other, text, 0.5))
            self._nodes.append(Node(other, len(self._nodes) - 1, desk, 0.5))
            self._roots.append(len(self._nodes) - 1)
        self._depth = max(self._depth, trees.depth + 2)

    def to_trees(self) -> Trees:
        """Return everything that was added as trees that numpy walks."""
        return _as_trees(self._nodes, self._roots, self._depth)


def from_lightgbm(dump: Mapping[str, Any]) -> Trees:
    """Read the trees of ``Booster.dump_model()``. Raises ValueError for splits other than by a
    number's size."""
    nodes: list[Node] = []
    roots, depth = [], 1
    for tree in dump["tree_info"]:
        roots.append(len(nodes))
        depth = max(depth, _add_nodes(nodes, tree["tree_structure"]))
    return _as_trees(nodes, roots, depth)


def _as_trees(nodes: Sequence[Node], roots: Sequence[int], depth: int) -> Trees:
    """Return nodes as arrays, one a field."""
    return Trees(
        feature=np.asarray([node.feature for node in nodes], np.int32),
        threshold=np.asarray([node.threshold for node in nodes], np.float64),
        left=np.asarray([node.left for node in nodes], np.int32),
        right=np.asarray([node.right for node in nodes], np.int32),
        value=np.asarray([node.value for node in nodes], np.float64),
        missing=np.asarray([node.missing for node in nodes], np.int8),
        roots=np.asarray(roots, np.int32),
        depth=depth,
    )


def _add_nodes(nodes: list[Node], tree: Mapping[str, Any]) -> int:
    """Append a tree's nodes, its root first; return its depth."""
    here = len(nodes)
    nodes.append(Node(left=here, right=here, value=float(tree.get("leaf_value", 0.0))))
    if "split_feature" not in tree:
        return 1
    if tree["decision_type"] != "<=":
        raise ValueError(f"trees: a split by {tree['decision_type']!r}, wanted '<='")
    left = len(nodes)
    left_depth = _add_nodes(nodes, tree["left_child"])
    right = len(nodes)
    right_depth = _add_nodes(nodes, tree["right_child"])
    nodes[here] = Node(
        feature=int(tree["split_feature"]),
        threshold=float(tree["threshold"]),
        left=left,
        right=right,
        missing=_missing_of(tree),
    )
    return 1 + max(left_depth, right_depth)


def _missing_of(split: Mapping[str, Any]) -> int:
    """Where a split sends NaN, as `Trees` has it."""
    if split["missing_type"] == "None":
        return 0
    return 1 if split["default_left"] else 2

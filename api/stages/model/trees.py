"""Boosted trees as arrays, walked by numpy alone: what LightGBM trained, with no LightGBM where it
serves.

All trees lie one after the other in flat arrays; a leaf points to itself, so that a walk of
``depth`` turns ends in leaves. A missing number (NaN) goes where training sent it; where training
saw none, it counts as 0, as LightGBM's does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BATCH = 512
"""Rows that are walked at once; more would only move memory."""


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
        parts = [self._score(rows[at : at + BATCH]) for at in range(0, len(rows), BATCH)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _score(self, rows: Floats) -> Floats:
        unknown = np.isnan(rows)
        known = np.where(unknown, 0.0, rows)
        some = bool(unknown.any())
        at = np.broadcast_to(self.roots, (len(rows), len(self.roots))).copy()
        lines = np.arange(len(rows))[:, None]
        for _ in range(self.depth):
            feature = self.feature[at]
            left = known[lines, feature] <= self.threshold[at]
            if some:
                how = self.missing[at]
                left = np.where(unknown[lines, feature] & (how > 0), how == 1, left)
            at = np.where(left, self.left[at], self.right[at])
        total: Floats = self.value[at].sum(axis=1)
        return total

    def arrays(self) -> dict[str, Any]:
        """For `numpy.savez`."""
        return self._asdict()


def from_arrays(arrays: Mapping[str, Any]) -> Trees:
    """What `Trees.arrays` gave; raises KeyError where one is missing."""
    return Trees(
        **{name: arrays[name] for name in Trees._fields if name != "depth"},
        depth=int(arrays["depth"]),
    )


def from_lightgbm(dump: Mapping[str, Any]) -> Trees:
    """The trees of ``Booster.dump_model()``. Raises ValueError for splits other than by a number's
    size."""
    nodes: list[tuple[int, float, int, int, float, int]] = []
    roots, depth = [], 1

    def grow(node: Mapping[str, Any], deep: int) -> int:
        nonlocal depth
        depth = max(depth, deep)
        here = len(nodes)
        nodes.append((0, np.inf, here, here, float(node.get("leaf_value", 0.0)), 0))
        if "split_feature" in node:
            if node["decision_type"] != "<=":
                raise ValueError(f"trees: a split by {node['decision_type']!r}, wanted '<='")
            missing = 0 if node["missing_type"] == "None" else 1 if node["default_left"] else 2
            left, right = grow(node["left_child"], deep + 1), grow(node["right_child"], deep + 1)
            nodes[here] = (
                int(node["split_feature"]),
                float(node["threshold"]),
                left,
                right,
                0.0,
                missing,
            )
        return here

    for tree in dump["tree_info"]:
        roots.append(grow(tree["tree_structure"], 1))
    columns = list(zip(*nodes, strict=True)) if nodes else [()] * 6
    kinds = (np.int32, np.float64, np.int32, np.int32, np.float64, np.int8)
    made: list[Any] = [
        np.asarray(column, kind) for column, kind in zip(columns, kinds, strict=True)
    ]
    feature, threshold, left_of, right_of, value, missing_of = made
    return Trees(
        feature, threshold, left_of, right_of, value, missing_of, np.asarray(roots, np.int32), depth
    )

"""Playwright's snapshots of documents, made trees.

A snapshot is ``[NAME, attributes, child, …]``, a text, or ``[[n, i]]``: the node that came i-th in
the n-th snapshot before, of the same frame. Nodes count in the order in which they end, without
those that are only pointed at.
"""

from __future__ import annotations

from typing import NamedTuple

from detectors.model.json_value import JsonValue, object_or_empty
from lab.convert.dom import DomNode

MAX_NODES = 200_000
MAX_DEPTH = 2000

VALUE, CHECKED, SELECTED, TARGET = (
    f"__playwright_{name}_" for name in ("value", "checked", "selected", "target_")
)
"""Attributes in which a snapshot keeps what the markup does not show."""


class FrameHistory:
    """The snapshots of one frame, in order. A file that nests or repeats without end is cut off."""

    def __init__(self) -> None:
        self._nodes: list[list[JsonValue]] = []

    def tree(self, html: JsonValue) -> tuple[DomNode, bool]:
        """The next snapshot as a tree, and whether it shares nodes with the one before: the same
        document then."""
        self._nodes.append(_numbered(html))
        building = _TreeBuilding(self._nodes)
        building.build(html)
        return building.top, building.shares


def _is_element(item: list[JsonValue]) -> bool:
    return bool(item) and isinstance(item[0], str)


def _reference(item: JsonValue) -> tuple[int, int] | None:
    """What ``[[n, i]]`` points at: n snapshots before, the i-th node; None for anything else."""
    match item:
        case [[int(back), int(index)], *_] if bool not in (type(back), type(index)):
            return back, index
    return None


class _TreeBuilding:
    """The last of ``snapshots`` becomes a tree below ``top``. ``shares``: whether it has nodes of
    the one before."""

    def __init__(self, snapshots: list[list[JsonValue]]) -> None:
        self.top = DomNode("#document")
        self.shares = False
        self._snapshots = snapshots
        self._current = len(snapshots) - 1
        self._stack: list[_PendingNode] = []

    def build(self, html: JsonValue) -> None:
        """Add all nodes, in document order, up to `MAX_NODES`."""
        self._stack.append(_PendingNode(html, self._current, self.top, 0))
        for _ in range(MAX_NODES):
            if not self._stack:
                return
            self._add(self._stack.pop())

    def _add(self, pending: _PendingNode) -> None:
        """Add one node to its parent, and note its children, or what it points at."""
        item = pending.item
        reference = _reference(item)
        if isinstance(item, str):
            pending.parent.append(DomNode("#text", text=item))
        elif reference is not None:
            is_own = pending.snapshot == self._current
            self.shares = self.shares or is_own
            self._follow(pending, *reference)
        elif isinstance(item, list) and _is_element(item):
            node = DomNode(str(item[0]).lower(), _attributes(item))
            pending.parent.append(node)
            below = [pending.below(child, node) for child in reversed(item[2:])]
            self._push(below)

    def _follow(self, pending: _PendingNode, back: int, index: int) -> None:
        """Note the node that a reference points at: of ``back`` snapshots before, by its number
        there."""
        behind = pending.snapshot - back
        is_known = 0 <= behind <= pending.snapshot
        nodes = self._snapshots[behind] if is_known else []
        if not 0 <= index < len(nodes):
            return
        target = nodes[index]
        points_at_itself = back == 0 and _reference(target) is not None
        if not points_at_itself:
            self._push([_PendingNode(target, behind, pending.parent, pending.depth + 1)])

    def _push(self, pending: list[_PendingNode]) -> None:
        """Note nodes that come next, unless they lie too deep."""
        self._stack.extend(one for one in pending if one.depth <= MAX_DEPTH)


class _PendingNode(NamedTuple):
    """A node that is still to be added to ``parent``; ``snapshot``: the number of the one in which
    it stands."""

    item: JsonValue
    snapshot: int
    parent: DomNode
    depth: int

    def below(self, child: JsonValue, node: DomNode) -> _PendingNode:
        """A child of this one, which became ``node``."""
        return _PendingNode(child, self.snapshot, node, self.depth + 1)


def _attributes(item: list[JsonValue]) -> dict[str, str]:
    """The attributes of an element, [tag, attributes, *children], their names in lower case."""
    _, *rest = item
    attributes = object_or_empty(next(iter(rest), None))
    return {name.lower(): str(value) for name, value in attributes.items()}


def _numbered(html: JsonValue) -> list[JsonValue]:
    """A snapshot's own nodes in the order in which they end."""
    ended: list[JsonValue] = []
    stack: list[tuple[JsonValue, bool]] = [(html, False)]
    while stack:
        item, are_children_done = stack.pop()
        if are_children_done or isinstance(item, str):
            ended.append(item)
            continue
        children = item[2:] if isinstance(item, list) and _is_element(item) else None
        if children is not None:
            stack.append((item, True))
            stack.extend((child, False) for child in reversed(children))
    return ended

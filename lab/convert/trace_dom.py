"""Playwright's snapshots of documents, made trees.

A snapshot is ``[NAME, attributes, child, …]``, a text, or ``[[n, i]]``: the node that came i-th in
the n-th snapshot before, of the same frame. Nodes count in the order in which they end, without
those that are only pointed at.
"""

from __future__ import annotations

from detectors.model.json_value import JsonValue
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
        current = len(self._nodes) - 1
        top = DomNode("#document")
        shares = False
        left = MAX_NODES
        stack: list[tuple[JsonValue, int, DomNode, int]] = [(html, current, top, 0)]
        while stack and left > 0:
            item, number, parent, depth = stack.pop()
            left -= 1
            reference = _reference(item)
            if isinstance(item, str):
                parent.append(DomNode("#text", text=item))
            elif reference is not None:
                shares = shares or number == current
                target = self._resolve(number, *reference) if depth < MAX_DEPTH else None
                if target is not None:
                    stack.append((*target, parent, depth + 1))
            elif isinstance(item, list) and _is_element(item):
                node = DomNode(str(item[0]).lower(), _attributes(item))
                parent.append(node)
                if depth < MAX_DEPTH:
                    stack.extend((child, number, node, depth + 1) for child in reversed(item[2:]))
        return top, shares

    def _resolve(self, number: int, back: int, index: int) -> tuple[JsonValue, int] | None:
        """What a reference in snapshot ``number`` points at, and in which snapshot that stands."""
        behind = number - back
        if not 0 <= behind <= number or not 0 <= index < len(self._nodes[behind]):
            return None
        target = self._nodes[behind][index]
        points_at_itself = behind == number and _reference(target) is not None
        return None if points_at_itself else (target, behind)


def _is_element(item: list[JsonValue]) -> bool:
    return bool(item) and isinstance(item[0], str)


def _reference(item: JsonValue) -> tuple[int, int] | None:
    """What ``[[n, i]]`` points at: n snapshots before, the i-th node; None for anything else."""
    match item:
        case [[int(back), int(index)], *_] if bool not in (type(back), type(index)):
            return back, index
    return None


def _attributes(item: list[JsonValue]) -> dict[str, str]:
    attributes = item[1] if len(item) > 1 else None
    if not isinstance(attributes, dict):
        return {}
    return {name.lower(): str(value) for name, value in attributes.items()}


def _numbered(html: JsonValue) -> list[JsonValue]:
    """A snapshot's own nodes in the order in which they end."""
    ended: list[JsonValue] = []
    stack: list[tuple[JsonValue, bool]] = [(html, False)]
    while stack:
        item, done = stack.pop()
        if done or isinstance(item, str):
            ended.append(item)
        elif isinstance(item, list) and _is_element(item):
            stack.append((item, True))
            stack.extend((child, False) for child in reversed(item[2:]))
    return ended

"""Playwright's snapshots of documents, made trees.

A snapshot is ``[NAME, attributes, child, …]``, a text, or ``[[n, i]]``: the node that came i-th in
the n-th snapshot before, of the same frame. Nodes count in the order in which they end, without
those that are only pointed at.
"""

from __future__ import annotations

from typing import Any

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
        self._nodes: list[list[Any]] = []

    def tree(self, html: Any) -> tuple[DomNode, bool]:
        """The next snapshot as a tree, and whether it shares nodes with the one before: the same
        document then."""
        self._nodes.append(_numbered(html))
        current = len(self._nodes) - 1
        top = DomNode("#document")
        shares = False
        left = MAX_NODES
        stack: list[tuple[Any, int, DomNode, int]] = [(html, current, top, 0)]
        while stack and left > 0:
            item, number, parent, depth = stack.pop()
            left -= 1
            if isinstance(item, str):
                parent.append(DomNode("#text", text=item))
            elif _is_reference(item):
                shares = shares or number == current
                target = self._resolve(number, *item[0]) if depth < MAX_DEPTH else None
                if target is not None:
                    stack.append((*target, parent, depth + 1))
            elif _is_element(item):
                node = DomNode(item[0].lower(), _attributes(item))
                parent.append(node)
                if depth < MAX_DEPTH:
                    stack.extend((child, number, node, depth + 1) for child in reversed(item[2:]))
        return top, shares

    def _resolve(self, number: int, back: int, index: int) -> tuple[Any, int] | None:
        """What a reference in snapshot ``number`` points at, and in which snapshot that stands."""
        behind = number - back
        if not 0 <= behind <= number or not 0 <= index < len(self._nodes[behind]):
            return None
        target = self._nodes[behind][index]
        points_at_itself = behind == number and _is_reference(target)
        return None if points_at_itself else (target, behind)


def _is_element(item: Any) -> bool:
    return isinstance(item, list) and bool(item) and isinstance(item[0], str)


def _is_reference(item: Any) -> bool:
    if not isinstance(item, list) or not item or not isinstance(item[0], list) or len(item[0]) != 2:
        return False
    return all(type(number) is int for number in item[0])


def _attributes(item: list[Any]) -> dict[str, str]:
    found = item[1] if len(item) > 1 and isinstance(item[1], dict) else {}
    return {str(name).lower(): str(value) for name, value in found.items()}


def _numbered(html: Any) -> list[Any]:
    """A snapshot's own nodes in the order in which they end."""
    found: list[Any] = []
    stack: list[tuple[Any, bool]] = [(html, False)]
    while stack:
        item, done = stack.pop()
        if done or isinstance(item, str):
            found.append(item)
        elif _is_element(item):
            stack.append((item, True))
            stack.extend((child, False) for child in reversed(item[2:]))
    return found

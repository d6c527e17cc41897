"""The document of an rrweb stream, kept as its snapshots and mutations say, by the stream's own
node numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lab.convert.dom import Node
from lab.convert.page_state import MAIN

DOCUMENT, DOCTYPE, ELEMENT, TEXT = 0, 1, 2, 3
MAX_NODES = 500_000
_HIDING = ("display:none", "visibility:hidden")


class Mirror:
    """``nodes``: number → node. What the stream says of nodes that it never told is passed over."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.top = Node("#document")

    def reset(self, root: Any) -> None:
        """A full snapshot: everything is told anew."""
        self.nodes.clear()
        self.top = self._build(root) or Node("#document")

    def _build(self, data: Any) -> Node | None:
        """A serialised node with all below it."""
        built: Node | None = None
        stack: list[tuple[Any, Node | None]] = [(data, None)]
        while stack and len(self.nodes) < MAX_NODES:
            item, parent = stack.pop()
            if not isinstance(item, dict) or type(item.get("id")) is not int:
                continue
            node = _node(item)
            self.nodes[item["id"]] = node
            if parent is None:
                built = node
            else:
                parent.append(node)
            children = item.get("childNodes")
            if isinstance(children, list):
                stack.extend((child, node) for child in reversed(children))
        return built

    def remove(self, number: Any) -> Node | None:
        """Take a node out; gives it."""
        node = self.nodes.get(number)
        if node is None:
            return None
        node.remove()
        for one in node.walk():
            self.nodes.pop(one.key, None)
        return node

    def add(self, items: list[Any]) -> list[Node]:
        """Put nodes in, in whatever order they are told; gives those that found their place."""
        placed: list[Node] = []
        waiting = [item for item in items if isinstance(item, dict)]
        while waiting:
            later = [item for item in waiting if not self._place(item, placed, strict=True)]
            if len(later) == len(waiting):
                # A neighbour that is nowhere: then last among its siblings.
                for item in later:
                    self._place(item, placed, strict=False)
                break
            waiting = later
        return placed

    def _place(self, item: dict[str, Any], placed: list[Node], *, strict: bool) -> bool:
        parent = self.nodes.get(item.get("parentId", 0))
        following = item.get("nextId")
        before = self.nodes.get(following) if type(following) is int else None
        if parent is None or (strict and type(following) is int and before is None):
            return False
        known = item.get("node", {}).get("id") if isinstance(item.get("node"), dict) else None
        if type(known) is int and known in self.nodes:
            self.remove(known)
        node = self._build(item.get("node"))
        if node is not None:
            parent.append(node, before)
            placed.append(node)
        return True


def _node(item: dict[str, Any]) -> Node:
    kind, key = item.get("type"), item["id"]
    if kind == TEXT:
        return Node("#text", text=str(item.get("textContent") or ""), key=key)
    if kind != ELEMENT:
        return Node("#document" if kind == DOCUMENT else "#other", key=key)
    found = item.get("attributes")
    node = Node(str(item.get("tagName") or "").lower(), key=key)
    for name, value in (found if isinstance(found, dict) else {}).items():
        set_attribute(node, str(name), value)
    return node


def set_attribute(node: Node, name: str, value: Any) -> None:
    """Set an attribute as a mutation says it: null and false take it away."""
    if value is None or value is False:
        node.attrs.pop(name.lower(), None)
    elif isinstance(value, str | int | float):
        node.attrs[name.lower()] = "" if value is True else str(value)


def frame_of(node: Node) -> tuple[str, Node | None]:
    """The frame that a node is in: its name, and the iframe that holds its document; the main one
    has none."""
    for one in (node, *node.ancestors()):
        if (
            one.tag == "#document"
            and one.parent is not None
            and one.parent.tag in ("iframe", "frame")
        ):
            return f"frame-{one.key}", one.parent
    return MAIN, None


def is_hidden(node: Node) -> bool:
    """Whether markup says that nobody sees it; style sheets are not looked at."""
    for one in (node, *node.ancestors()):
        style = one.get("style").replace(" ", "").lower()
        if "hidden" in one.attrs or any(sign in style for sign in _HIDING):
            return True
        if one.tag == "dialog" and "open" not in one.attrs:
            return True
    return node.is_unseen()


def texts(node: Node) -> Iterator[Node]:
    """The text nodes below that a person may see."""
    return (
        one for one in node.walk() if one.tag == "#text" and one.text.strip() and not is_hidden(one)
    )

"""The document of an rrweb stream, kept as its snapshots and mutations say, by the stream's own
node numbers."""

from __future__ import annotations

from collections.abc import Iterator

from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    list_or_empty,
    object_or_empty,
    read_text,
)
from lab.convert.dom import DomNode
from lab.convert.page_state import MAIN

DOCUMENT, DOCTYPE, ELEMENT, TEXT = 0, 1, 2, 3
MAX_NODES = 500_000
_HIDING = ("display:none", "visibility:hidden")


class Mirror:
    """``nodes``: number → node. What the stream says of nodes that it never told is passed over."""

    def __init__(self) -> None:
        self.nodes: dict[int, DomNode] = {}
        self.top = DomNode("#document")

    def reset(self, root: JsonValue) -> None:
        """A full snapshot: everything is told anew."""
        self.nodes.clear()
        self.top = self._build(root) or DomNode("#document")

    def find(self, number: JsonValue) -> DomNode | None:
        """The node of that number, None where the stream told of none."""
        return self.nodes.get(number) if isinstance(number, int) else None

    def _build(self, data: JsonValue) -> DomNode | None:
        """A serialised node with all below it."""
        built = DomNode("#built")
        stack: list[tuple[JsonValue, DomNode]] = [(data, built)]
        while stack and len(self.nodes) < MAX_NODES:
            item, parent = stack.pop()
            about = object_or_empty(item)
            number = about.get("id")
            if type(number) is not int:
                continue
            node = _node(about, number)
            self.nodes[number] = node
            parent.append(node)
            children = list_or_empty(about.get("childNodes"))
            stack.extend((child, node) for child in reversed(children))
        top = next(iter(built.children), None)
        if top is not None:
            top.remove()
        return top

    def remove(self, number: JsonValue) -> DomNode | None:
        """Take a node out; gives it."""
        node = self.find(number)
        if node is None:
            return None
        node.remove()
        for below in node.walk():
            self.nodes.pop(below.key, None)
        return node

    def add(self, waiting: list[JsonObject]) -> list[DomNode]:
        """Put nodes in, in whatever order they are told; gives those that found their place."""
        placed: list[DomNode] = []
        while waiting:
            later = [item for item in waiting if not self._place(item, placed, strict=True)]
            if len(later) == len(waiting):
                # A neighbour that is nowhere: then last among its siblings.
                for item in later:
                    self._place(item, placed, strict=False)
                break
            waiting = later
        return placed

    def _place(self, item: JsonObject, placed: list[DomNode], *, strict: bool) -> bool:
        """Put an added node where it is to stand, and note it in ``placed``. Return False where
        its parent is not there yet, or, if ``strict``, the node that it stands before."""
        parent = self.find(item.get("parentId", 0))
        following = item.get("nextId")
        before = self.find(following)
        is_missing = isinstance(following, int) and before is None
        must_wait = strict and is_missing
        if parent is None or must_wait:
            return False
        data = item.get("node")
        self.remove(object_or_empty(data).get("id"))
        node = self._build(data)
        if node is not None:
            parent.append(node, before)
            placed.append(node)
        return True


def _node(item: JsonObject, key: int) -> DomNode:
    """Return a serialised node without its children; comments and the like become ``#other``."""
    kind = item.get("type")
    if kind == TEXT:
        return DomNode("#text", text=read_text(item, "textContent"), key=key)
    if kind != ELEMENT:
        return DomNode("#document" if kind == DOCUMENT else "#other", key=key)
    node = DomNode(read_text(item, "tagName").lower(), key=key)
    set_attributes(node, item.get("attributes"))
    return node


def set_attributes(node: DomNode, changes: JsonValue) -> None:
    """Set attributes as a mutation says them: null and false take one away."""
    for key, value in object_or_empty(changes).items():
        name = key.lower()
        match value:
            case None | False:
                node.attrs.pop(name, None)
            case True:
                node.attrs[name] = ""
            case str() | int() | float():
                node.attrs[name] = str(value)


def frame_of(node: DomNode) -> tuple[str, DomNode | None]:
    """The frame that a node is in: its name, and the iframe that holds its document; the main one
    has none."""
    document = node.closest("#document")
    while document is not None and document.parent is not None:
        holder = document.parent
        if holder.tag in ("iframe", "frame"):
            return f"frame-{document.key}", holder
        document = holder.closest("#document")
    return MAIN, None


def is_hidden(node: DomNode) -> bool:
    """Whether markup says that nobody sees it; style sheets are not looked at."""
    return node.is_unseen() or any(map(_hides, (node, *node.ancestors())))


def _hides(node: DomNode) -> bool:
    """Whether the element's own markup hides it and all below."""
    if "hidden" in node.attrs:
        return True
    if node.tag == "dialog" and "open" not in node.attrs:
        return True
    style = node.get("style").replace(" ", "").lower()
    return any(sign in style for sign in _HIDING)


def texts(node: DomNode) -> Iterator[DomNode]:
    """The text nodes below that a person may see."""
    for below in node.walk():
        is_text = below.tag == "#text" and below.text.strip() != ""
        if is_text and not is_hidden(below):
            yield below

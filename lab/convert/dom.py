"""A document as rrweb and Playwright serialised it: a small tree, walked without recursion, since
files can lie."""

from __future__ import annotations

from collections.abc import Collection, Iterator

_UNSEEN = frozenset(("script", "style", "noscript", "template", "head", "title"))


class DomNode:
    """An element (``tag`` in lower case), a text (``tag`` is "#text"), or anything else that holds
    nodes ("#…")."""

    __slots__ = ("attrs", "children", "found", "key", "parent", "tag", "text")

    def __init__(
        self, tag: str, attrs: dict[str, str] | None = None, text: str = "", key: int = 0
    ) -> None:
        self.tag = tag
        self.attrs = attrs or {}
        self.text = text
        self.key = key
        """What the file numbers the node with, where it does."""
        self.found: dict[str, list[DomNode]] | None = None
        """On the root of a tree that does not change any more: nodes by tag, as far as they were
        asked for."""
        self.children: list[DomNode] = []
        self.parent: DomNode | None = None

    def append(self, child: DomNode, before: DomNode | None = None) -> None:
        """Put ``child`` last, or before one of the children."""
        child.parent = self
        if before is not None and before.parent is self:
            self.children.insert(self.children.index(before), child)
        else:
            self.children.append(child)

    def remove(self) -> None:
        """Take the node out of its parent."""
        if self.parent is not None:
            self.parent.children.remove(self)
            self.parent = None

    def walk(self) -> Iterator[DomNode]:
        """The node and all below, in document order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def ancestors(self) -> Iterator[DomNode]:
        """The nodes above this one, the nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def closest(self, *tags: str) -> DomNode | None:
        """The node itself or the nearest above it with one of these tags."""
        return next((node for node in (self, *self.ancestors()) if node.tag in tags), None)

    def root(self) -> DomNode:
        """The top of the tree that the node is in."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def all(self, tag: str) -> list[DomNode]:
        """Every element of that tag in the whole tree."""
        root = self.root()
        known: dict[str, list[DomNode]] = {} if root.found is None else root.found
        if tag not in known:
            known[tag] = [node for node in root.walk() if node.tag == tag]
        return known[tag]

    def all_of(self, *tags: str) -> Iterator[DomNode]:
        """Every element of these tags in the whole tree, tag after tag."""
        for tag in tags:
            yield from self.all(tag)

    def get(self, name: str) -> str:
        """An attribute, "" where there is none."""
        return self.attrs.get(name, "")

    def content(self) -> str:
        """The text below, white space folded, without what is never shown (scripts, styles)."""
        return self.text_without(_UNSEEN)

    def text_without(self, tags: Collection[str]) -> str:
        """The text below, white space folded, without what stands in elements of these ``tags``;
        the tag of the node itself does not count."""
        parts: list[str] = []
        stack = [self]
        while stack:
            node = stack.pop()
            if node.tag == "#text":
                parts.append(node.text)
            elif node is self or node.tag not in tags:
                stack.extend(reversed(node.children))
        return " ".join(" ".join(parts).split())

    def is_unseen(self) -> bool:
        """Whether it stands in what is never shown."""
        return any(node.tag in _UNSEEN for node in (self, *self.ancestors()))

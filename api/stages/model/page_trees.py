"""Pages that a task's `observations` record as trees, told as what came and went: the same features
as of a log that reports text and elements as they come.

A tree is compared with the one before of its document. What it has more is told as an element or a
line of text that appeared, what it lacks as one that disappeared; of a tree that was cut nobody
knows what it lacks. Where the log reports text or elements by itself, trees add nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from api.stages.model.words import MAX_CHARACTERS
from detectors.model.types import Event, Json

REPORTED = frozenset(("text.appeared", "element.appeared"))
"""Kinds of a log that needs no trees."""
MAX_TREES = 32
"""Trees that are remembered by their digest, and documents of which the last one is."""
MAX_NODES = 4_000

Document = tuple[str, str]
"""Tab and frame."""


class TreeItem(NamedTuple):
    """An element of a tree; of a text the role is "text"."""

    role: str
    name: str


Items = Counter[TreeItem]


class TreeChanges:
    """What the trees of each document have shown last."""

    def __init__(self) -> None:
        self._is_needed = True
        self._by_digest: dict[str, Items] = {}
        self._shown: dict[Document, Items] = {}

    def translate(self, event: Event, *, in_step: bool) -> Sequence[Event]:
        """Return the events that stand for this one: for a tree what came and went, else itself.
        ``in_step``: a step goes on; what a tree has before the first one was there at first."""
        match event.kind:
            case "visual.tree_recorded":
                return list(self._differences(event, baseline=not in_step))
            case "episode.opened":
                asked = event.data.get("asked")
                if isinstance(asked, list) and any(kind in asked for kind in REPORTED):
                    self._is_needed = False
            case "text.appeared" | "element.appeared":
                self._is_needed = False
            case "page.navigated" if not event.data.get("same_document"):
                return [*self._leave(event, baseline=not in_step), event]
        return (event,)

    def _leave(self, event: Event, *, baseline: bool) -> Iterator[Event]:
        """Another document is in a frame: where it is the main one, all that its tab showed is
        gone, and the screen is emptied; else what the frame showed disappears."""
        tab, frame = str(event.data.get("tab")), str(event.data.get("frame"))
        if event.data.get("main"):
            for document in [one for one in self._shown if one[0] == tab]:
                del self._shown[document]
            return
        for item in self._shown.pop((tab, frame), Items()).elements():
            yield _event_of(event, "disappeared", item, baseline=baseline)

    def _differences(self, event: Event, *, baseline: bool) -> Iterator[Event]:
        now = self._read(event.data) if self._is_needed else None
        if now is None:
            return
        document = str(event.data.get("tab")), str(event.data.get("frame"))
        before = self._shown.pop(document, Items())
        if event.data.get("cut"):
            now = now | before
        self._shown[document] = now
        while len(self._shown) > MAX_TREES:
            del self._shown[next(iter(self._shown))]
        for came, items in (("appeared", now - before), ("disappeared", before - now)):
            for item in items.elements():
                yield _event_of(event, came, item, baseline=baseline)

    def _read(self, data: Mapping[str, Json]) -> Items | None:
        """The items of a tree that is in the event, or that was recorded before under its digest;
        None where neither is known."""
        digest, tree = data.get("sha256"), data.get("tree")
        if not isinstance(digest, str):
            return None
        if isinstance(tree, list):
            self._by_digest.pop(digest, None)
            self._by_digest[digest] = Counter(_items_of(tree[:MAX_NODES]))
            while len(self._by_digest) > MAX_TREES:
                del self._by_digest[next(iter(self._by_digest))]
        return self._by_digest.get(digest)


def _items_of(tree: list[Json]) -> Iterator[TreeItem]:
    """The nodes of a tree that have a name, as an element and as the line of text that it shows."""
    for node in tree:
        if not isinstance(node, Mapping):
            continue
        role, name = str(node.get("role") or ""), str(node.get("name") or "")[:MAX_CHARACTERS]
        if role != "text":
            yield TreeItem(role, name)
        if name and "field" not in node:
            yield TreeItem("text", name)


def _event_of(tree: Event, came: str, item: TreeItem, *, baseline: bool) -> Event:
    """The event that an item came or went, at the tree's place in the log."""
    data: dict[str, Json] = {
        name: tree.data[name] for name in ("tab", "frame") if name in tree.data
    }
    if baseline:
        data["baseline"] = True
    if item.role == "text":
        return tree._replace(kind=f"text.{came}", data={**data, "text": item.name})
    element = {"role": item.role, "name": item.name, "tag": ""}
    return tree._replace(kind=f"element.{came}", data={**data, "element": element})

"""The tables of folders that are followed and of the kernel's watches on them, by root and path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from watchdog.observers.inotify_c import WatchDescriptor

from agentd.sources.files.tree import PathTree

Place = tuple[str, str]
"""A folder: its root's label and its path there."""
How = Literal["told", "limit", "silent"]
"""How a folder is followed: by the kernel's notifications, or polled because the kernel gives no
watch for it or is silent there."""


class Watched:
    """Both tables, and which entries lie below a folder without a look through all."""

    def __init__(self) -> None:
        self._at: dict[WatchDescriptor, Place] = {}
        self._watches: dict[Place, set[WatchDescriptor]] = {}
        self._how: dict[Place, How] = {}
        # Those that need work in each second: few, of many.
        self._polled: dict[Place, How] = {}
        self._limited: dict[Place, None] = {}
        self._trees: dict[str, PathTree] = {}

    def place_of(self, wd: WatchDescriptor) -> Place | None:
        """Return the folder that a watch is on."""
        return self._at.get(wd)

    def find_how(self, place: Place) -> How | None:
        """Return how a folder is followed; None: it is not."""
        return self._how.get(place)

    def polled(self) -> list[Place]:
        """Return the folders that the kernel does not report."""
        return list(self._polled)

    def limited(self) -> list[Place]:
        """Return the folders that the kernel gives no watch for."""
        return list(self._limited)

    def places(self, root: str) -> list[Place]:
        """Return the folders of a root that are followed."""
        return [place for place in self._how if place[0] == root]

    def watches(self, root: str) -> set[WatchDescriptor]:
        """Return the watches on a root's folders."""
        return {wd for wd, place in self._at.items() if place[0] == root}

    def follow(self, place: Place, how: How) -> None:
        """Note how a folder is followed."""
        self.leave(place)
        self._how[place] = how
        if how != "told":
            self._polled[place] = how
        if how == "limit":
            self._limited[place] = None
        self._tree(place).add(place[1])

    def leave(self, place: Place) -> None:
        """Note that a folder is not followed."""
        self._how.pop(place, None)
        self._polled.pop(place, None)
        self._limited.pop(place, None)
        self._forget(place)

    def set_watch(self, wd: WatchDescriptor, place: Place) -> None:
        """Note what a watch is on."""
        self.remove_watch(wd)
        self._at[wd] = place
        self._watches.setdefault(place, set()).add(wd)
        self._tree(place).add(place[1])

    def remove_watch(self, wd: WatchDescriptor) -> Place | None:
        """Forget a watch; returns what it was on."""
        place = self._at.pop(wd, None)
        if place is None:
            return None
        self._watches[place].discard(wd)
        if not self._watches[place]:
            del self._watches[place]
        self._forget(place)
        return place

    def move(self, root: str, path: str, dest: str) -> None:
        """Note that a folder moved within its root."""
        for place in list(self._within(root, path)):
            moved = (root, dest + place[1].removeprefix(path))
            how = self._how.get(place)
            if how is not None:
                self.leave(place)
                self.follow(moved, how)
            for wd in list(self._watches.get(place, ())):
                self.set_watch(wd, moved)

    def leave_all(self, root: str, path: str) -> list[WatchDescriptor]:
        """Note that a folder and those below it are not followed; returns the watches on them."""
        watches: list[WatchDescriptor] = []
        for place in list(self._within(root, path)):
            self.leave(place)
            watches += self._watches.get(place, ())
        return watches

    def _within(self, root: str, path: str) -> Iterator[Place]:
        """Yield the watched places at a path and below it."""
        tree = self._trees.get(root)
        if tree is None:
            return
        if path in tree:
            yield (root, path)
        for below in tree.below(path):
            yield (root, below)

    def _tree(self, place: Place) -> PathTree:
        return self._trees.setdefault(place[0], PathTree())

    def _forget(self, place: Place) -> None:
        """Drop a place that is neither watched nor wanted."""
        if place not in self._how and place not in self._watches and place[0] in self._trees:
            self._trees[place[0]].discard(place[1])

"""The first look into a window, a little at a time, so that events are heard in between.

It teaches the child what stands in the window, so that events about it need no questions, and
events about what is gone can be reported; and it reports what texts and values stand there. It is
bounded, and leaves closed menus and the endless tables of spreadsheets alone.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gi.repository import GLib

from .asking import Questioner, identity
from .tree import ObjectTree
from .wire import ParentPipe

MAX_NODES = 1500
MAX_CHILDREN = 200
SLICE_S = 0.01
PRIORITY = GLib.PRIORITY_LOW
CLOSED = frozenset(("menu", "popup menu", "menu item", "combo box", "scroll bar"))
"""Roles that are not looked into."""
TEXTS = frozenset(
    (
        "text",
        "entry",
        "password text",
        "spin button",
        "paragraph",
        "terminal",
        "document text",
        "slider",
        "status bar",
    )
)
"""Roles whose text or value is told when their window opens."""
LABELS = frozenset(("label", "static"))
DIALOGS = frozenset(("dialog", "alert", "notification"))
"""Windows whose labels are told too: what they ask, what they warn of."""
AGAIN_S = (0.4, 0.8, 1.6, 3.2, 6.4)
"""How soon a window in which nothing was found is looked into again, in seconds."""


@dataclass
class _TreeWalk:
    window: str
    bus: str
    queue: deque[object]
    tries: int
    seen: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)


class Walker:
    """``read`` reports the texts and values of some objects; ``rested`` is called when there is
    nothing more to walk."""

    def __init__(
        self,
        wire: ParentPipe,
        tree: ObjectTree,
        asking: Questioner,
        read: Callable[[list[str]], None],
        rested: Callable[[], None],
    ) -> None:
        self._wire = wire
        self._tree = tree
        self._asking = asking
        self._read = read
        self._walks: deque[_TreeWalk] = deque()
        self._asked: dict[str, int] = {}
        self._rested = rested

    @property
    def resting(self) -> bool:
        """Whether no walk is under way."""
        return not self._walks

    def walk(self, window: str, bus: str, tries: int = 0) -> None:
        """Look into a window that the tree knows, once."""
        if tries == 0 and window in self._asked:
            return
        self._asked[window] = tries
        handle = self._tree.handles.get(window)
        if handle is None:
            return
        self._walks.append(_TreeWalk(window, bus, deque([handle]), tries))
        if len(self._walks) == 1:
            GLib.idle_add(self._wire.guard(self._step), priority=PRIORITY)

    def forget(self, window: str) -> None:
        """Forget a window that is gone: one of the same id is walked anew."""
        self._asked.pop(window, None)

    def _step(self) -> bool:
        """Visit objects for a short while. Return whether there is more to do, so that the loop
        calls again."""
        walk = self._walks[0]
        until = time.monotonic() + SLICE_S
        while walk.queue and len(walk.seen) < MAX_NODES and time.monotonic() < until:
            self._visit(walk, walk.queue.popleft())
        if not walk.queue or len(walk.seen) >= MAX_NODES:
            self._walks.popleft()
            self._end(walk)
        if not self._walks:
            self._rested()
        return bool(self._walks)

    def _visit(self, walk: _TreeWalk, source: Any) -> None:
        """Tell of one object, note texts that are to be read, and queue its children."""
        found, bus = identity(source)
        if found in walk.seen or self._tree.describe(source) is None:
            return
        walk.seen.add(found)
        role = self._tree.roles[found]
        is_dialog = self._tree.roles.get(walk.window) in DIALOGS
        if role in TEXTS or (role in LABELS and is_dialog):
            walk.texts.append(found)
        if role in CLOSED:
            return
        count = self._asking.ask(bus, source.get_child_count) or 0
        if count > MAX_CHILDREN:
            return
        for index in range(count):
            child = self._asking.ask(bus, source.get_child_at_index, index)
            if child is not None:
                walk.queue.append(child)

    def _end(self, walk: _TreeWalk) -> None:
        """Read the texts that were met, and tell how many objects the window has; an empty one is
        walked again later."""
        self._read(walk.texts)
        nodes = len(walk.seen) - 1
        self._wire.say(
            {"t": "walked", "id": walk.window, "nodes": max(nodes, 0), "tries": walk.tries + 1}
        )
        if nodes <= 0 and walk.window in self._asked:
            wait = AGAIN_S[min(walk.tries, len(AGAIN_S) - 1)]
            GLib.timeout_add(
                int(wait * 1000),
                self._wire.guard(self._again),
                walk.window,
                walk.bus,
                walk.tries + 1,
            )

    def _again(self, window: str, bus: str, tries: int) -> bool:
        """Walk through a window once more, if it is still there."""
        if window in self._asked:
            self.walk(window, bus, tries)
        return False

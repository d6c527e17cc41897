"""What the child knows of the tree: every object that it described, so that it need not ask again,
nor of the dead."""

from __future__ import annotations

from collections import deque
from typing import Any

from .asking import MAX_TEXT, Asking, identity, label_of, states_of
from .wire import ParentPipe

ROOT = "/org/a11y/atspi/accessible/root"
MAX_OBJECTS = 20_000
"""Objects known at once; when there are more, everything is forgotten and learnt anew."""
REMEMBERED = 500
"""Objects that are gone are known this long, for events about them that come late."""
MAX_DEPTH = 60
UNKNOWN = "unknown"
LABELLED = frozenset(
    (
        "text",
        "entry",
        "password text",
        "spin button",
        "slider",
        "combo box",
        "check box",
        "radio button",
        "editbar",
    )
)
"""Roles whose name, where they have none, is that of their label."""


class ObjectTree:
    """Describes objects to the parent, each once. ``handles``: the live object of an id; ``roles``:
    of all known."""

    def __init__(self, wire: ParentPipe, asking: Asking) -> None:
        self._wire = wire
        self._asking = asking
        self.roles: dict[str, str] = {}
        self.handles: dict[str, Any] = {}
        self._parents: dict[str, str] = {}
        self._children: dict[str, set[str]] = {}
        self._moved: set[str] = set()
        self._gone: deque[str] = deque()

    def describe(self, source: Any, depth: int = 0) -> str | None:
        """The id of an object that the parent knows from now on; None: it is dead, and was never
        known."""
        found, bus = identity(source)
        if found in self.roles:
            self._place(found, bus)
            return found
        above = ""
        if not found.endswith(ROOT):
            parent = self._asking.ask(bus, source.get_parent)
            if parent is not None and depth < MAX_DEPTH:
                above = self.describe(parent, depth=depth + 1) or ""
        return found if self._add(found, bus, source, above) else None

    def _add(self, found: str, bus: str, source: Any, above: str) -> bool:
        ask = self._asking.ask
        role = (ask(bus, source.get_role_name) or "")[:MAX_TEXT]
        if not role or role == "invalid":
            return False  # not there yet, or no more: a later event may find it
        if len(self.roles) >= MAX_OBJECTS:
            self.forget()
            above = ""
        states = ask(bus, states_of, source) or []
        name = (ask(bus, source.get_name) or "")[:MAX_TEXT]
        if not name and role in LABELLED:
            name = ask(bus, label_of, source) or ""
        self.roles[found], self.handles[found], self._parents[found] = role, source, above
        self._children.setdefault(above, set()).add(found)
        self._wire.say(
            {
                "t": "node", "id": found, "bus": bus, "role": role, "name": name, "parent": above,
                "index": self._index(found, bus, source), "states": states,
            }
        )  # fmt: skip
        return True

    def remember(self, source: Any, name: str) -> str | None:
        """The id of a window that was gone before anybody could ask what it was; its own event told
        its name."""
        found, bus = identity(source)
        name = name[:MAX_TEXT]
        if not name or bus + ROOT not in self.roles:
            return None
        self.roles[found], self.handles[found], self._parents[found] = UNKNOWN, source, bus + ROOT
        self._children.setdefault(bus + ROOT, set()).add(found)
        self._wire.say(
            {
                "t": "node", "id": found, "bus": bus, "role": UNKNOWN, "name": name, "parent": bus + ROOT,
                "index": -1, "states": [],
            }
        )  # fmt: skip
        return found

    def _index(self, found: str, bus: str, source: Any) -> int:
        index = self._asking.ask(bus, source.get_index_in_parent)
        if index is None or index < 0:
            self._moved.add(
                found
            )  # not in its place yet, or nobody answers: asked again when it matters
            return -1
        return int(index)

    def _place(self, found: str, bus: str) -> None:
        """Tell where an object stands now, if its siblings changed since, or those of what it is
        in."""
        while found in self.roles:
            if found in self._moved:
                self._moved.discard(found)
                self._wire.say(
                    {
                        "t": "moved",
                        "id": found,
                        "index": self._index(found, bus, self.handles[found]),
                    }
                )
            found = self._parents[found]

    def changed(self, parent: str) -> None:
        """The children of ``parent`` changed: nobody knows their indices any more."""
        self._moved |= self._children.get(parent, set())

    def remove(self, found: str) -> None:
        """An object is gone; what is known of it is forgotten a little later."""
        if found in self.roles:
            self._gone.append(found)
        while len(self._gone) > REMEMBERED:
            self._drop(self._gone.popleft())

    def remove_all(self, bus: str) -> None:
        """A program is gone with all that it had."""
        for found in [found for found in self.roles if found.startswith(bus + "/")]:
            self._drop(found, told=True)

    def forget(self) -> None:
        """Begin anew, here and in the parent, but for what the parent told already."""
        for each in (self.roles, self.handles, self._parents, self._children):
            each.clear()
        self._moved.clear()
        self._gone.clear()
        self._wire.say({"t": "forget"})

    def _drop(self, found: str, *, told: bool = False) -> None:
        if self.roles.pop(found, None) is None:
            return
        self.handles.pop(found, None)
        self._moved.discard(found)
        self._children.get(self._parents.pop(found), set()).discard(found)
        if not told:
            self._wire.say({"t": "drop", "id": found})
        for child in self._children.pop(found, set()):
            self._drop(child, told=told)

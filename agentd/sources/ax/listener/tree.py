"""What the child knows of the tree: every object that it described, so that it asks only once."""

from __future__ import annotations

from collections import deque
from typing import Any

from .asking import MAX_TEXT, Questioner, identity, label_of, states_of
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
    """Describes objects to the parent, each once.

    ``handles``: the live object of an id; ``roles``: those of all known objects.
    """

    def __init__(self, wire: ParentPipe, asking: Questioner) -> None:
        self._wire = wire
        self._asking = asking
        self.roles: dict[str, str] = {}
        self.handles: dict[str, object] = {}
        self._parents: dict[str, str] = {}
        self._children: dict[str, set[str]] = {}
        self._moved: set[str] = set()
        self._gone: deque[str] = deque()

    def describe(self, source: Any, depth: int = 0) -> str | None:
        """Return the id of an object that the parent knows from now on.

        None: it is dead, and was never known.
        """
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
        """Tell of a new object. Return False for one that is not there yet, or no more."""
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
        self._know(found, source, role, above)
        index = self._index(found, bus, source)
        self._say_node(found, bus, role=role, name=name, parent=above, index=index, states=states)
        return True

    def _know(self, found: str, source: object, role: str, above: str) -> None:
        self.roles[found] = role
        self.handles[found] = source
        self._parents[found] = above
        self._children.setdefault(above, set()).add(found)

    def _say_node(self, found: str, bus: str, **fields: object) -> None:
        self._wire.say({"t": "node", "id": found, "bus": bus, **fields})

    def remember(self, source: object, name: str) -> str | None:
        """Describe a window that was gone before anybody could ask what it was, by its event.

        Returns its id; None: its program is not known, or the event has no name.
        """
        found, bus = identity(source)
        name = name[:MAX_TEXT]
        root = bus + ROOT
        if not name or root not in self.roles:
            return None
        self._know(found, source, UNKNOWN, root)
        self._say_node(found, bus, role=UNKNOWN, name=name, parent=root, index=-1, states=[])
        return found

    def _index(self, found: str, bus: str, source: Any) -> int:
        """Return an object's place among its siblings; -1, to be asked again, where it has none
        yet."""
        index = self._asking.ask(bus, source.get_index_in_parent)
        if index is None or index < 0:
            # Not in its place yet, or nobody answers: asked again when it matters.
            self._moved.add(found)
            return -1
        return int(index)

    def _place(self, found: str, bus: str) -> None:
        """Report where an object stands now, if its siblings changed since, or those of what it is
        in."""
        while found in self.roles:
            if found in self._moved:
                self._moved.discard(found)
                index = self._index(found, bus, self.handles[found])
                self._wire.say({"t": "moved", "id": found, "index": index})
            found = self._parents[found]

    def changed(self, parent: str) -> None:
        """Note that the children of ``parent`` changed: their indices are asked for anew."""
        self._moved |= self._children.get(parent, set())

    def remove(self, found: str) -> None:
        """Note that an object is gone; what is known of it is forgotten a little later."""
        if found in self.roles:
            self._gone.append(found)
        while len(self._gone) > REMEMBERED:
            self._drop(self._gone.popleft())

    def remove_all(self, bus: str) -> None:
        """Forget all objects of a program that is gone."""
        for found in [found for found in self.roles if found.startswith(bus + "/")]:
            self._drop(found, told=True)

    def forget(self) -> None:
        """Forget all objects, here and in the parent; what the parent reported already stands."""
        for each in (self.roles, self.handles, self._parents, self._children):
            each.clear()
        self._moved.clear()
        self._gone.clear()
        self._wire.say({"t": "forget"})

    def _drop(self, found: str, *, told: bool = False) -> None:
        """Forget an object with all below it; ``told``: the daemon knows already that they are
        gone."""
        if self.roles.pop(found, None) is None:
            return
        self.handles.pop(found, None)
        self._moved.discard(found)
        self._children.get(self._parents.pop(found), set()).discard(found)
        if not told:
            self._wire.say({"t": "drop", "id": found})
        for child in self._children.pop(found, set()):
            self._drop(child, told=told)

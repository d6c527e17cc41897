"""The tree as the child reported it: programs, windows, objects; each object's states, text and
value as last known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_NAME_LENGTH = 300
MAX_DEPTH = 100
SHOWN_STATES = ("checked", "expanded", "pressed", "selected")
_KEPT = ("live", "told", "value", "sensitive", "pointed", "switches")
"""What stays known of an object that is described again."""


@dataclass
class AxNode:
    """One object.

    ``live``: its text as the events made it, None: not known; ``told``: the text last reported.
    """

    id: str
    bus: str
    role: str
    name: str
    parent: str
    index: int
    states: set[str]
    live: str | None = None
    told: str | None = None
    value: float | None = None
    switches: dict[str, bool] = field(default_factory=dict)
    """What was reported of its states last: it may have been described after a change whose event
    is still to come."""
    pointed: bool = False
    """Whether it was selected or focused once, as a menu's item is before it is activated."""
    sensitive: bool | None = None
    """Whether it was sensitive before changes that are not reported yet; None: there are none."""


@dataclass
class AxWindow:
    """A program's top-level object.

    ``open``: whether it is reported as a window; ``nodes``: the objects in it, None: not looked
    into yet.
    """

    id: str
    bus: str
    role: str
    title: str
    states: set[str]
    open: bool = False
    nodes: int | None = None
    tries: int = 0
    ahead: str = ""
    """A title that a list brought before its event; "": none."""


@dataclass
class App:
    """A program on the bus; ``shifted``: it counts insertions from their end (GTK 4)."""

    bus: str
    name: str
    toolkit: str = ""
    pid: int = 0
    coarse: bool = False
    """Whether its widgets are never `showing`, only `visible` (GTK 4)."""
    shifted: bool = False
    busy: int = 0
    blind: str = ""
    """Why nothing can be observed of it; "": it can."""


@dataclass
class AxModel:
    """Everything known, by id or bus name."""

    nodes: dict[str, AxNode] = field(default_factory=dict)
    apps: dict[str, App] = field(default_factory=dict)
    windows: dict[str, AxWindow] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    """Windows whose object in their program's list is another than the one above their content
    (LibreOffice, at times), and that other."""
    _roots: dict[str, str] = field(default_factory=dict)

    def add(self, message: Mapping[str, Any]) -> AxNode:
        """Take in an object; of one that is described again, what was reported stays known."""
        node = AxNode(
            id=message["id"],
            bus=message["bus"],
            role=message["role"],
            name=_name(message["name"]),
            parent=message["parent"],
            index=message["index"],
            states=set(message["states"]),
        )
        before = self.nodes.get(node.id)
        if before is not None:
            for field_ in _KEPT:
                setattr(node, field_, getattr(before, field_))
        self.nodes[node.id] = node
        if node.role == "application":
            self._roots[node.bus] = node.name
        return node

    def app(self, bus: str) -> App:
        """Return the program of a bus name; one that was not introduced has its own object's
        name."""
        if bus not in self.apps:
            self.apps[bus] = App(bus, self._roots.get(bus, ""))
        return self.apps[bus]

    def line(self, node: AxNode) -> list[AxNode]:
        """Return the object and what it is in, up to the program's own object."""
        line = [node]
        while line[-1].parent in self.nodes and len(line) < MAX_DEPTH:
            line.append(self.nodes[line[-1].parent])
        return line

    def window_of(self, node: AxNode) -> str:
        """Return the id of the window that an object is in; "" where it is in none."""
        line = self.line(node)
        if line[-1].role == "application":
            line.pop()
        return self.aliases.get(line[-1].id, line[-1].id) if line else ""

    def inside(self, window: str) -> Iterator[AxNode]:
        """Yield the objects of a window, without its own."""
        for node in self.nodes.values():
            if node.id != window and self.window_of(node) == window:
                yield node

    def widget(self, node: AxNode) -> dict[str, Any]:
        """Return an object as events have it: role, name, app, path of indices, id, states."""
        line = self.line(node)
        if line[-1].role == "application":
            line.pop()
        widget: dict[str, object] = {
            "role": node.role,
            "name": node.name,
            "app": self.app(node.bus).name,
            "path": [above.index for above in reversed(line)],
            "id": short(node.id),
        }
        states = [state for state in SHOWN_STATES if state in node.states]
        if states:
            widget["states"] = states
        return widget

    def is_visible(self, node: AxNode) -> bool:
        """Return whether a person can see the object, as far as its program says."""
        return "showing" in node.states or ("visible" in node.states and self.app(node.bus).coarse)

    def rename(self, node: AxNode, name: str) -> None:
        """Give an object another name, cut and stripped as all names are."""
        node.name = _name(name)

    def drop(self, bus: str) -> None:
        """Forget a program with all that it had."""
        self.nodes = {id_: node for id_, node in self.nodes.items() if node.bus != bus}
        self.windows = {id_: window for id_, window in self.windows.items() if window.bus != bus}
        self.apps.pop(bus, None)
        self._roots.pop(bus, None)


def short(id_: str) -> str:
    """Return the part of an id behind its last slash."""
    return id_.rpartition("/")[2]


def handle(window: str) -> str:
    """Return a window's id as events have it: its program's bus name and its own."""
    return f"{window.partition('/')[0]}/{short(window)}" if "/" in window else window


def _name(name: str) -> str:
    return name.strip()[:MAX_NAME_LENGTH]

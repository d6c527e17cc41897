"""The tree as the child told it: programs, windows, objects; each object's states, text and value
as last known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_NAME_LENGTH = 300
MAX_DEPTH = 100
SHOWN_STATES = ("checked", "expanded", "pressed", "selected")


@dataclass
class Node:
    """One object. ``live``: its text as the events made it, None: not known; ``told``: the text
    last told."""

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
    """What was told of its states last; the object may have been described after a change whose event comes yet."""
    pointed: bool = False
    """Whether it was selected or focused once, as a menu's item is before it is activated."""
    sensitive: bool | None = None
    """Whether it was sensitive before changes of that which are not told yet; None: there are none."""


@dataclass
class Window:
    """A program's top-level object. ``open``: told as a window; ``nodes``: None: not looked into
    yet."""

    id: str
    bus: str
    role: str
    title: str
    states: set[str]
    open: bool = False
    nodes: int | None = None
    tries: int = 0
    ahead: str = ""
    """A title that a list brought before the event that tells of it; "": none."""


@dataclass
class App:
    """A program on the bus. ``shifted``: it tells the offsets of insertions from their end (GTK
    4)."""

    bus: str
    name: str
    toolkit: str = ""
    pid: int = 0
    coarse: bool = False
    """Whether its widgets are never `showing`, only `visible` (GTK 4)."""
    shifted: bool = False
    busy: int = 0
    blind: str = ""
    """Why nothing can be seen of it; "": it can."""


@dataclass
class Model:
    """Everything known, by id or bus name."""

    nodes: dict[str, Node] = field(default_factory=dict)
    apps: dict[str, App] = field(default_factory=dict)
    windows: dict[str, Window] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    """Windows that are another object in their program's list than above what is in them (LibreOffice, at times)."""
    _roots: dict[str, str] = field(default_factory=dict)

    def add(self, said: Mapping[str, Any]) -> Node:
        """An object, new or told anew."""
        node = Node(
            said["id"],
            said["bus"],
            said["role"],
            _name(said["name"]),
            said["parent"],
            said["index"],
            set(said["states"]),
        )
        before = self.nodes.get(node.id)
        if before is not None:
            node.live, node.told, node.value = before.live, before.told, before.value
            node.sensitive, node.pointed, node.switches = (
                before.sensitive,
                before.pointed,
                before.switches,
            )
        self.nodes[node.id] = node
        if node.role == "application":
            self._roots[node.bus] = node.name
        return node

    def app(self, bus: str) -> App:
        """The program of a bus name; one that was not introduced is known by its own object's
        name."""
        if bus not in self.apps:
            self.apps[bus] = App(bus, self._roots.get(bus, ""))
        return self.apps[bus]

    def line(self, node: Node) -> list[Node]:
        """The object and what it is in, up to the program's own object."""
        line = [node]
        while line[-1].parent in self.nodes and len(line) < MAX_DEPTH:
            line.append(self.nodes[line[-1].parent])
        return line

    def window_of(self, node: Node) -> str:
        """The id of the window that an object is in; "" where it is in none."""
        line = self.line(node)
        if line[-1].role == "application":
            line.pop()
        return self.aliases.get(line[-1].id, line[-1].id) if line else ""

    def inside(self, window: str) -> Iterator[Node]:
        """The objects of a window."""
        return (
            node
            for node in self.nodes.values()
            if node.id != window and self.window_of(node) == window
        )

    def widget(self, node: Node) -> dict[str, Any]:
        """An object as events show it."""
        line = self.line(node)
        if line[-1].role == "application":
            line.pop()
        said: dict[str, Any] = {
            "role": node.role, "name": node.name, "app": self.app(node.bus).name,
            "path": [one.index for one in reversed(line)], "id": short(node.id),
        }  # fmt: skip
        states = [state for state in SHOWN_STATES if state in node.states]
        return said | {"states": states} if states else said

    def is_visible(self, node: Node) -> bool:
        """Whether a person can see the object, as far as its program says."""
        return "showing" in node.states or ("visible" in node.states and self.app(node.bus).coarse)

    def rename(self, node: Node, name: str) -> None:
        """The object has another name now."""
        node.name = _name(name)

    def drop(self, bus: str) -> None:
        """Forget a program with all that it had."""
        self.nodes = {one: node for one, node in self.nodes.items() if node.bus != bus}
        self.windows = {one: window for one, window in self.windows.items() if window.bus != bus}
        self.apps.pop(bus, None)
        self._roots.pop(bus, None)


def short(one: str) -> str:
    """The part of an id behind its last slash."""
    return one.rpartition("/")[2]


def handle(window: str) -> str:
    """A window's id as events show it: its program's bus name and its own."""
    return f"{window.partition('/')[0]}/{short(window)}" if "/" in window else window


def _name(name: str) -> str:
    return name.strip()[:MAX_NAME_LENGTH]

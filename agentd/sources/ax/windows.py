"""Windows: opened, activated, titled, closed; from events, and from the lists of windows that
follow any event.

Lists are asked of the program and may be ahead of its events, so an event about a window that a
list said to be gone is an old one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from agentd.masking import Masker
from agentd.sources.ax.model import Model, Node, Window, handle
from agentd.sources.ax.observation import AxObservation

DIALOGS = frozenset(
    (
        "dialog",
        "alert",
        "file chooser",
        "color chooser",
        "font chooser",
        "option pane",
        "notification",
    )
)
NAMED = frozenset(("frame", "window", "internal frame", "unknown"))
"""Roles of windows only if they have a name: those without are menus, tooltips and helpers of the toolkit. Unknown: it
was gone before it could be asked."""
_REMEMBERED = 200


class Windows:
    """The windows of all programs; ``flags`` are what baseline adds to an event.

    ``closing`` gives what is to be told of a window, by its id, before it is told as closed.
    """

    def __init__(
        self, model: Model, masker: Masker, closing: Callable[[str], Iterable[AxObservation]]
    ) -> None:
        self._closing = closing
        self._model = model
        self._masker = masker
        self._active = ""
        self._listed: dict[str, set[str]] = {}
        self._closed: deque[str] = deque(maxlen=_REMEMBERED)

    def listed(self, message: Mapping[str, Any], flags: dict[str, bool]) -> Iterator[AxObservation]:
        """A program's windows as they are now."""
        bus = message["bus"]
        now = {said["id"]: said for said in message["windows"]}
        self._listed[bus] = set(now)
        for one in now:
            self._model.aliases.pop(one, None)
        for one in [
            one
            for one, window in self._model.windows.items()
            if window.bus == bus and one not in now
        ]:
            yield from self._close(one)
        for one, said in now.items():
            if node := self._model.nodes.get(one):
                before = node.name
                self._model.rename(node, said["name"])
                node.states = set(said["states"])
                yield from self._meet(node, flags)
                if node.name != before:
                    self._model.windows[one].ahead = node.name
                yield from self._title(node)
        if self._active not in self._model.windows:
            for one, said in now.items():
                if "active" in said["states"]:
                    yield from self._activate(one, flags)

    def handle(self, what: str, node: Node, flags: dict[str, bool]) -> Iterator[AxObservation]:
        """A window's own event: ``create``, ``activate``, ``destroy``."""
        node = self._own(node)
        if what == "destroy":
            yield from self._close(node.id)
        elif what == "create":
            if node.id in self._closed:
                self._closed.remove(node.id)
            yield from self._meet(node, flags, there=True)
        elif what == "activate" and node.id not in self._closed:
            yield from self._meet(node, flags, there=True)
            yield from self._activate(node.id, flags)

    def titled(self, node: Node, title: str) -> Iterator[AxObservation]:
        """A window's own event: it has another title, unless a list said so before, or a later
        one."""
        window = self._model.windows[node.id]
        if window.ahead:
            if window.ahead == title.strip():
                window.ahead = ""
            return
        self._model.rename(node, title)
        yield from self._title(node)

    def _title(self, node: Node) -> Iterator[AxObservation]:
        window = self._model.windows[node.id]
        if window.title == node.name:
            return
        window.title = node.name
        if window.open:
            yield AxObservation("window.titled", self._describe(window))
        else:
            yield from self._meet(node, {})

    def _own(self, node: Node) -> Node:
        """The object under which a window is listed, which some programs give another one of the
        same title for."""
        if node.id not in self._model.windows and node.id not in self._listed.get(
            node.bus, {node.id}
        ):
            for one in self._model.windows.values():
                same = (one.bus, one.role, one.title) == (node.bus, node.role, node.name)
                if same and one.open and one.id in self._model.nodes:
                    self._model.aliases[node.id] = one.id
        return self._model.nodes[self._model.aliases.get(node.id, node.id)]

    def _meet(
        self, node: Node, flags: dict[str, bool], *, there: bool = False
    ) -> Iterator[AxObservation]:
        window = self._model.windows.get(node.id)
        if window is None:
            window = self._model.windows[node.id] = Window(
                node.id, node.bus, node.role, node.name, node.states
            )
        window.states = node.states
        there = there or bool(node.states & {"showing", "active"})
        if window.open and not node.states & {"showing", "visible", "active"} and not there:
            window.open = False
            yield from self._closing(window.id)
            yield AxObservation("window.closed", self._describe(window))
        elif (
            not window.open
            and there
            and (node.role in DIALOGS or (node.role in NAMED and node.name != ""))
        ):
            window.open, window.title = True, node.name
            modal = {"modal": True} if "modal" in node.states else {}
            yield AxObservation("window.opened", self._describe(window) | modal | flags)

    def _activate(self, one: str, flags: dict[str, bool]) -> Iterator[AxObservation]:
        window = self._model.windows.get(one)
        if window is not None and window.open and one != self._active:
            self._active = one
            yield AxObservation("window.activated", self._describe(window) | flags)

    def _close(self, one: str) -> Iterator[AxObservation]:
        window = self._model.windows.pop(one, None)
        if window is None:
            return
        self._closed.append(one)
        if self._active == one:
            self._active = ""
        if window.open:
            yield from self._closing(one)
            yield AxObservation("window.closed", self._describe(window))

    def _describe(self, window: Window) -> dict[str, Any]:
        return {
            "app": self._model.app(window.bus).name, "window": handle(window.id), "role": window.role,
            "title": self._masker.mask_text(window.title),
        }  # fmt: skip

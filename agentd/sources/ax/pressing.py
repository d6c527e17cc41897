"""Which button or menu item was activated: told by the X server's presses and the tree, since toolkits tell nothing.

A key that activates, pressed while a button or an item of an open menu has the focus, activates it. The pointer does
where it goes down and up in the same place: on the highlighted item of an open menu, else on what the program says to
be at that place. A button that is not sensitive is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentd.sources.ax.messages import Message
from agentd.sources.ax.model import Model, Node

ITEMS = frozenset(("menu item", "check menu item", "radio menu item"))
BUTTONS = frozenset(("push button", "toggle button", "check box", "radio button", "link", "switch")) | ITEMS
POPUPS = frozenset(("popup menu", "menu", "window"))
HIGHEST = 4
"""How far above the object at the pointer its button may be: a label in a box in a button."""


class Pressing:
    """Follows focus and highlighting; ``press`` gives what a press activates, as ``of`` describes it.

    It is described when it is found, since a button that closes its program is gone when the pointer goes up.
    """

    def __init__(self, model: Model, of: Callable[[Node], dict[str, Any]]) -> None:
        self._model = model
        self._of = of
        self._highlit = ""
        self._item: dict[str, Any] | None = None
        self._under: dict[str, Any] | None = None
        self._focused: dict[str, Any] | None = None
        self._unknown = False
        self._is_down = False

    def highlight(self, node: Node, on: bool) -> None:
        """An object was focused or selected, or is no more."""
        if on:
            self._highlit = node.id if node.role in ITEMS and not self._opens(node) else ""
            if self._is_down and self._highlit:
                self._item = self._of(node)
            elif self._is_down and node.role in BUTTONS:
                self._focused = self._found(node.id)
        elif node.id == self._highlit:
            self._highlit = ""

    def hid(self, node: Node) -> None:
        """A menu is not shown any more."""
        if node.role in POPUPS:
            self._highlit = ""

    def press(self, message: Message, focus: str) -> dict[str, Any] | None:
        """``what``: key, down, under (the ``id`` of what was under the pointer as it went down), up."""
        match message["what"]:
            case "key":
                return self._found(self._highlit or focus)
            case "down":
                self._item, self._under, self._focused = self._found(self._highlit), None, None
                self._is_down = True
            case "under":
                self._under, self._unknown = self._found(message["id"]), message["id"] == ""
            case "up":
                self._is_down = False
                # A program that closed at once could not say what was there, but did say what the press focused.
                return self._item or self._under or (self._focused if self._unknown else None)
        return None

    def _found(self, one: str) -> dict[str, Any] | None:
        node = self._model.nodes.get(one)
        if node is None:
            return None
        for above in self._model.line(node)[:HIGHEST]:
            if above.role in BUTTONS:
                able = above.states & {"sensitive", "enabled"} and not self._opens(above)
                return self._of(above) if able else None
        return None

    def _opens(self, node: Node) -> bool:
        """Whether an item opens a menu, as those of Qt's menu bar."""
        above = self._model.nodes.get(node.parent)
        if "has-popup" in node.states or (above is not None and above.role == "menu bar"):
            return True
        return any(other.parent == node.id and other.role in POPUPS for other in self._model.nodes.values())

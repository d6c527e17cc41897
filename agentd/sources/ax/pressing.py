"""Which button or menu item was activated, by the X server's presses and the tree: toolkits do not
report it.

A key that activates, pressed while a button or an item of an open menu has the focus, activates it.
The pointer does where it goes down and up in the same place: on the highlighted item of an open
menu, else on what the program says to be at that place; where it closed its window too soon to say,
on the button that the press gave the focus. A button that is not sensitive is none.

Presses and the tree's events come over two ways, so what had the focus is remembered with its time
(``at``, in ms).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentd.sources.ax.messages import Message
from agentd.sources.ax.model import AxModel, AxNode

ITEMS = frozenset(("menu item", "check menu item", "radio menu item"))
BUTTONS = (
    frozenset(("push button", "toggle button", "check box", "radio button", "link", "switch"))
    | ITEMS
)
POPUPS = frozenset(("popup menu", "menu", "window"))
HIGHEST = 4
"""How far above the object at the pointer its button may be: a label in a box in a button."""
REMEMBERED = 64

Found = dict[str, Any] | None


class _Since(NamedTuple):
    """From ``at`` on: the highlighted item, the focused button, each as told; the window that has
    the focus."""

    at: int
    item: Found = None
    button: Found = None
    window: str = ""
    gained: bool = False
    """Whether the button came by the focus just then."""


@dataclass
class _ObservedPress:
    """A press of the pointer: how things were as it went down, and what the program says was
    there."""

    down: _Since
    under: Found = None
    unknown: bool = True


class Pressing:
    """Follows focus and highlighting; ``press`` gives what a press activates, as ``of`` describes
    it.

    It is described when it is seen, since a button that closes its program is gone when the pointer
    goes up.
    """

    def __init__(self, model: AxModel, of: Callable[[AxNode], dict[str, object]]) -> None:
        self._model = model
        self._of = of
        self._highlit = ""
        self._past: deque[_Since] = deque([_Since(0)], maxlen=REMEMBERED)
        self._clicks: dict[int, _ObservedPress] = {}

    def focus(self, node: AxNode, at: int) -> None:
        """Follow that an object has the focus now."""
        window = self._model.window_of(node)
        if node.role in ITEMS:
            self._past.append(_Since(at, self._item(node), None, window))
        else:
            self._highlit = ""
            self._past.append(_Since(at, None, self._button(node.id), window, gained=True))

    def select(self, node: AxNode, on: bool, at: int) -> None:
        """Follow that an object was highlighted, or is no more."""
        last = self._past[-1]
        if on and node.role in ITEMS:
            self._past.append(last._replace(at=at, item=self._item(node), gained=False))
        elif not on and node.id == self._highlit:
            self._hide(at)

    def hid(self, node: AxNode, at: int) -> None:
        """Follow that a menu is not shown any more."""
        if node.role in POPUPS and self._highlit:
            self._hide(at)

    def press(self, message: Message) -> Found:
        """Follow a press; returns the widget that it activates, if any.

        Its ``what``: key, down, under (the ``id`` of what was under the pointer as it went down),
        up, dragged.
        """
        what = message["what"]
        if what == "key":
            then = self._then(message["at"])
            return then.item or then.button
        number = message["n"]
        if what == "down":
            then = self._then(message["at"])
            self._clicks[number] = _ObservedPress(then._replace(at=message["at"]))
            return None
        if what == "under":
            self._note_under(number, message["id"] or "")
            return None
        click = self._clicks.pop(number, None)
        return self._clicked(click) if click is not None and what == "up" else None

    def _note_under(self, number: int, id_: str) -> None:
        """Note what was under the pointer when the button went down; unknown where that is not in
        the same window."""
        click = self._clicks.get(number)
        if click is None:
            return
        node = self._model.nodes.get(id_)
        click.under = None if node is None else self._button(id_)
        click.unknown = node is None or self._model.window_of(node) != click.down.window

    def _clicked(self, click: _ObservedPress) -> Found:
        """Return what a click activates: an item, what was under it, a button that it focused."""
        since = [state for state in self._past if state.at >= click.down.at]
        item = _first([click.down.item, *(state.item for state in since)])
        if item is not None:
            return item
        if click.under is not None or not click.unknown:
            return click.under
        return _first(
            state.button for state in since if state.gained and state.window == click.down.window
        )

    def _then(self, at: int) -> _Since:
        """Return what had the focus at a time, as far back as that is remembered."""
        return next((state for state in reversed(self._past) if state.at <= at), self._past[0])

    def _hide(self, at: int) -> None:
        self._highlit = ""
        self._past.append(self._past[-1]._replace(at=at, item=None, gained=False))

    def _item(self, node: AxNode) -> Found:
        """Return the item of a menu that is chosen; None for one that opens a menu of its own."""
        opens = self._opens(node)
        self._highlit = "" if opens else node.id
        return None if opens else self._of(node)

    def _button(self, id_: str) -> Found:
        """Return the button that an object is, or is in; None: there is none that can be used."""
        node = self._model.nodes.get(id_)
        if node is None:
            return None
        for above in self._model.line(node)[:HIGHEST]:
            if above.role in BUTTONS:
                is_able = above.states & {"sensitive", "enabled"} and not self._opens(above)
                return self._of(above) if is_able else None
        return None

    def _opens(self, node: AxNode) -> bool:
        """Return whether an item opens a menu, as those of Qt's menu bar."""
        if "has-popup" in node.states:
            return True
        above = self._model.nodes.get(node.parent)
        if above is not None and above.role == "menu bar":
            return True
        children = (other for other in self._model.nodes.values() if other.parent == node.id)
        return any(child.role in POPUPS for child in children)


def _first(widgets: Iterable[Found]) -> Found:
    """Return the first widget that is known, None where none is."""
    return next((widget for widget in widgets if widget is not None), None)

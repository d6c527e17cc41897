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
from agentd.sources.ax.model import AxModel, AxNode, AxWindow, handle
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
"""Roles of windows only if they have a name: those without are menus, tooltips and helpers of the
toolkit. Unknown: it was gone before it could be asked."""
_REMEMBERED = 200


class Windows:
    """The windows of all programs; ``flags`` are what baseline adds to an event.

    ``closing`` gives what is to be reported of a window, by its id, before its end is.
    """

    def __init__(
        self, model: AxModel, masker: Masker, closing: Callable[[str], Iterable[AxObservation]]
    ) -> None:
        self._closing = closing
        self._model = model
        self._masker = masker
        self._active = ""
        self._listed: dict[str, set[str]] = {}
        self._closed: deque[str] = deque(maxlen=_REMEMBERED)

    def listed(self, message: Mapping[str, Any], flags: dict[str, bool]) -> Iterator[AxObservation]:
        """Compare a program's windows with its list of them as they are now."""
        bus = message["bus"]
        now = {window["id"]: window for window in message["windows"]}
        if now:
            self._listed[bus] = set(now)
        else:
            self._listed.pop(bus, None)  # perhaps it has ended
        for id_ in now:
            self._model.aliases.pop(id_, None)
        for window in list(self._model.windows.values()):
            if window.bus == bus and window.id not in now:
                yield from self._close(window.id)
        for id_, listed in now.items():
            node = self._model.nodes.get(id_)
            if node is not None:
                yield from self._update(node, listed, flags)
        if self._active not in self._model.windows:
            for id_, listed in now.items():
                if "active" in listed["states"]:
                    yield from self._activate(id_, flags)

    def _update(
        self, node: AxNode, listed: Mapping[str, Any], flags: dict[str, bool]
    ) -> Iterator[AxObservation]:
        """Take over what a list says of a window; a new name is one that its event tells of
        later."""
        before = node.name
        self._model.rename(node, listed["name"])
        node.states = set(listed["states"])
        yield from self._meet(node, flags)
        if node.name != before:
            self._model.windows[node.id].ahead = node.name
        yield from self._title(node)

    def handle(self, what: str, node: AxNode, flags: dict[str, bool]) -> Iterator[AxObservation]:
        """Follow a window's own event: ``create``, ``activate``, ``destroy``."""
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

    def titled(self, node: AxNode, title: str) -> Iterator[AxObservation]:
        """Follow a window's event of another title, unless a list brought that title before, or a
        later one."""
        window = self._model.windows[node.id]
        if window.ahead:
            if window.ahead == title.strip():
                window.ahead = ""
            return
        self._model.rename(node, title)
        yield from self._title(node)

    def _title(self, node: AxNode) -> Iterator[AxObservation]:
        """Report a window's new title, or the window itself if it was not reported yet."""
        window = self._model.windows[node.id]
        if window.title == node.name:
            return
        window.title = node.name
        if window.open:
            yield AxObservation("window.title_changed", self._describe(window))
        else:
            yield from self._meet(node, {})

    def _own(self, node: AxNode) -> AxNode:
        """Return the object under which a window is listed: some programs give another one of the
        same title for its events."""
        listed = self._listed.get(node.bus, {node.id})
        if node.id not in self._model.windows and node.id not in listed:
            looks = (node.bus, node.role, node.name)
            for window in self._model.windows.values():
                is_same = (window.bus, window.role, window.title) == looks
                if is_same and window.open and window.id in self._model.nodes:
                    self._model.aliases[node.id] = window.id
        return self._model.nodes[self._model.aliases.get(node.id, node.id)]

    def _meet(
        self, node: AxNode, flags: dict[str, bool], *, there: bool = False
    ) -> Iterator[AxObservation]:
        """Report a window as opened or closed by its states.

        ``there``: whether its own event says that it is there.
        """
        window = self._model.windows.get(node.id)
        if window is None:
            window = AxWindow(node.id, node.bus, node.role, node.name, node.states)
            self._model.windows[node.id] = window
        window.states = node.states
        is_there = there or bool(node.states & {"showing", "active"})
        if window.open:
            if not is_there and "visible" not in node.states:
                window.open = False
                yield from self._closing(window.id)
                yield AxObservation("window.closed", self._describe(window))
        elif is_there and _is_window(node):
            window.open = True
            window.title = node.name
            modal = {"modal": True} if "modal" in node.states else {}
            yield AxObservation("window.opened", self._describe(window) | modal | flags)

    def _activate(self, id_: str, flags: dict[str, bool]) -> Iterator[AxObservation]:
        """Report the window that is active now, if it is another one than before."""
        window = self._model.windows.get(id_)
        if window is not None and window.open and id_ != self._active:
            self._active = id_
            yield AxObservation("window.activated", self._describe(window) | flags)

    def _close(self, id_: str) -> Iterator[AxObservation]:
        """Report a window that closed, with what closes with it."""
        window = self._model.windows.pop(id_, None)
        if window is None:
            return
        self._closed.append(id_)
        if self._active == id_:
            self._active = ""
        if window.open:
            yield from self._closing(id_)
            yield AxObservation("window.closed", self._describe(window))

    def _describe(self, window: AxWindow) -> dict[str, object]:
        title = self._masker.mask_text(window.title)
        described: dict[str, object] = {
            "app": self._model.app(window.bus).name,
            "window": handle(window.id),
            "role": window.role,
            "title": title,
        }
        if title != window.title:
            described["masked"] = ["title"]
        return described


def _is_window(node: AxNode) -> bool:
    """Whether an object is a window of its own: a dialog, or one that has a name."""
    return node.role in DIALOGS or (node.role in NAMED and node.name != "")

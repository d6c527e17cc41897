"""From raw messages to what happened on the desktop: pure, no clock and no bus, tested on
recordings.

The fold never asks a program anything. What has to rest first, a text that is being typed, it holds
as *due*; its driver asks for the present content of those objects when they rested (`take_due`,
then ``read`` messages come), or, where nobody can be asked any more, has it reported from the
events alone (`settle`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from agentd.masking import Masker
from agentd.sources.ax.debounce import Debouncer
from agentd.sources.ax.messages import Message
from agentd.sources.ax.model import AxModel, AxNode
from agentd.sources.ax.observation import AxObservation
from agentd.sources.ax.pressing import Pressing
from agentd.sources.ax.visibility import Visibility
from agentd.sources.ax.windows import Windows
from detectors.model.optional_values import drop_empty

SWITCHES = frozenset(("checked", "selected", "expanded", "pressed"))
CHECKABLE = frozenset(
    ("check box", "radio button", "toggle button", "check menu item", "radio menu item", "switch")
)
MENUS = frozenset(
    ("menu", "menu item", "check menu item", "radio menu item", "popup menu", "menu bar")
)
UNFOCUSED = frozenset(("frame", "window", "dialog", "root pane", "application"))
"""Roles whose focus says no more than that their window is active."""
MAX_INITIAL = 100
"""Switches that are reported as on when a window opens."""


class DesktopFold:
    """One desktop, followed message by message (see messages.py)."""

    def __init__(self, masker: Masker | None = None) -> None:
        self.model = AxModel()
        self._masker = masker or Masker()
        self._debouncer = Debouncer(self.model, self._masker)
        self._windows = Windows(self.model, self._masker, self._debouncer.settle)
        self._visibility = Visibility(self.model)
        self._pressing = Pressing(self.model, self._debouncer.describe)
        self._baseline = True
        self._focus = ""
        self._at = 0
        self._handlers: dict[str, Callable[[Message], Iterable[AxObservation]]] = {
            "node": self._handle_node,
            "app": self._handle_program,
            "windows": self._handle_windows,
            "walked": self._handle_walk,
            "read": self._handle_content,
            "event": self._handle_event,
            "press": self._handle_press,
            "hid": self._handle_hidden_menu,
            "moved": self._handle_move,
            "drop": self._handle_drop,
            "forget": self._handle_reset,
            "busy": self._handle_busy,
            "gone": self._handle_departure,
            "notice": self._handle_notification,
            "trouble": self._handle_trouble,
            "ready": self._handle_ready,
        }
        self._changes: dict[str, Callable[[AxNode, str, Message], Iterable[AxObservation]]] = {
            "state-changed": self._handle_state,
            "text-changed": self._handle_text,
            "property-change": self._handle_property,
            "active-descendant-changed": self._handle_descendant,
            "children-changed": self._handle_children,
        }

    @property
    def due(self) -> bool:
        """Whether there is something to be read when it rested."""
        return self._debouncer.has_due

    def take_due(self) -> list[str]:
        """Return the ids of the objects to read now; each is reported when its ``read`` comes."""
        return self._debouncer.take_due()

    def settle(self) -> list[AxObservation]:
        """Report what is due by what the events alone say of it."""
        return self._debouncer.settle()

    def feed(self, message: Message) -> list[AxObservation]:
        """Follow one message; returns what it means. One of an unknown type means nothing."""
        self._at = message.get("at", self._at)
        handler = self._handlers.get(message["t"])
        return [] if handler is None else list(handler(message))

    # -- objects

    def _handle_node(self, message: Message) -> Iterable[AxObservation]:
        self.model.add(message)
        return ()

    def _handle_move(self, message: Message) -> Iterable[AxObservation]:
        """Note that an object stands at another place among its siblings."""
        node = self.model.nodes.get(message["id"])
        if node is not None:
            node.index = message["index"]
        return ()

    def _handle_drop(self, message: Message) -> Iterable[AxObservation]:
        self.model.nodes.pop(message["id"], None)
        return ()

    def _handle_reset(self, message: Message) -> Iterable[AxObservation]:
        self.model.nodes.clear()
        return ()

    def _handle_content(self, message: Message) -> Iterable[AxObservation]:
        return self._debouncer.read(message, self._flags("initial"))

    # -- presses

    def _handle_press(self, message: Message) -> Iterator[AxObservation]:
        """Report the widget that a press is known to have activated, if it is one."""
        widget = self._pressing.press(message)
        if widget:
            by = "key" if message["what"] == "key" else "pointer"
            yield AxObservation("widget.activated", widget | {"by": by})

    def _handle_hidden_menu(self, message: Message) -> Iterable[AxObservation]:
        """Note that a menu closed, which tells what the press before it chose."""
        node = self.model.nodes.get(message["id"])
        if node is not None:
            self._pressing.hid(node, self._at)
        return ()

    def _flags(self, other: str = "") -> dict[str, bool]:
        """Return what is added to an event that nobody caused now: ``baseline``, else ``other``."""
        if self._baseline:
            return {"baseline": True}
        return {other: True} if other else {}

    # -- programs

    def _handle_program(self, message: Message) -> Iterator[AxObservation]:
        """Report a program with its toolkit, and note how exactly that toolkit tells of its
        widgets."""
        app = self.model.app(message["bus"])
        root = self.model.nodes.get(message["id"])
        if root is not None:
            app.name = root.name
        app.toolkit = message["toolkit"]
        app.pid = message["pid"]
        app.coarse = app.toolkit == "GTK" and message["version"].startswith("4.")
        data: dict[str, object] = {"app": app.name}
        if app.toolkit:
            data["toolkit"] = f"{app.toolkit} {message['version']}".strip()
        data |= drop_empty({"pid": app.pid})
        yield AxObservation("app.appeared", data | self._flags())

    def _handle_windows(self, message: Message) -> Iterator[AxObservation]:
        yield from self._windows.listed(message, self._flags())
        yield from self._visibility.look(message["bus"])

    def _handle_busy(self, message: Message) -> Iterable[AxObservation]:
        return self._visibility.busy(message["bus"], message["on"])

    def _handle_departure(self, message: Message) -> Iterator[AxObservation]:
        """Report that a program's windows closed and that it went away."""
        bus = message["bus"]
        if bus not in self.model.apps:
            return
        yield from self._windows.listed({"bus": bus, "windows": []}, {})
        yield from self._visibility.program_left(bus)
        yield AxObservation("app.vanished", {"app": self.model.apps[bus].name})
        self.model.drop(bus)

    def _handle_walk(self, message: Message) -> Iterator[AxObservation]:
        """Note how much of a window is known; of a new one report the switches that are on, as its
        start state."""
        window = self.model.windows.get(message["id"])
        if window is None:
            return
        is_first = not window.nodes
        window.nodes = message["nodes"]
        window.tries = message["tries"]
        yield from self._visibility.look(window.bus)
        if is_first:
            switched_on = filter(self._is_switched_on, self.model.inside(window.id))
            for node in list(switched_on)[:MAX_INITIAL]:
                state = "selected" if node.role == "page tab" else "checked"
                yield self._switch(node, state, True, self._flags("initial"))

    def _is_switched_on(self, node: AxNode) -> bool:
        """Whether a visible widget is a selected tab, or a box that is checked."""
        if not self.model.is_visible(node):
            return False
        if node.role == "page tab":
            return "selected" in node.states
        return node.role in CHECKABLE and "checked" in node.states

    def _handle_notification(self, message: Message) -> Iterator[AxObservation]:
        """Report a notification with its texts, without secrets."""
        texts = {"title": message["title"]}
        if message["body"]:
            texts["body"] = message["body"]
        told = {name: self._masker.mask_text(text) for name, text in texts.items()}
        data: dict[str, object] = {"app": message["app"], **told}
        if masked := [name for name, text in texts.items() if told[name] != text]:
            data["masked"] = masked
        yield AxObservation("notification.shown", data)

    def _handle_trouble(self, message: Message) -> Iterator[AxObservation]:
        data = {"source": "ax", "part": message["of"], "reason": message["why"]}
        yield AxObservation("alarm.raised", data)

    def _handle_ready(self, message: Message) -> Iterable[AxObservation]:
        self._baseline = False
        return ()

    # -- events

    def _handle_event(self, message: Message) -> Iterable[AxObservation]:
        """Hand an event of the accessibility bus to what handles its kind; objects that are not
        known tell nothing."""
        node = self.model.nodes.get(message["id"])
        if node is None:
            return ()
        group, _, rest = message["type"].partition(":")
        what, _, detail = rest.partition(":")
        if group == "focus":  # GTK 2 reports it in this old way only
            return self._focus_on(node)
        if group == "window":
            return self._windows.handle(what, node, self._flags())
        handler = self._changes.get(what)
        return () if handler is None else handler(node, detail, message)

    def _handle_text(self, node: AxNode, detail: str, message: Message) -> Iterable[AxObservation]:
        return self._debouncer.record_edit(node, detail.partition(":")[0], message)

    def _handle_property(
        self, node: AxNode, detail: str, message: Message
    ) -> Iterable[AxObservation]:
        """Note a value to be read once it rests, or another name."""
        if detail == "accessible-value":
            self._debouncer.record_value(node)
        elif detail == "accessible-name" and isinstance(message["any"], str):
            return self._rename(node, message["any"])
        return ()

    def _handle_descendant(
        self, node: AxNode, detail: str, message: Message
    ) -> Iterable[AxObservation]:
        """Follow the focus to the child that a list or a tree names."""
        descendant = message["any"]
        if not isinstance(descendant, dict):
            return ()
        return self._focus_on(self.model.nodes.get(descendant["id"] or ""))

    def _handle_children(
        self, node: AxNode, detail: str, message: Message
    ) -> Iterator[AxObservation]:
        """Report that a widget came or went."""
        kind = "widget.removed" if detail.startswith("remove") else "widget.added"
        yield AxObservation(kind, self._describe(node))

    def _rename(self, node: AxNode, name: str) -> Iterable[AxObservation]:
        """Note another name of a widget, or report another title of a window."""
        if node.id in self.model.windows:
            return self._windows.titled(node, name)
        self.model.rename(node, name)
        self._debouncer.record_name(node)
        return ()

    def _handle_state(self, node: AxNode, state: str, message: Message) -> Iterator[AxObservation]:
        """Note a state that came or went, and report what it means: a switch, a press, an active
        window, the focus."""
        on = bool(message["d1"])
        was = state in node.states
        if on:
            node.states.add(state)
            node.pointed |= state in ("selected", "focused")
        else:
            node.states.discard(state)
        if state == "selected":
            self._pressing.select(node, on, self._at)
        if state in SWITCHES:
            yield from self._handle_switch(node, state, was, on)
        elif state == "sensitive":
            self._debouncer.record_sensitivity(node, was)
        elif state == "armed" and was and not on:
            yield AxObservation("widget.activated", self._describe(node) | {"by": "toolkit"})
        elif state == "active" and on:
            yield from self._windows.handle("activate", node, self._flags())
        elif state == "focused" and on:
            yield from self._focus_on(node)

    def _handle_switch(
        self, node: AxNode, state: str, was: bool, on: bool
    ) -> Iterator[AxObservation]:
        """Report a switch whose state is another one than was told before."""
        before = node.switches.get(state, was and not on)
        if before != on and self._is_noticeable(node, state):
            yield self._switch(node, state, on, self._flags())

    def _switch(self, node: AxNode, state: str, on: bool, flags: dict[str, bool]) -> AxObservation:
        node.switches[state] = on
        data = self._describe(node) | {"state": state, "on": on} | flags
        return AxObservation("widget.state_changed", data)

    def _is_noticeable(self, node: AxNode, state: str) -> bool:
        """Return whether a person would see the switch: menus and hidden panels follow their
        program's state by themselves."""
        if node.role in MENUS:
            return state != "selected" and node.pointed
        return self.model.is_visible(node) and (state != "selected" or node.name != "")

    def _focus_on(self, node: AxNode | None) -> Iterator[AxObservation]:
        """Report the widget that has the focus now; what the one before held is read at once."""
        if node is None or node.id == self._focus or node.role in UNFOCUSED:
            return
        self._pressing.focus(node, self._at)
        left = self.model.nodes.get(self._focus)
        self._focus = node.id
        self._debouncer.record_focus(left, node)
        if not self._baseline:
            yield AxObservation("widget.focused", self._describe(node))

    def _describe(self, node: AxNode) -> dict[str, object]:
        return self._debouncer.describe(node)


__all__ = ["AxObservation", "DesktopFold", "feed_all"]


def feed_all(fold: DesktopFold, messages: Iterable[Message]) -> list[AxObservation]:
    """Follow a whole recording; returns all that it means."""
    return [observation for message in messages for observation in fold.feed(message)]

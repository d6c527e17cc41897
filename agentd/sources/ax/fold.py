"""From raw messages to what happened on the desktop: pure, no clock and no bus, tested on
recordings.

The fold never asks a program anything. What has to rest first, a text that is being typed, it holds
as *due*; whoever drives it asks for the present content of those objects when they rested
(`take_due`, then ``read`` messages come), or, where nobody can be asked any more, has it told from
the events alone (`settle`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agentd.masking import Masker
from agentd.sources.ax.debounce import Holding
from agentd.sources.ax.messages import Message
from agentd.sources.ax.model import Model, Node
from agentd.sources.ax.observation import AxObservation
from agentd.sources.ax.pressing import Pressing
from agentd.sources.ax.visibility import Sight
from agentd.sources.ax.windows import Windows

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
"""Switches that are told as on when a window opens."""


class DesktopFold:
    """One desktop. ``feed`` takes one message (see messages.py) and gives what it tells."""

    def __init__(self, masker: Masker | None = None) -> None:
        self.model = Model()
        self._masker = masker or Masker()
        self._holding = Holding(self.model, self._masker)
        self._windows = Windows(self.model, self._masker, self._holding.settle)
        self._sight = Sight(self.model)
        self._pressing = Pressing(self.model, self._holding.describe)
        self._baseline = True
        self._focus = ""
        self._at = 0

    @property
    def due(self) -> bool:
        """Whether there is something to be read when it rested."""
        return self._holding.due

    def take_due(self) -> list[str]:
        """The ids of the objects that are to be read now; each is told when its ``read`` comes."""
        return self._holding.take()

    def settle(self) -> list[AxObservation]:
        """Tell of what is due by what the events alone say of it."""
        return self._holding.settle()

    def feed(self, message: Message) -> list[AxObservation]:
        """One message."""
        return list(self._feed(message))

    def _feed(self, message: Message) -> Iterator[AxObservation]:
        self._at = message.get("at", self._at)
        match message["t"]:
            case "node":
                self.model.add(message)
            case "app":
                yield from self._appeared(message)
            case "windows":
                yield from self._windows.listed(message, self._flags())
                yield from self._sight.look(message["bus"])
            case "walked":
                yield from self._walked(message)
            case "read":
                yield from self._holding.read(message, self._flags("initial"))
            case "event":
                yield from self._event(message)
            case "press":
                if pressed := self._pressing.press(message):
                    by = "key" if message["what"] == "key" else "pointer"
                    yield AxObservation("widget.activated", pressed | {"by": by})
            case "hid" if node := self.model.nodes.get(message["id"]):
                self._pressing.hid(node, self._at)
            case "moved" if node := self.model.nodes.get(message["id"]):
                node.index = message["index"]
            case "drop":
                self.model.nodes.pop(message["id"], None)
            case "forget":
                self.model.nodes.clear()
            case "busy":
                yield from self._sight.busy(message["bus"], message["on"])
            case "gone":
                yield from self._program_gone(message["bus"])
            case "notice":
                yield self._notice(message)
            case "trouble":
                yield AxObservation(
                    "alarm.raised", {"source": "ax", "of": message["of"], "reason": message["why"]}
                )
            case "ready":
                self._baseline = False

    def _flags(self, other: str = "") -> dict[str, bool]:
        """What is added to an event that nobody caused now."""
        if self._baseline:
            return {"baseline": True}
        return {other: True} if other else {}

    # -- programs

    def _appeared(self, message: Message) -> Iterator[AxObservation]:
        app = self.model.app(message["bus"])
        root = self.model.nodes.get(message["id"])
        app.name = root.name if root is not None else app.name
        app.toolkit, app.pid = message["toolkit"], message["pid"]
        app.coarse = app.toolkit == "GTK" and message["version"].startswith("4.")
        said: dict[str, Any] = {"app": app.name}
        if app.toolkit:
            said["toolkit"] = f"{app.toolkit} {message['version']}".strip()
        if app.pid:
            said["pid"] = app.pid
        yield AxObservation("app.appeared", said | self._flags())

    def _program_gone(self, bus: str) -> Iterator[AxObservation]:
        if bus not in self.model.apps:
            return
        yield from self._windows.listed({"bus": bus, "windows": []}, {})
        yield from self._sight.program_left(bus)
        yield AxObservation("app.vanished", {"app": self.model.apps[bus].name})
        self.model.drop(bus)

    def _walked(self, message: Message) -> Iterator[AxObservation]:
        window = self.model.windows.get(message["id"])
        if window is None:
            return
        first, window.nodes, window.tries = not window.nodes, message["nodes"], message["tries"]
        yield from self._sight.look(window.bus)
        on = (
            [node for node in self.model.inside(window.id) if self._is_switched_on(node)]
            if first
            else []
        )
        for node in on[:MAX_INITIAL]:
            state = "selected" if node.role == "page tab" else "checked"
            node.switches[state] = True
            yield AxObservation(
                "widget.state_changed",
                self._describe(node) | {"state": state, "on": True} | self._flags("initial"),
            )

    def _is_switched_on(self, node: Node) -> bool:
        if node.role == "page tab":
            return "selected" in node.states and self.model.is_visible(node)
        return node.role in CHECKABLE and "checked" in node.states and self.model.is_visible(node)

    def _notice(self, message: Message) -> AxObservation:
        mask = self._masker.mask_text
        said = {"app": message["app"], "title": mask(message["title"])}
        return AxObservation(
            "notification.shown",
            said | ({"body": mask(message["body"])} if message["body"] else {}),
        )

    # -- events

    def _event(self, message: Message) -> Iterator[AxObservation]:
        node = self.model.nodes.get(message["id"])
        if node is None:
            return
        group, _, rest = message["type"].partition(":")
        what, _, detail = rest.partition(":")
        if group == "focus":  # GTK 2 tells it in this old way only
            yield from self._focused(node)
        elif group == "window":
            yield from self._windows.handle(what, node, self._flags())
        elif what == "state-changed":
            yield from self._state(node, detail, bool(message["d1"]))
        elif what == "text-changed":
            yield from self._holding.edited(node, detail.partition(":")[0], message)
        elif what == "property-change" and detail == "accessible-value":
            self._holding.valued(node)
        elif what == "property-change" and detail == "accessible-name":
            yield from self._named(node, message["any"])
        elif what == "active-descendant-changed" and isinstance(message["any"], dict):
            yield from self._focused(self.model.nodes.get(message["any"]["id"] or ""))
        elif what == "children-changed":
            yield AxObservation(
                "widget.removed" if detail.startswith("remove") else "widget.added",
                self._describe(node),
            )

    def _named(self, node: Node, name: Any) -> Iterator[AxObservation]:
        if not isinstance(name, str):
            return
        if node.id in self.model.windows:
            yield from self._windows.titled(node, name)
        else:
            self.model.rename(node, name)
            self._holding.named(node)

    def _state(self, node: Node, state: str, on: bool) -> Iterator[AxObservation]:
        was = state in node.states
        node.pointed = node.pointed or (on and state in ("selected", "focused"))
        (node.states.add if on else node.states.discard)(state)
        if state == "selected":
            self._pressing.select(node, on, self._at)
        if state == "active":
            if on:
                yield from self._windows.handle("activate", node, self._flags())
        elif state == "focused":
            if on:
                yield from self._focused(node)
        elif state == "sensitive":
            self._holding.sensed(node, was)
        elif state == "armed":
            if was and not on:
                yield AxObservation("widget.activated", self._describe(node) | {"by": "toolkit"})
        elif (
            state in SWITCHES
            and node.switches.get(state, was and not on) != on
            and self._tells(node, state)
        ):
            node.switches[state] = on
            yield AxObservation(
                "widget.state_changed",
                self._describe(node) | {"state": state, "on": on} | self._flags(),
            )

    def _tells(self, node: Node, state: str) -> bool:
        """Whether a person would see the switch: menus and hidden panels follow their program's
        state by themselves."""
        if node.role in MENUS:
            return state != "selected" and node.pointed
        return self.model.is_visible(node) and (state != "selected" or node.name != "")

    def _focused(self, node: Node | None) -> Iterator[AxObservation]:
        if node is None or node.id == self._focus or node.role in UNFOCUSED:
            return
        self._pressing.focus(node, self._at)
        left = self.model.nodes.get(self._focus)
        self._focus = node.id
        self._holding.moved_on(left, node)
        if not self._baseline:
            yield AxObservation("widget.focused", self._describe(node))

    def _describe(self, node: Node) -> dict[str, Any]:
        return self._holding.describe(node)


__all__ = ["AxObservation", "DesktopFold", "feed_all"]


def feed_all(fold: DesktopFold, messages: Iterable[Message]) -> list[AxObservation]:
    """What a whole recording tells."""
    return [say for message in messages for say in fold.feed(message)]

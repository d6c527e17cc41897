"""Windows as they are now: asked of the program itself, since pyatspi's library answers from its cache.

Not every toolkit says that a window came, went or has another title (Qt says nothing of titles, GTK 4 little of
windows that close), so after any event of a program its windows are looked at again.
"""

from __future__ import annotations

from typing import Any

from gi.repository import Atspi, Gio, GLib

from .asking import TIMEOUT_MS, Asking

_ACCESSIBLE = "org.a11y.atspi.Accessible"
_STATES = {int(state): state.value_nick for state in Atspi.StateType.__enum_values__.values()}


class Fresh:
    """Uncached questions over a connection of our own to the accessibility bus."""

    def __init__(self, bus: Gio.DBusConnection, asking: Asking) -> None:
        self._bus = bus
        self._asking = asking

    def _call(self, name: str, path: str, method: str, arguments: Any, interface: str = _ACCESSIBLE) -> Any:
        def call() -> Any:
            flags = Gio.DBusCallFlags.NO_AUTO_START
            return self._bus.call_sync(name, path, interface, method, arguments, None, flags, TIMEOUT_MS, None).unpack()

        return self._asking.ask(name, call)

    def children(self, name: str, path: str) -> list[str] | None:
        """The ids of an object's children; None: it does not answer."""
        answer = self._call(name, path, "GetChildren", None)
        return None if answer is None else [f"{bus}{below}" for bus, below in answer[0] if not below.endswith("/null")]

    def name(self, name: str, path: str) -> str | None:
        """An object's accessible name."""
        arguments = GLib.Variant("(ss)", (_ACCESSIBLE, "Name"))
        answer = self._call(name, path, "Get", arguments, "org.freedesktop.DBus.Properties")
        return None if answer is None else str(answer[0])

    def states(self, name: str, path: str) -> list[str] | None:
        """The names of the states that are on."""
        answer = self._call(name, path, "GetState", None)
        if answer is None:
            return None
        bits = sum(word << (32 * index) for index, word in enumerate(answer[0]))
        return sorted(nick for number, nick in _STATES.items() if bits >> number & 1)

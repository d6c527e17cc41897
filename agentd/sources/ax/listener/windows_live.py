"""Windows as they are now: asked of the program itself, since pyatspi's library answers from its
cache.

Not every toolkit says that a window came, went or has another title (Qt says nothing of titles, GTK
4 little of windows that close), so after any event of a program its windows are looked at again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gi.repository import Atspi, Gio, GLib

from .asking import MAX_TEXT, Questioner

T = TypeVar("T")

_ACCESSIBLE = "org.a11y.atspi.Accessible"
_STATES = {int(state): state.value_nick for state in Atspi.StateType.__enum_values__.values()}


class LiveWindows:
    """Asks without a cache, over a connection of our own to the accessibility bus."""

    def __init__(self, bus: Gio.DBusConnection, asking: Questioner) -> None:
        self._bus = bus
        self._asking = asking

    def _call(
        self,
        name: str,
        path: str,
        method: str,
        read: Callable[[object], T],
        arguments: object = None,
        interface: str = _ACCESSIBLE,
    ) -> T | None:
        def call() -> T:
            flags = Gio.DBusCallFlags.NO_AUTO_START
            answer = self._bus.call_sync(
                name,
                path,
                interface,
                method,
                arguments,
                None,
                flags,
                self._asking.timeout_ms,
                None,
            )
            return read(answer.unpack()[0])

        return self._asking.ask(name, call)

    def children(self, name: str, path: str) -> list[str] | None:
        """Ask for the ids of an object's children; None: it does not answer."""

        def read(answer: Any) -> list[str]:
            """Return the ids in an answer, without those that stand for nothing."""
            return [f"{bus}{below}" for bus, below in answer if not below.endswith("/null")]

        return self._call(name, path, "GetChildren", read)

    def name(self, name: str, path: str) -> str | None:
        """Ask for an object's accessible name, cut; None: it does not answer."""
        arguments = GLib.Variant("(ss)", (_ACCESSIBLE, "Name"))
        return self._call(
            name,
            path,
            "Get",
            lambda answer: str(answer)[:MAX_TEXT],
            arguments,
            "org.freedesktop.DBus.Properties",
        )

    def states(self, name: str, path: str) -> list[str] | None:
        """Ask for the names of the states that are on; None: it does not answer."""

        def read(answer: Any) -> list[str]:
            """Return the names of the states whose bits are set."""
            bits = sum(word << (32 * index) for index, word in enumerate(answer))
            return sorted(nick for number, nick in _STATES.items() if bits >> number & 1)

        return self._call(name, path, "GetState", read)

"""Desktop notifications, read from the session bus as a monitor does: nobody else gets less,
nothing is answered."""

from __future__ import annotations

from typing import Any

from gi.repository import Gio, GLib

from .asking import MAX_TEXT
from .wire import ParentPipe

_NAME = "org.freedesktop.Notifications"
_RULES = (
    f"type='method_call',interface='{_NAME}',member='Notify'",
    f"type='method_return',sender='{_NAME}'",
)
MAX_PENDING = 100


def watch_notices(wire: ParentPipe, address: str | None) -> None:
    """Tell of every notification that the desktop's notification service took; without a session
    bus of none."""
    if not address:
        return
    flags = (
        Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
        | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    )
    try:
        bus = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
        bus.set_exit_on_close(False)
        watch = _CallWatch(wire, bus)
        bus.call_sync(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.Monitoring", "BecomeMonitor",
            GLib.Variant("(asu)", (list(_RULES), 0)), None, 0, 5000, None,
        )  # fmt: skip
        wire.keep.append(watch)
    except GLib.Error as error:
        wire.say({"t": "trouble", "of": "notifications", "why": error.message})


class _CallWatch:
    """Joins a call with its answer: one that no service took was not shown."""

    def __init__(self, wire: ParentPipe, bus: Gio.DBusConnection) -> None:
        self._wire = wire
        self._bus = bus
        self._asked: dict[tuple[str, int], dict[str, Any]] = {}
        bus.add_filter(wire.guard(self._filter))

    def _filter(
        self, bus: Gio.DBusConnection, message: Gio.DBusMessage, incoming: bool
    ) -> Gio.DBusMessage | None:
        # On GDBus's own thread.
        if not incoming:
            return message
        kind = message.get_message_type()
        if kind == Gio.DBusMessageType.METHOD_CALL and message.get_member() == "Notify":
            body = message.get_body()
            if body is not None and body.get_type_string().startswith("(susss"):
                app, _, _, title, text = body.unpack()[:5]
                app, title, text = (str(one)[:MAX_TEXT] for one in (app, title, text))
                said = {"t": "notice", "app": app, "title": title, "body": text}
                GLib.idle_add(
                    self._wire.guard(self._called),
                    (message.get_sender(), message.get_serial()),
                    said,
                )
            return None
        if (
            kind == Gio.DBusMessageType.METHOD_RETURN
            and message.get_sender() != "org.freedesktop.DBus"
        ):
            GLib.idle_add(
                self._wire.guard(self._answered),
                (message.get_destination(), message.get_reply_serial()),
            )
        return message

    def _called(self, key: tuple[str, int], said: dict[str, Any]) -> bool:
        self._asked[key] = said
        if len(self._asked) > MAX_PENDING:
            del self._asked[next(iter(self._asked))]
        return False

    def _answered(self, key: tuple[str, int]) -> bool:
        said = self._asked.pop(key, None)
        if said is not None:
            self._wire.say(said)
        return False

"""Desktop notifications, read from the session bus as a monitor: nothing is taken or answered."""

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
_MONITORING = (
    "org.freedesktop.DBus",
    "/org/freedesktop/DBus",
    "org.freedesktop.DBus.Monitoring",
)
MAX_PENDING = 100


def watch_notices(wire: ParentPipe, address: str | None) -> None:
    """Report every notification that the desktop's notification service took.

    ``address``: of the session bus; without one nothing is reported.
    """
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
        rules = GLib.Variant("(asu)", (list(_RULES), 0))
        bus.call_sync(*_MONITORING, "BecomeMonitor", rules, None, 0, 5000, None)
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
        """Keep calls that show a notification until their answer passes; eavesdropped calls go no
        further."""
        # On GDBus's own thread.
        if not incoming:
            return message
        kind = message.get_message_type()
        if kind == Gio.DBusMessageType.METHOD_CALL and message.get_member() == "Notify":
            notice = _parse_notice(message.get_body())
            if notice is not None:
                key = (message.get_sender(), message.get_serial())
                GLib.idle_add(self._wire.guard(self._called), key, notice)
            return None
        is_answer = kind == Gio.DBusMessageType.METHOD_RETURN
        if is_answer and message.get_sender() != "org.freedesktop.DBus":
            key = (message.get_destination(), message.get_reply_serial())
            GLib.idle_add(self._wire.guard(self._answered), key)
        return message

    def _called(self, key: tuple[str, int], notice: dict[str, object]) -> bool:
        """Keep a notification until it is answered; of too many the oldest is let go."""
        self._asked[key] = notice
        if len(self._asked) > MAX_PENDING:
            del self._asked[next(iter(self._asked))]
        return False

    def _answered(self, key: tuple[str, int]) -> bool:
        """Tell the notification whose call was answered: it is shown now."""
        notice = self._asked.pop(key, None)
        if notice is not None:
            self._wire.say(notice)
        return False


def _parse_notice(body: Any) -> dict[str, Any] | None:
    """Return the message for the arguments of a call of Notify; None: they are of another form."""
    if body is None or not body.get_type_string().startswith("(susss"):
        return None
    app, _, _, title, text = body.unpack()[:5]
    return {
        "t": "notice",
        "app": str(app)[:MAX_TEXT],
        "title": str(title)[:MAX_TEXT],
        "body": str(text)[:MAX_TEXT],
    }

"""A program on the accessibility bus, on the system's Python, that answers one question in another
form than it should.

Its argument says which: ``children``, ``name`` or ``states``. It says again and again that its name
changed, so that it is asked again and again.
"""

from __future__ import annotations

import sys
from typing import Any

from gi.repository import Gio, GLib

ROOT = "/org/a11y/atspi/accessible/root"
FLAGS = (
    Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
)
ODD = sys.argv[1]


class Program:
    """``begin`` joins the bus."""

    def __init__(self) -> None:
        session = Gio.bus_get_sync(Gio.BusType.SESSION, None)
        found = session.call_sync(
            "org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress", None, None, 0, 5000, None
        )
        self.bus = Gio.DBusConnection.new_for_address_sync(found.unpack()[0], FLAGS, None, None)
        self.is_odd = False

    def begin(self) -> None:
        self.bus.add_filter(self.filter)
        me = GLib.Variant("((so))", ((self.bus.get_unique_name(), ROOT),))
        self.bus.call_sync(
            "org.a11y.atspi.Registry",
            ROOT,
            "org.a11y.atspi.Socket",
            "Embed",
            me,
            None,
            0,
            5000,
            None,
        )
        GLib.timeout_add(1000, self.turn)
        GLib.timeout_add(20, self.say)

    def turn(self) -> bool:
        self.is_odd = True
        return False

    def say(self) -> bool:
        said = GLib.Variant("(siiva{sv})", ("accessible-name", 0, 0, GLib.Variant("s", "x"), {}))
        self.bus.emit_signal(None, ROOT, "org.a11y.atspi.Event.Object", "PropertyChange", said)
        return True

    def filter(self, bus: Any, message: Any, incoming: bool) -> Any:
        if not incoming or message.get_message_type() != Gio.DBusMessageType.METHOD_CALL:
            return message
        answer = self.answer(message)
        if answer is None:
            reply = message.new_method_error_literal(
                "org.freedesktop.DBus.Error.UnknownMethod", message.get_member()
            )
        else:
            reply = message.new_method_reply()
            reply.set_body(answer)
        bus.send_message(reply, 0)
        return None

    def answer(self, message: Any) -> Any:
        match message.get_member():
            case "GetChildren":
                return self.form("children", GLib.Variant("(a(so))", ([],)))
            case "GetRoleName" | "GetLocalizedRoleName":
                return GLib.Variant("(s)", ("application",))
            case "GetRole":
                return GLib.Variant("(u)", (75,))
            case "GetState":
                return self.form("states", GLib.Variant("(au)", ([0, 0],)))
            case "GetInterfaces":
                return GLib.Variant(
                    "(as)", (["org.a11y.atspi.Accessible", "org.a11y.atspi.Application"],)
                )
            case "GetApplication":
                return GLib.Variant("((so))", ((self.bus.get_unique_name(), ROOT),))
            case "GetItems":
                return GLib.Variant("(a((so)(so)(so)iiassusau))", ([],))
            case "Get":
                return self.property(message.get_body().unpack()[1])
        return None

    def property(self, name: str) -> Any:
        if name == "Name":
            return self.form("name", GLib.Variant("(v)", (GLib.Variant("s", "odd"),)))
        value = {
            "ChildCount": GLib.Variant("i", 0),
            "Parent": GLib.Variant("(so)", ("org.a11y.atspi.Registry", ROOT)),
            "ToolkitName": GLib.Variant("s", "odd"),
            "Version": GLib.Variant("s", "1"),
            "Id": GLib.Variant("i", 0),
        }.get(name, GLib.Variant("s", ""))
        return GLib.Variant("(v)", (value,))

    def form(self, which: str, right: Any) -> Any:
        return GLib.Variant("(s)", ("xyz",)) if self.is_odd and which == ODD else right


if __name__ == "__main__":
    Program().begin()
    GLib.MainLoop().run()

"""A notification service for tests, on the system's Python: takes every notification and shows
none."""

from __future__ import annotations

import sys
from typing import Any

from gi.repository import Gio, GLib

NAME = "org.freedesktop.Notifications"
XML = f"""<node><interface name="{NAME}"><method name="Notify">
<arg type="s" direction="in"/><arg type="u" direction="in"/><arg type="s" direction="in"/>
<arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="as" direction="in"/>
<arg type="a{{sv}}" direction="in"/><arg type="i" direction="in"/><arg type="u" direction="out"/>
</method></interface></node>"""


def called(*call: Any) -> None:
    call[-1].return_value(GLib.Variant("(u)", (1,)))


def main() -> None:
    bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
    bus.register_object(
        "/org/freedesktop/Notifications", Gio.DBusNodeInfo.new_for_xml(XML).interfaces[0], called
    )
    Gio.bus_own_name_on_connection(
        bus, NAME, Gio.BusNameOwnerFlags.NONE, lambda *_: said("ready"), None
    )
    GLib.MainLoop().run()


def said(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

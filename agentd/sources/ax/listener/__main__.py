"""The child process: listens on the accessibility bus with the system's pyatspi, says in JSON lines
what it hears.

It runs on Debian's own Python, which alone sees ``python3-pyatspi``, and imports only that, ``gi``
and the standard library. GLib's loop, synchronous calls into programs that hang, and crashes of the
libraries stay in here. Its one argument is the factor of the daemon's patience.

It looks and never touches: no input, no focus, no action, no property set. That it listens is known
to the programs (toolkits send events only where somebody does), as it is of a screen reader.

Lines out are the messages of agentd/sources/ax/messages.py; lines in are its commands. It ends with
its standard input, so it never outlives its parent. Exit status 3: the accessibility bus or its
registry is gone.
"""

from __future__ import annotations

import os
import sys

import gi

gi.require_version("Atspi", "2.0")

import pyatspi  # noqa: E402
from gi.repository import Gio, GLib  # noqa: E402

from .event_loop import DesktopListener  # noqa: E402
from .notices import watch_notices  # noqa: E402
from .wire import LOST, ParentPipe  # noqa: E402

LISTENS_TO = (
    "window:create",
    "window:destroy",
    "window:activate",
    "window:deactivate",
    "object:state-changed",
    "object:text-changed",
    "object:children-changed",
    "object:active-descendant-changed",
    "object:property-change:accessible-name",
    "object:property-change:accessible-value",
    "focus",
)
NICE = 5
"""How much the child stands back behind the agent's programs."""


def main() -> None:
    os.nice(NICE)
    patience = float(sys.argv[1])
    wire = ParentPipe()
    bus = accessibility_bus(wire)
    bus.connect("closed", lambda *_: wire.lost("the accessibility bus is gone"))
    Gio.bus_watch_name_on_connection(
        bus, "org.a11y.atspi.Registry", Gio.BusNameWatcherFlags.AUTO_START, None,
        lambda *_: wire.lost("the accessibility registry is gone"),
    )  # fmt: skip
    listener = DesktopListener(wire, bus, patience)
    pyatspi.Registry.registerEventListener(wire.guard(listener.hear), *LISTENS_TO)
    wire.listen(listener.command)
    watch_notices(wire, os.environ.get("DBUS_SESSION_BUS_ADDRESS"))
    listener.begin()
    GLib.MainLoop().run()


def accessibility_bus(wire: ParentPipe) -> Gio.DBusConnection:
    """Connect to the accessibility bus that the session names; ends the child where there is
    none."""
    address = os.environ.get("AT_SPI_BUS_ADDRESS")
    flags = (
        Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
        | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    )
    try:
        if not address:
            session = Gio.bus_get_sync(Gio.BusType.SESSION, None)
            session.set_exit_on_close(False)
            answer = session.call_sync(
                "org.a11y.Bus",
                "/org/a11y/bus",
                "org.a11y.Bus",
                "GetAddress",
                None,
                None,
                0,
                10_000,
                None,
            )
            address = os.environ["AT_SPI_BUS_ADDRESS"] = answer.unpack()[0]
        bus = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
    except GLib.Error as error:
        wire.lost(f"no accessibility bus: {error.message}")
    bus.set_exit_on_close(False)
    return bus


if __name__ == "__main__":
    main()
    sys.exit(LOST)

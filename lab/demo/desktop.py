"""A desktop of its own for a demo: an X display without a screen, a session bus, a window manager
and the accessibility bus, each ended with the demo."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from lab.demo.processes import DemoProcess, DemoProcesses

PROGRAMS = {
    "Xvfb": "xvfb",
    "xdotool": "xdotool",
    "openbox": "openbox",
    "dbus-daemon": "dbus",
    "gdbus": "libglib2.0-bin",
    "/usr/libexec/at-spi-bus-launcher": "at-spi2-core",
    "/usr/lib/python3/dist-packages/pyatspi/__init__.py": "python3-pyatspi",
}
"""What a desktop is made of, and watched and driven with: a program or a file, and its package."""
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ")
_IS_WATCHED = (
    *("gdbus", "call", "--session", "-d", "org.a11y.Bus", "-o", "/org/a11y/bus"),
    *("-m", "org.freedesktop.DBus.Properties.Set", "org.a11y.Status", "IsEnabled", "<true>"),
)
"""Says that assistive technology is in use: a program exposes what it shows only then."""


def start_desktop(parts: DemoProcesses, folder: Path) -> dict[str, str]:
    """Start a desktop whose HOME is ``folder``; returns the environment of its programs. Raises
    `PartFailedError`."""
    runtime = folder / "run"
    runtime.mkdir(mode=0o700, parents=True)
    display = parts.start(
        "display", ["Xvfb", "-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp"]
    )
    number = display.wait_until("it told its number", lambda: _printed(display, r"^\d+$"))
    environ = {
        **{name: os.environ[name] for name in _KEPT if name in os.environ},
        "HOME": str(folder),
        "DISPLAY": f":{number}",
        "XDG_RUNTIME_DIR": str(runtime),
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "GSETTINGS_BACKEND": "memory",
        "GTK_USE_PORTAL": "0",
        "GDK_BACKEND": "x11",
        "XDG_SESSION_TYPE": "x11",
    }
    bus = parts.start("bus", ["dbus-daemon", "--session", "--nofork", "--print-address=1"], environ)
    environ["DBUS_SESSION_BUS_ADDRESS"] = bus.wait_until(
        "it told its address", lambda: _printed(bus, r"^unix:.+$")
    )
    parts.start("windows", ["openbox"], environ)
    subprocess.run(_IS_WATCHED, env=environ, check=True, capture_output=True, timeout=60)
    return environ


def _printed(part: DemoProcess, pattern: str) -> str | None:
    """Return the first line of a part's log that a pattern matches; None while there is none."""
    found = re.search(pattern, part.log.read_text(errors="replace"), re.MULTILINE)
    return found[0] if found else None

"""Prints where on the screen an object of a role and name is: the eyes of a test's agent, on the
system's Python."""

from __future__ import annotations

import sys
from typing import Any

import gi

gi.require_version("Atspi", "2.0")

from gi.repository import Atspi, GLib  # noqa: E402

MAX_DEPTH = 25
WIDEST = 60


def find(source: Any, role: str, name: str, depth: int = 0) -> Any | None:
    """The first object that is shown, the deepest first branch first."""
    if source is None or depth > MAX_DEPTH:
        return None
    try:
        if (
            source.get_role_name() == role
            and (source.get_name() or "").strip() == name
            and shown(source)
        ):
            return source
        for index in range(min(source.get_child_count(), WIDEST)):
            found = find(source.get_child_at_index(index), role, name, depth + 1)
            if found is not None:
                return found
    except GLib.Error:
        pass  # it went away while we looked
    return None


def shown(source: Any) -> bool:
    states = source.get_state_set()
    is_showing = states.contains(Atspi.StateType.SHOWING)
    return bool(is_showing and Atspi.Component.get_extents(source, Atspi.CoordType.SCREEN).x >= 0)


if __name__ == "__main__":
    found = find(Atspi.get_desktop(0), sys.argv[1], sys.argv[2])
    if found is not None:
        box = Atspi.Component.get_extents(found, Atspi.CoordType.SCREEN)
        sys.stdout.write(f"{box.x + box.width // 2} {box.y + box.height // 2}\n")

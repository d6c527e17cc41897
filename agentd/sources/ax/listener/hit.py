"""Finds the object at a place of the screen, when a button goes down, before its program reacts."""

from __future__ import annotations

from typing import Any

from gi.repository import Atspi

from .asking import Questioner, identity

MAX_DEPTH = 40


def hit(asking: Questioner, windows: list[Any], command: dict[str, Any]) -> Any | None:
    """Return the innermost object at ``x y`` (of the screen) or ``wx wy`` (of its window); None:
    there is none.

    ``windows``: those of the program whose window is there, the active ones first.
    """
    for window in windows:
        bus = identity(window)[1]
        for kind, x, y in (
            (Atspi.CoordType.SCREEN, command["x"], command["y"]),
            (Atspi.CoordType.WINDOW, command["wx"], command["wy"]),
        ):
            found = _descend(asking, bus, window, kind, x, y)
            if found is not None:
                return found
    return None


def _descend(
    asking: Questioner, bus: str, window: object, kind: Atspi.CoordType, x: int, y: int
) -> object | None:
    """Return the innermost object at a place of the screen; None where nothing is there, or where
    the program does not answer."""
    here = None
    for _ in range(MAX_DEPTH):
        outer = here or window
        below = asking.ask(bus, _object_at, outer, kind, x, y)
        if bus in asking.busy:
            return None  # what is inside is not known
        if below is None or identity(below)[0] in (identity(outer)[0], identity(window)[0]):
            break
        here = below
    return here


def _object_at(source: Any, kind: Atspi.CoordType, x: int, y: int) -> Any | None:
    """Return the child at a place, None where the object can't say."""
    try:
        return source.queryComponent().getAccessibleAtPoint(x, y, kind)
    except NotImplementedError:
        return None

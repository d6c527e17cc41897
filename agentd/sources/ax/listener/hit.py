"""Which object is at a place of the screen: asked when a button goes down, before the program
follows it."""

from __future__ import annotations

from typing import Any

from gi.repository import Atspi

from .asking import Asking, identity

MAX_DEPTH = 40


def hit(asking: Asking, windows: list[Any], command: dict[str, Any]) -> Any | None:
    """The innermost object at ``x y`` (of the screen) or ``wx wy`` (of its window); None: there is
    none.

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
    asking: Asking, bus: str, window: Any, kind: Atspi.CoordType, x: int, y: int
) -> Any | None:
    here = None
    for _ in range(MAX_DEPTH):
        below = asking.ask(bus, _object_at, here or window, kind, x, y)
        if bus in asking.busy:
            return None  # what is inside is not known
        if below is None or identity(below)[0] in (
            identity(here or window)[0],
            identity(window)[0],
        ):
            break
        here = below
    return here


def _object_at(source: Any, kind: Atspi.CoordType, x: int, y: int) -> Any | None:
    try:
        return source.queryComponent().getAccessibleAtPoint(x, y, kind)
    except NotImplementedError:
        return None

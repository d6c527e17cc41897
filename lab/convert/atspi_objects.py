"""Which object a row of a capture speaks of: a capture names objects by role and name alone.

So an object is known by its window, its role and its name, and followed where it is renamed. Two of
the same window, role and name can't be told apart.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from agentd.sources.ax.messages import Message
from agentd.sources.ax.windows import DIALOGS, NAMED

BUS = ":capture"
_WINDOWS = DIALOGS | NAMED
_HERE = ("enabled", "sensitive", "showing", "visible")
"""States that an object is taken to have until the capture says otherwise."""
_NOWHERE = -1
"""What AT-SPI says of an object whose place among its siblings is not known."""
_LABELS = ("label", "static", "status bar")


class Objects:
    """Turns rows into the raw messages of agentd/sources/ax/messages.py."""

    def __init__(self, app: str) -> None:
        self._app = app
        self._count = 0
        self._names: dict[str, tuple[str, str, str]] = {}
        """id → window, role, name"""
        self._active = ""
        self._activated: list[str] = []

    def begin(self) -> Iterator[Message]:
        """The program itself, and the window that its objects are in until another one is heard
        of."""
        yield self._node("application", self._app, "", ())
        self._active = self._next()
        self._names[self._active] = ("", "frame", "")
        yield self._node("frame", "", self._active, _HERE)

    def messages(self, row: dict[str, Any]) -> Iterator[Message]:
        """What one row says, its object told before if it is new."""
        kind, role, name = row["type"], row.get("role", ""), row.get("name", "")
        if role in ("desktop frame", "application"):
            return
        if row.get("dead"):
            one = self._dead_window(row) if kind == "window:destroy" else ""
        elif role in _WINDOWS:
            one = yield from self._window(kind, role, name)
        else:
            one = yield from self._object(row, role, name)
        if not one:
            return
        any_value = row.get("any")
        about = {"id": one, "d1": row.get("d1", 0), "d2": row.get("d2", 0)}
        yield {
            "t": "event",
            "type": kind,
            "any": any_value if isinstance(any_value, str) else None,
        } | about
        if kind == "window:destroy":
            self._forget(one)

    def _window(self, kind: str, role: str, name: str) -> Generator[Message, None, str]:
        of_role = [one for one, (_, known, _) in self._names.items() if known == role]
        named = [one for one in of_role if self._names[one][2] == name]
        nameless = [one for one in of_role if self._names[one][2] == ""]
        one = (named or nameless or ([] if kind == "window:create" else of_role[-1:]) or [""])[-1]
        if not one or (kind == "window:create" and not named and role in DIALOGS):
            one = self._next()
        if self._names.get(one, ("", "", ""))[2] != name or one not in self._names:
            self._names[one] = ("", role, name)
            if kind != "object:property-change:accessible-name" or name == "" or not named:
                yield self._node(role, name, one, _HERE)
        if kind == "window:activate" or (
            kind == "object:state-changed:active" and not self._active
        ):
            self._active = one
            self._activated.append(one)
        return one

    def _object(self, row: dict[str, Any], role: str, name: str) -> Generator[Message, None, str]:
        one = self._find_known(row, role, name)
        if one is None:
            one = self._next()
            states = _HERE if row["type"] != "object:state-changed:showing" else _HERE[:2]
            self._names[one] = (self._active, role, name)
            # A label that is told of by an edit held the text before that.
            was = (
                row.get("any")
                if role in _LABELS and row["type"].startswith("object:text-changed:delete")
                else name
            )
            yield self._node(role, str(was), one, states)
        self._names[one] = (self._names[one][0], role, name)
        return one

    def _find_known(self, row: dict[str, Any], role: str, name: str) -> str | None:
        alike = [
            one
            for one, (window, known, _) in self._names.items()
            if known == role and window == self._active
        ]
        for wanted in (name, row.get("any")):
            found = [one for one in alike if self._names[one][2] == wanted]
            if found and (wanted == name or role in _LABELS):
                return found[-1]
        if role in _LABELS and row["type"] != "object:state-changed:showing":
            return alike[-1] if len(alike) == 1 else None
        return None

    def _dead_window(self, row: dict[str, Any]) -> str:
        """A window that is gone has no role or name any more; its last title is told beside."""
        title = row.get("any")
        found = [
            one
            for one, (_, role, name) in self._names.items()
            if role in _WINDOWS and name == title and name
        ]
        return found[-1] if found else ""

    def _forget(self, window: str) -> None:
        for one in [
            one for one, (inside, _, _) in self._names.items() if inside == window or one == window
        ]:
            del self._names[one]
        if self._active == window:
            again = [one for one in self._activated if one in self._names]
            windows = [one for one, (_, role, _) in self._names.items() if role in _WINDOWS]
            self._active = again[-1] if again else next(iter(windows), "")

    def _next(self) -> str:
        self._count += 1
        return f"{BUS}/{self._count}"

    def _node(self, role: str, name: str, one: str, states: tuple[str, ...]) -> Message:
        own = one or f"{BUS}/root"
        window = self._names.get(own, ("", role, name))[0]
        parent = "" if role == "application" else window or f"{BUS}/root"
        about = {"id": own, "bus": BUS, "role": role, "name": name, "parent": parent}
        return {"t": "node", "index": _NOWHERE, "states": list(states)} | about

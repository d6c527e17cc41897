"""Which object a row of a capture speaks of: a capture names objects by role and name alone.

So an object is known by its window, its role and its name, and followed where it is renamed. Two of
the same window, role and name can't be told apart.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple

from agentd.sources.ax.messages import Message
from agentd.sources.ax.windows import DIALOGS, NAMED
from detectors.model.json_value import JsonObject, read_text, text_or_none

BUS = ":capture"
_WINDOWS = DIALOGS | NAMED
_HERE = ("enabled", "sensitive", "showing", "visible")
"""States that an object is taken to have until the capture says otherwise."""
_NOWHERE = -1
"""What AT-SPI says of an object whose place among its siblings is not known."""
_LABELS = ("label", "static", "status bar")


class _CapturedObject(NamedTuple):
    """An object as it was last: the id of its window ("" for a window), its role and name."""

    window: str
    role: str
    name: str


class Objects:
    """Turns rows into the raw messages of agentd/sources/ax/messages.py."""

    def __init__(self, app: str) -> None:
        self._app = app
        self._count = 0
        self._known: dict[str, _CapturedObject] = {}
        """id → what an object was last."""
        self._active = ""
        self._activated: list[str] = []

    def begin(self) -> Iterator[Message]:
        """The program itself, and the window that its objects are in until another one is heard
        of."""
        yield self._node("application", self._app, "", ())
        self._active = self._next_id()
        self._known[self._active] = _CapturedObject("", "frame", "")
        yield self._node("frame", "", self._active, _HERE)

    def messages(self, row: JsonObject) -> Iterator[Message]:
        """What one row says, its object told before if it is new."""
        kind = str(row["type"])
        role = read_text(row, "role")
        name = read_text(row, "name")
        if role in ("desktop frame", "application"):
            return
        is_end = kind == "window:destroy"
        if row.get("dead"):
            id = self._dead_window(row) if is_end else ""
        elif role in _WINDOWS:
            id = yield from self._window(kind, role, name)
        else:
            id = yield from self._object(row, role, name)
        if not id:
            return
        yield {
            "t": "event",
            "type": kind,
            "any": text_or_none(row.get("any")),
            "id": id,
            "d1": row.get("d1", 0),
            "d2": row.get("d2", 0),
        }
        if is_end:
            self._forget(id)

    def _window(self, kind: str, role: str, name: str) -> Generator[Message, None, str]:
        """The id of the window that a row is about; gives its node if it is new or renamed."""
        of_role = [id for id, known in self._known.items() if known.role == role]
        named = [id for id in of_role if self._known[id].name == name]
        id = self._choose_window(kind, role, of_role, named)
        window = _CapturedObject("", role, name)
        known = self._known.get(id)
        if known is None or known.name != name:
            self._known[id] = window
            is_rename = kind == "object:property-change:accessible-name"
            had_its_name = bool(named) and name != ""
            if not (is_rename and had_its_name):
                yield self._node(role, name, id, _HERE)
        is_first_active = kind == "object:state-changed:active" and not self._active
        if kind == "window:activate" or is_first_active:
            self._active = id
            self._activated.append(id)
        return id

    def _choose_window(self, kind: str, role: str, of_role: list[str], named: list[str]) -> str:
        """The window of that name, else one that has none yet, else, where none is created, the
        last of its role, else a new one; a dialog that is created is always new."""
        if named:
            return named[-1]
        is_created = kind == "window:create"
        if is_created and role in DIALOGS:
            return self._next_id()
        nameless = [id for id in of_role if self._known[id].name == ""]
        others = [] if is_created else of_role
        candidates = nameless or others
        if candidates:
            return candidates[-1]
        return self._next_id()

    def _object(self, row: JsonObject, role: str, name: str) -> Generator[Message, None, str]:
        """Return the id of the object that a row is about; gives its node first where it is new."""
        kind = str(row["type"])
        id = self._find_known(row, role, name)
        if id is None:
            id = self._next_id()
            states = _HERE[:2] if kind == "object:state-changed:showing" else _HERE
            self._known[id] = _CapturedObject(self._active, role, name)
            # A label that is told of by an edit held the text before that.
            is_edit = role in _LABELS and kind.startswith("object:text-changed:delete")
            yield self._node(role, str(row.get("any") if is_edit else name), id, states)
        self._known[id] = self._known[id]._replace(role=role, name=name)
        return id

    def _find_known(self, row: JsonObject, role: str, name: str) -> str | None:
        """The object of the active window that a row is about, None where it is new."""
        is_label = role in _LABELS
        alike = [
            id
            for id, known in self._known.items()
            if (known.role, known.window) == (role, self._active)
        ]
        expected = [name, row.get("any")] if is_label else [name]
        for text in expected:
            matches = [id for id in alike if self._known[id].name == text]
            if matches:
                return matches[-1]
        is_shown_now = row["type"] == "object:state-changed:showing"
        can_be_renamed = is_label and not is_shown_now
        if can_be_renamed and len(alike) == 1:
            return alike[0]
        return None

    def _dead_window(self, row: JsonObject) -> str:
        """A window that is gone has no role or name any more; its last title is told beside."""
        title = row.get("any")
        if not title:
            return ""
        titled = ["", *(id for id in self._windows() if self._known[id].name == title)]
        return titled[-1]

    def _forget(self, window: str) -> None:
        """Drop a window with all that is in it; the one that was active before is so again."""
        gone = [id for id, known in self._known.items() if window in (id, known.window)]
        for id in gone:
            del self._known[id]
        if self._active != window:
            return
        again = [id for id in self._activated if id in self._known]
        candidates = [*reversed(again), *self._windows(), ""]
        self._active = candidates[0]

    def _windows(self) -> Iterator[str]:
        return (id for id, known in self._known.items() if known.role in _WINDOWS)

    def _next_id(self) -> str:
        self._count += 1
        return f"{BUS}/{self._count}"

    def _node(self, role: str, name: str, id: str, states: tuple[str, ...]) -> Message:
        """The message that tells of an object, as the daemon's reader sends it."""
        root = f"{BUS}/root"
        own = id or root
        known = self._known.get(own)
        parent = root
        if role == "application":
            parent = ""
        elif known is not None and known.window:
            parent = known.window
        return {
            "t": "node",
            "index": _NOWHERE,
            "states": list(states),
            "id": own,
            "bus": BUS,
            "role": role,
            "name": name,
            "parent": parent,
        }

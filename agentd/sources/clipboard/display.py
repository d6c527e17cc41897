"""One connection to an X server: owners of selections, properties of windows, what comes in.

It owns no selection and maps no window: for everybody else on the display it is not there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import xcffib
import xcffib.res
import xcffib.xfixes
import xcffib.xproto
from xcffib.xproto import CW, Atom, EventMask, Property, WindowClass

from agentd.core.source import SourceLostError

_OWNED = (
    xcffib.xfixes.SelectionEventMask.SetSelectionOwner
    | xcffib.xfixes.SelectionEventMask.SelectionWindowDestroy
    | xcffib.xfixes.SelectionEventMask.SelectionClientClose
)
_PIECE = 1 << 16
"""How much of a property is asked for at once, in units of four bytes."""


MAX_NAMES = 1_024
"""Names of atoms that are remembered: a handful of forms of text ever come."""


class Owned(NamedTuple):
    """A selection's new owner (0: none any more), or what its owner holds newly."""

    selection: int
    owner: int
    time: int


class Arrived(NamedTuple):
    """An answer to `ClipboardDisplay.convert`; ``property`` 0: refused."""

    property: int
    target: int


class Written(NamedTuple):
    """A property of our window has a new value."""

    property: int


Happening = Owned | Arrived | Written


class ClipboardDisplay:
    """Raises `SourceLostError` from every method once the server is gone."""

    def __init__(self, name: str) -> None:
        self._name = name
        with self._losing():
            self._connection: Any = xcffib.connect(name)  # type: ignore[no-untyped-call]
            self._core: Any = self._connection.core  # type: ignore[has-type]
            self._setup = self._connection.get_setup()
            screen = self._setup.roots[self._connection.pref_screen]
            self._root = screen.root
            self._fixes = self._connection(xcffib.xfixes.key)
            self._fixes.QueryVersion(5, 0).reply()
            self._atoms: dict[str, int] = {}
            self._names: dict[int, str] = {}
            self.window = self._connection.generate_id()
            place = (-1, -1, 1, 1, 0)
            kind = (WindowClass.InputOnly, screen.root_visual)
            events = (CW.EventMask, [EventMask.PropertyChange])
            self._core.CreateWindow(0, self.window, self._root, *place, *kind, *events)
            self.fileno: int = self._connection.get_file_descriptor()

    def close(self) -> None:
        """Close the connection to the display."""
        self._connection.disconnect()

    @contextlib.contextmanager
    def _losing(self) -> Iterator[None]:
        """While the display is asked: a lost connection ends the source."""
        try:
            yield
        except xcffib.ConnectionException:
            raise SourceLostError(
                f"the display {self._name} can't be reached, or is gone"
            ) from None

    # -- selections

    def watch(self, selection: int) -> None:
        """Have every new owner of a selection reported from now on."""
        with self._losing():
            self._fixes.SelectSelectionInput(self.window, selection, _OWNED)
            self._connection.flush()

    def owner(self, selection: int) -> int:
        """Return the window that owns a selection now; 0: nobody."""
        with self._losing():
            return int(self._core.GetSelectionOwner(selection).reply().owner)

    def convert(self, selection: int, target: int, into: int, time: int) -> None:
        """Ask the owner to put the selection as ``target`` into our property ``into``."""
        with self._losing():
            self._core.ConvertSelection(self.window, selection, target, into, time)
            self._connection.flush()

    def happenings(self) -> Iterator[Happening]:
        """Yield what came in, in the server's order, without waiting."""
        with self._losing():
            while True:
                try:
                    event = self._connection.poll_for_event()
                except xcffib.Error:
                    continue  # a window of somebody's was gone by the time
                if event is None:
                    return
                happening = self._happening(event)
                if happening is not None:
                    yield happening

    def _happening(self, event: object) -> Happening | None:
        """Return an event as what it is here: another owner, an answer, a written piece; None for
        others."""
        match event:
            case xcffib.xfixes.SelectionNotifyEvent():
                owner = event.owner if event.subtype == 0 else 0
                return Owned(event.selection, owner, event.timestamp)
            case xcffib.xproto.SelectionNotifyEvent():
                return Arrived(event.property, event.target)
            case xcffib.xproto.PropertyNotifyEvent() if event.state == Property.NewValue:
                return Written(event.atom)
        return None

    def sync(self) -> None:
        """Wait until everything that the server did before has come in."""
        with self._losing():
            self._core.GetInputFocus().reply()

    # -- properties

    def atom(self, name: str) -> int:
        """Return the atom of a name."""
        if name not in self._atoms:
            with self._losing():
                self._atoms[name] = int(self._core.InternAtom(False, len(name), name).reply().atom)
        return self._atoms[name]

    def atom_name(self, atom: int) -> str:
        """Return the name of an atom; "" for a number that is none."""
        if atom not in self._names:
            if len(self._names) >= MAX_NAMES:
                self._names.clear()  # a program may name a new one with each copy
            with self._losing():
                try:
                    reply = self._core.GetAtomName(atom).reply()
                    self._names[atom] = bytes(reply.name.buf()).decode("latin-1")
                except xcffib.Error:
                    self._names[atom] = ""
        return self._names[atom]

    def take(self, name: int) -> tuple[int, Iterator[bytes]]:
        """Return our property's type, and its value piece by piece; the last one deletes it."""
        with self._losing():
            first = self._core.GetProperty(True, self.window, name, Atom.Any, 0, _PIECE).reply()
            return int(first.type), self._read_rest(name, first)

    def _read_rest(self, name: int, reply: Any) -> Iterator[bytes]:
        """Yield the pieces of a property, the first of which was read."""
        place = 0
        while True:
            yield bytes(reply.value.buf())
            if not reply.bytes_after:
                return
            place += _PIECE
            with self._losing():
                reply = self._core.GetProperty(
                    True, self.window, name, Atom.Any, place, _PIECE
                ).reply()

    def forget(self, name: int) -> None:
        """Delete a property of our window."""
        with self._losing():
            self._core.DeleteProperty(self.window, name)
            self._connection.flush()

    # -- whose a window is

    def app(self, window: int) -> str:
        """Return the window class of the program that made ``window``: its own, or that of another
        of its windows; "" where none has one."""
        own = self._class(window)
        if own:
            return own
        classes = map(self._class, self._windows_beside(window))
        return next((class_ for class_ in classes if class_), "")

    def pid(self, window: int) -> int:
        """Return the id of the process that made ``window``, as the server knows it; 0: unknown."""
        with self._losing(), contextlib.suppress(xcffib.Error, KeyError, IndexError):
            pid = xcffib.res.ClientIdMask.LocalClientPID
            wanted = xcffib.res.ClientIdSpec.synthetic(window, pid)  # type: ignore[no-untyped-call]
            reply = self._connection(xcffib.res.key).QueryClientIds(1, [wanted]).reply()
            return int(reply.ids[0].value[0])
        return 0

    def _windows_beside(self, window: int) -> Iterator[int]:
        """Yield the other windows of the client that made ``window``."""
        base = ~int(self._setup.resource_id_mask)
        listed = self._text_property(self._root, "_NET_CLIENT_LIST")
        managed = [int.from_bytes(listed[n : n + 4], "little") for n in range(0, len(listed), 4)]
        with self._losing():
            children = list(self._core.QueryTree(self._root).reply().children)
        for other in (*managed, *children):
            if other & base == window & base and other != window:
                yield other

    def _class(self, window: int) -> str:
        """Return the class of the program that a window is of, "" where it has none."""
        # Two strings, each with a zero after it: the instance and the class.
        parts = self._text_property(window, "WM_CLASS").decode("latin-1").split("\0")
        return parts[1] if len(parts) > 1 else ""

    def _text_property(self, window: int, name: str) -> bytes:
        """Return a property as bytes, empty for a window that is gone."""
        with self._losing():
            try:
                reply = self._core.GetProperty(
                    False, window, self.atom(name), Atom.Any, 0, 1 << 12
                ).reply()
            except xcffib.Error:
                return b""  # the window is gone
            return bytes(reply.value.buf())


def program(pid: int) -> str:
    """Return the name of the program that runs as ``pid``; "" where it can't be seen."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    return ""

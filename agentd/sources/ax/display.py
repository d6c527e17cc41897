"""What the X server tells of a desktop and no toolkit does: that something was pressed, and whose
windows are there.

Toolkits do not say on the accessibility bus that a button was pressed (GTK 2 to 4, Qt 5,
LibreOffice, Chromium: none does). So raw input is heard beside it, as any program may: nothing is
grabbed, and nobody else gets less. Of keys only those that activate (Return, Enter, space) are
looked at; which others were typed is not read here.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import xcffib
import xcffib.xinput
import xcffib.xproto
from xcffib.xproto import GetPropertyType

from agentd.core.source import SourceLostError

KEYS = frozenset((0xFF0D, 0xFF8D, 0x20))
"""Keysyms of Return, Enter on the keypad, space."""
_xcb: Any = xcffib
_GENERIC = 35
_RAW_KEY, _RAW_DOWN, _RAW_UP = 13, 15, 16
_MASTERS = 1
_FIRST_BUTTON = 1
_MAX_DEPTH = 12
_CLIENTS = 1000

What = Literal["key", "down", "up"]


class Press(NamedTuple):
    """Something was pressed, at a time of the X server's: ms, modulo 2**32."""

    what: What
    time: int


class PointerPlace(NamedTuple):
    """Where the pointer is: on the screen, and in which program's window (its process id; 0: not
    known)."""

    x: int
    y: int
    pid: int
    window_x: int
    window_y: int


class Client(NamedTuple):
    """A program's window as the window manager lists it: its id, the program's process id and
    class."""

    window: int
    pid: int
    program: str


class DesktopDisplay:
    """One connection; every method raises `SourceLostError` once the server is gone."""

    def __init__(self, name: str) -> None:
        with _losing():
            self._connection: Any = xcffib.connect(name)  # type: ignore[no-untyped-call]
            setup = self._connection.get_setup()
            self._core: Any = self._connection.core  # type: ignore[has-type]
            self._root = setup.roots[self._connection.pref_screen].root
            self._keys = self._activating(setup.min_keycode, setup.max_keycode)
            self._atoms: dict[str, int] = {}
            self._select()
            self.fileno: int = self._connection.get_file_descriptor()

    def close(self) -> None:
        """Close the connection to the display."""
        self._connection.disconnect()

    def _activating(self, first: int, last: int) -> frozenset[int]:
        """Return the codes, from ``first`` to ``last``, of the keys that press a button."""
        reply = self._core.GetKeyboardMapping(first, last - first + 1).reply()
        width = reply.keysyms_per_keycode
        syms = list(reply.keysyms)
        return frozenset(first + index // width for index, sym in enumerate(syms) if sym in KEYS)

    def _select(self) -> None:
        inputs = self._connection(xcffib.xinput.key)
        inputs.XIQueryVersion(2, 2).reply()
        mask = xcffib.xinput.EventMask.synthetic(  # type: ignore[no-untyped-call]
            _MASTERS, 1, [1 << _RAW_KEY | 1 << _RAW_DOWN | 1 << _RAW_UP]
        )
        inputs.XISelectEventsChecked(self._root, 1, [mask]).check()

    def take_presses(self) -> list[Press]:
        """Return what was pressed since the last call: keys that activate, and the first button."""
        presses: list[Press] = []
        with _losing():
            while (event := _xcb.lib.xcb_poll_for_event(self._connection._conn)) != _xcb.ffi.NULL:
                event = _xcb.ffi.gc(event, _xcb.c_free)
                press = self._parse_press(bytes(_xcb.ffi.buffer(event, 20)))
                if press is not None:
                    presses.append(press)
            self._connection.invalid()
        return presses

    def _parse_press(self, event: bytes) -> Press | None:
        """Return a raw event of the input extension as a press of a key or the first button; None
        for any other."""
        # xcffib counts the valuators behind these fields wrongly, so it is not asked to read the
        # event.
        kind, number, moment, detail = struct.unpack("=B7xH2xII", event)
        if kind & 0x7F != _GENERIC:
            return None
        if number == _RAW_KEY and detail in self._keys:
            return Press("key", moment)
        if detail == _FIRST_BUTTON and number in (_RAW_DOWN, _RAW_UP):
            return Press("down" if number == _RAW_DOWN else "up", moment)
        return None

    def pointer(self) -> PointerPlace:
        """Return where the pointer is now."""
        with _losing():
            window = self._root
            at = self._core.QueryPointer(window).reply()
            x, y = at.root_x, at.root_y
            place = PointerPlace(x, y, 0, x, y)
            for _ in range(_MAX_DEPTH):
                if not at.child:
                    break
                window = at.child
                try:
                    at = self._core.QueryPointer(window).reply()
                except xcffib.xproto.WindowError:
                    break  # it is gone already
                if not place.pid:
                    pid = self._number(window, "_NET_WM_PID")
                    if pid:
                        place = PointerPlace(x, y, pid, at.win_x, at.win_y)
            return place

    def clients(self) -> list[Client]:
        """List the windows of the window manager whose program says its process id."""
        with _losing():
            data = self._property(self._root, "_NET_CLIENT_LIST")
            windows = struct.unpack(f"={len(data) // 4}I", data[: len(data) // 4 * 4])
            found = [
                Client(window, self._number(window, "_NET_WM_PID"), self._class(window))
                for window in windows
            ]
        return [client for client in found if client.pid and client.program]

    def _class(self, window: int) -> str:
        """Return the class of the program that a window is of, "" where it has none."""
        parts = self._property(window, "WM_CLASS").decode("latin-1").split("\0")
        return parts[1] if len(parts) > 1 else parts[0]

    def _number(self, window: int, name: str) -> int:
        """Return a property of a window that is one number, 0 where it has none."""
        data = self._property(window, name)
        return int(struct.unpack("=I", data[:4])[0]) if len(data) >= 4 else 0

    def _property(self, window: int, name: str) -> bytes:
        """Return a property of a window as bytes, empty for a window that is gone."""
        if name not in self._atoms:
            self._atoms[name] = self._core.InternAtom(False, len(name), name).reply().atom
        try:
            reply = self._core.GetProperty(
                False, window, self._atoms[name], GetPropertyType.Any, 0, _CLIENTS
            ).reply()
        except xcffib.xproto.WindowError:
            return b""  # it is gone already
        return bytes(reply.value.buf())


@contextlib.contextmanager
def _losing() -> Iterator[None]:
    """While the display is asked: a lost connection ends the source."""
    try:
        yield
    except xcffib.ConnectionException as error:
        raise SourceLostError(str(error) or "no such display") from None

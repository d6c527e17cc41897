"""A program that owns the clipboard and behaves as it is told: ``python -m
tests.desktop_machine.owner MODE``.

Modes: ``secret`` (a password manager's), ``latin`` (only STRING), ``picture`` (no text),
``refusing``, ``pieces`` (INCR, 300,000 bytes), ``endless`` (INCR without end), ``silent`` (never
answers), ``burst`` (owns it 50 times over). It says ``owned`` once it does, and each target that it
is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import xcffib
import xcffib.xproto as x

FORMS = {
    "secret": {"UTF8_STRING": b"hunter2", "x-kde-passwordManagerHint": b"secret"},
    "latin": {"STRING": "Käse".encode("latin-1")},
    "picture": {"image/png": b"\x89PNG"},
    "refusing": {"UTF8_STRING": None},
    "pieces": {"UTF8_STRING": "é".encode() * 150_000},
    "endless": {"UTF8_STRING": b"more "},
    "silent": {"UTF8_STRING": b""},
    "burst": {"UTF8_STRING": b"last"},
}
PIECE = 10_001  # odd, so that it cuts through characters


class Owner:
    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.forms: dict[str, Any] = FORMS[mode]
        self.connection: Any = xcffib.connect()
        self.core: Any = self.connection.core
        screen = self.connection.get_setup().roots[0]
        self.window = self.connection.generate_id()
        self.core.CreateWindow(
            0, self.window, screen.root, 0, 0, 1, 1, 0, 2, screen.root_visual, 0, []
        )
        name = b"owner\0Owner\0"
        self.core.ChangeProperty(0, self.window, self.atom("WM_CLASS"), 31, 8, len(name), name)
        self.pieces: dict[tuple[int, int], Iterator[bytes]] = {}

    def atom(self, name: str) -> int:
        return int(self.core.InternAtom(False, len(name), name).reply().atom)

    def name(self, atom: int) -> str:
        return bytes(self.core.GetAtomName(atom).reply().name.buf()).decode()

    def run(self) -> None:
        for _ in range(50 if self.mode == "burst" else 1):
            self.core.SetSelectionOwner(self.window, self.atom("CLIPBOARD"), 0)
        self.core.GetInputFocus().reply()
        print("owned", flush=True)
        while True:
            event = self.connection.wait_for_event()
            if isinstance(event, x.SelectionClearEvent):
                return
            if isinstance(event, x.SelectionRequestEvent) and self.mode != "silent":
                self.answer(event)
            elif isinstance(event, x.PropertyNotifyEvent) and event.state == x.Property.Delete:
                self.send_piece(event.window, event.atom)
            self.connection.flush()

    def answer(self, event: Any) -> None:
        target = self.name(event.target)
        print(target, flush=True)
        value = self.forms.get(target)
        if target == "TARGETS":
            atoms = [self.atom(name) for name in ("TARGETS", *self.forms)]
            self.core.ChangeProperty(0, event.requestor, event.property, 4, 32, len(atoms), atoms)
        elif value is None:
            event.property = 0
        elif self.mode in ("pieces", "endless"):
            self.core.ChangeWindowAttributes(
                event.requestor, x.CW.EventMask, [x.EventMask.PropertyChange]
            )
            self.core.ChangeProperty(
                0, event.requestor, event.property, self.atom("INCR"), 32, 1, [len(value)]
            )
            self.pieces[event.requestor, event.property] = self.cut(value)
        else:
            self.core.ChangeProperty(
                0, event.requestor, event.property, event.target, 8, len(value), value
            )
        told = x.SelectionNotifyEvent.synthetic(
            event.time, event.requestor, event.selection, event.target, event.property
        )
        self.core.SendEvent(False, event.requestor, 0, told.pack())

    def cut(self, value: bytes) -> Iterator[bytes]:
        while self.mode == "endless":
            yield value
        yield from (value[n : n + PIECE] for n in range(0, len(value), PIECE))
        yield b""

    def send_piece(self, window: int, name: int) -> None:
        piece = next(self.pieces.get((window, name), iter(())), None)
        if piece is not None:
            self.core.ChangeProperty(
                0, window, name, self.atom("UTF8_STRING"), 8, len(piece), piece
            )


if __name__ == "__main__":
    Owner(sys.argv[1]).run()

"""JSON lines out and in over the standard streams; and the end of the child, with its reason."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn, TypeVar

from gi.repository import GLib

LOST = 3
"""The exit status of a child that hears nothing more."""

T = TypeVar("T")


class ParentPipe:
    """``say`` writes a line at once; a parent that went away ends the process. ``keep``: what lives
    as long."""

    def __init__(self) -> None:
        self._out = sys.stdout.fileno()
        self._early = b""
        self.keep: list[object] = []

    def say(self, message: dict[str, object]) -> None:
        """Write one message as a JSON line; ends the process where the parent is gone."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._out, data) :]
        except OSError:
            os._exit(0)

    def lost(self, why: str) -> NoReturn:
        """Say why, and end at once: nothing more can be heard."""
        self.say({"t": "lost", "why": why})
        os._exit(LOST)

    def guard(self, callback: Callable[..., T]) -> Callable[..., T]:
        """``callback`` for GLib. Of one that fails GLib says a word and calls it no more: the child
        would go on, deaf.

        So the child ends, the parent has a gap, and the next one begins with a baseline.
        """

        def call(*arguments: object) -> T:
            """Call the callback; any error of it ends the child, with its words for the daemon."""
            try:
                return callback(*arguments)
            except Exception as error:  # noqa: BLE001
                traceback.print_exc()
                self.lost(f"the accessibility child failed: {type(error).__name__}: {error}"[:300])

        return call

    def listen(self, command: Callable[[dict[str, object]], None]) -> None:
        """Call ``command`` for every line that comes in."""

        def read(source: int, condition: GLib.IOCondition) -> bool:
            """Take the daemon's commands line by line; when the daemon goes, so does the child."""
            data = os.read(source, 65536)
            if not data:
                os._exit(0)
            *lines, self._early = (self._early + data).split(b"\n")
            for line in lines:
                command(json.loads(line))
            return True

        GLib.unix_fd_add_full(
            GLib.PRIORITY_DEFAULT,
            sys.stdin.fileno(),
            GLib.IOCondition.IN | GLib.IOCondition.HUP,
            self.guard(read),
        )

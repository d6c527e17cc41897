"""JSON lines out and in, over the child's standard streams."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from gi.repository import GLib


class Wire:
    """``say`` writes a line at once; a parent that went away ends the process. ``keep``: what lives as long."""

    def __init__(self) -> None:
        self._out = sys.stdout.fileno()
        self._early = b""
        self.keep: list[object] = []

    def say(self, message: dict[str, Any]) -> None:
        """Write one message."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._out, data) :]
        except OSError:
            os._exit(0)

    def listen(self, command: Callable[[dict[str, Any]], None]) -> None:
        """Call ``command`` for every line that comes in."""

        def read(source: int, condition: GLib.IOCondition) -> bool:
            data = os.read(source, 65536)
            if not data:
                os._exit(0)
            *lines, self._early = (self._early + data).split(b"\n")
            for line in lines:
                command(json.loads(line))
            return True

        GLib.unix_fd_add_full(
            GLib.PRIORITY_DEFAULT, sys.stdin.fileno(), GLib.IOCondition.IN | GLib.IOCondition.HUP, read
        )

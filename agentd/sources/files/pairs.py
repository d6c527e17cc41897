"""The kernel tells a rename in two halves: what left, what arrived. This joins them again, on the
loop.

A half without its other is a move over the root's edge; so is one whose path is spoken of again
meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agentd.sources.files.notify import Note

PAIR_S = 0.1
"""How long the first half of a rename waits for its second, in seconds."""


class Pairs:
    """The first halves that wait; ``left`` is called with one that stayed alone."""

    def __init__(self, left: Callable[[Note], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._left = left
        self._halves: dict[int, Note] = {}
        self._timers: dict[int, asyncio.TimerHandle] = {}

    def hold(self, note: Note) -> None:
        """Keep a first half until its second comes, but for `PAIR_S` at most."""
        self._halves[note.cookie] = note
        self._timers[note.cookie] = self._loop.call_later(PAIR_S, self.flush, note.cookie)

    def take(self, cookie: int) -> Note | None:
        """Hand out the first half of a rename, if it is waiting."""
        timer = self._timers.pop(cookie, None)
        if timer is not None:
            timer.cancel()
        return self._halves.pop(cookie, None)

    def flush_at(self, root: str, path: str) -> None:
        """Wait no longer for what left ``path``, where something else happens now."""
        for cookie, half in list(self._halves.items()):
            if (half.root, half.path) == (root, path):
                self.flush(cookie)

    def flush(self, cookie: int) -> None:
        """Wait no longer for the second half of ``cookie``."""
        half = self.take(cookie)
        if half is not None:
            self._left(half)

    def flush_all(self) -> None:
        """Wait no longer for any: everything that came before a fence is in."""
        for cookie in list(self._halves):
            self.flush(cookie)

    def stop(self) -> None:
        """Drop all halves, with their timers."""
        for cookie in list(self._halves):
            self.take(cookie)

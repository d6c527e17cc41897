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
    """``left`` is called with a first half that stayed alone."""

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
        """The first half of a rename, if it is waiting."""
        if timer := self._timers.pop(cookie, None):
            timer.cancel()
        return self._halves.pop(cookie, None)

    def spoken_of(self, root: str, path: str) -> None:
        """Something else happens at that path: what left it has left."""
        for cookie, half in list(self._halves.items()):
            if (half.root, half.path) == (root, path):
                self.flush(cookie)

    def flush(self, cookie: int) -> None:
        """Wait no longer for that one's second half."""
        if (half := self.take(cookie)) is not None:
            self._left(half)

    def flush_all(self) -> None:
        """Wait no longer for any: everything that came before a fence is in."""
        for cookie in list(self._halves):
            self.flush(cookie)

    def stop(self) -> None:
        """Drop them."""
        for cookie in list(self._halves):
            self.take(cookie)

"""A camera for an X display: the root window as it is, without the pointer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from mss import MSS, ScreenShotError
from PIL import Image

from agentd.core.patience import DEFAULT_PATIENCE, Patience
from agentd.core.source import SourceLostError
from agentd.core.worker_thread import SourceThread
from agentd.readers.picture_measures import NoShotError, Shot

TAKE_S = 2.0
"""How long the X server may take, in seconds."""
_IDLE_S = 60.0


class X11Camera:
    """Takes ``display`` (as in ``:0``), all its monitors in one picture; ``patience`` multiplies
    how long the X server may take."""

    of = "x11"

    def __init__(self, display: str, patience: Patience = DEFAULT_PATIENCE) -> None:
        self._longest_s = patience.extend(TAKE_S)
        self._display = display
        self._open = asyncio.Event()
        self._worker = SourceThread("screen", self._work, lambda *_: None, self._open.set)

    async def run(self) -> None:
        """Do as `Camera` says of it."""
        await self._worker.run()

    async def take(self) -> Shot:
        """Do as `Camera` says of it."""
        await self._open.wait()
        taken: list[Image.Image] = []
        await self._worker.ask(lambda: taken.append(self._grab()), self._longest_s)
        if not taken and self._worker.ended:
            raise SourceLostError(f"the display {self._display} is gone")
        if not taken:
            raise NoShotError(f"the X server gave no picture within {self._longest_s:g} s")
        return Shot(taken[0])

    # -- in the thread

    def _work(self, worker: SourceThread) -> None:
        """Keep a connection of its own to the display, and answer questions for pictures until
        stopped."""
        # Held and never used: an X server whose last client goes starts anew, and paints its screen
        # black.
        with self._connected():
            self._grab()
            worker.ready()
            while not worker.stopping:
                worker.pause(_IDLE_S)
                worker.answer()

    @contextmanager
    def _connected(self) -> Iterator[MSS]:
        """While connected: a display that can't be seen ends the source.

        mss reads a null pointer, a ValueError, where the display goes while it connects.
        """
        try:
            with MSS(display=self._display) as screen:
                yield screen
        except (ScreenShotError, ValueError) as error:
            raise SourceLostError(f"the display {self._display} can't be seen: {error}") from None

    def _grab(self) -> Image.Image:
        # A connection for each picture costs some 2 ms, and knows the screen's size of now.
        with self._connected() as screen:
            shot = screen.grab(screen.monitors[0])
        return Image.frombytes("RGB", shot.size, bytes(shot.bgra), "raw", "BGRX")

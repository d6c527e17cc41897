"""Faults at random moments of a session: the same ones every time, by their seed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

MOMENTS = 20
LATEST_S = 0.35
"""A fault falls at most so long after its step began: about as long as a step takes, so before, within or after
its seal."""


class Moments:
    """Does ``fault`` beside the session, a random while after each of its first ``steps`` steps
    began.

    Hand `step` to the session.
    """

    def __init__(self, seed: int, fault: Callable[[], object], steps: int = MOMENTS) -> None:
        self._chance = random.Random(seed)
        self._fault, self._left = fault, steps
        self._beside = ThreadPoolExecutor(1)
        self._running: Future[None] | None = None
        self.done = 0

    def step(self, number: int) -> None:
        """A step begins: the fault of the one before is over, the next one is on its way."""
        self._join()
        if self._left:
            self._left -= 1
            self._running = self._beside.submit(self._do, self._chance.uniform(0, LATEST_S))

    def _do(self, after: float) -> None:
        time.sleep(after)
        self._fault()
        self.done += 1

    def _join(self) -> None:
        if self._running is not None:
            self._running.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._beside.shutdown()
        if kind is None:
            self._join()

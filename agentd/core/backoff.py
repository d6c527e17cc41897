"""Waits between two tries of what may go well later."""

from __future__ import annotations

import asyncio

from common.backoff import retry_pause_s

FIRST_S = 0.1
MAX_S = 5.0
"""The wait before a second try, doubled from try to try up to the longest, in seconds."""


class Backoff:
    """Waits of 0.1, 0.2, 0.4 … 5 seconds; ``reset`` after a success."""

    def __init__(self, first_s: float = FIRST_S, longest_s: float = MAX_S) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._failures = 0

    def reset(self) -> None:
        """Begin anew with the first wait, after a success."""
        self._failures = 0

    async def wait(self, least_s: float = 0.0) -> None:
        """Sleep for this try's wait, at least ``least_s``."""
        pause_s = retry_pause_s(self._failures, self._first_s, self._longest_s)
        self._failures += 1
        await asyncio.sleep(max(pause_s, least_s))

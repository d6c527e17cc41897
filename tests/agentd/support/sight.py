"""What the control port asks of the supervisor, as a test sets it."""

from __future__ import annotations

import asyncio


class Sight:
    """Every source sees, until `tell` names some that do not."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self.awaited: dict[str, str] = {}
        self.lacking: list[str] = []

    @property
    def ready(self) -> bool:
        return not self.awaited

    def tell(self, **awaited: str) -> None:
        """These sources do not see, with their reasons."""
        self.awaited = awaited
        self.changed.set()
        self.changed = asyncio.Event()

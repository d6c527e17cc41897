"""Engines of episodes that wait, in the form in which they are stored: a ninth of what a small one
takes otherwise. Most sandboxes of a fleet wait for their agent most of the time."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import zstandard

from detectors.engine.engine import Engine
from detectors.task.ruleset import Ruleset

MAX_BYTES = 64 * 1024
"""Of an engine that is packed: to unpack it takes less than a millisecond."""
LEVEL = 3
"""Of zstd."""


class PackedEngine(NamedTuple):
    """An engine as its compressed state, and the rules that it is of."""

    ruleset: Ruleset
    state: bytes


def pack_engine(engine: Engine) -> PackedEngine:
    """Pack an engine that stands at the last durable event of its episode."""
    frame = zstandard.compress(engine.dump(), LEVEL)
    # Copied: the library leaves it in the memory that the longest result would have taken.
    return PackedEngine(engine.ruleset, bytes(memoryview(frame)))


def unpack_engine(packed: PackedEngine) -> Engine:
    """Make the engine again that `pack_engine` packed."""
    return Engine.load(packed.ruleset, zstandard.decompress(packed.state))


class UsedOrder:
    """The small engines of a process that are not packed, by when they were used; ``max_bytes`` of
    them are to stay so."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes, self._bytes = max_bytes, 0
        self._sizes: OrderedDict[str, int] = OrderedDict()

    def use(self, episode: str, size: int) -> list[str]:
        """Note that an engine of ``size`` bytes was used now; return the episodes whose engines are
        too many by that, those that were used longest ago first. They are forgotten here."""
        self.forget(episode)
        if size > MAX_BYTES:
            return []
        self._sizes[episode] = size
        self._bytes += size
        beyond: list[str] = []
        while self._bytes > self._max_bytes:
            oldest = next(iter(self._sizes))
            self.forget(oldest)
            beyond.append(oldest)
        return beyond

    def forget(self, episode: str) -> None:
        """Forget an engine that is not kept any more."""
        self._bytes -= self._sizes.pop(episode, 0)

    def clear(self) -> None:
        """Forget all engines: none is kept any more."""
        self._sizes.clear()
        self._bytes = 0

"""Heartbeats of an owner: while its client lives the service does not end the episodes that it
opened, however long a model or a person thinks. Written twice by hand, as connections.py is: a
thread here is a task there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from weakref import WeakValueDictionary

from milestoned_client.calls import Call, heartbeat
from milestoned_client.errors import ClientError

MAX_BEAT_S = 60.0
MIN_BEAT_S = 1.0
BEATS = 10
"""Heartbeats within the silence after which the service ends an episode."""
MAX_EPISODES = 1_000
"""Episodes in one heartbeat."""

Statuses = Mapping[str, str]


class KeptEpisodes:
    """The episodes that are kept open: those of this client whose handle somebody still has."""

    def __init__(self) -> None:
        self._handles: WeakValueDictionary[str, object] = WeakValueDictionary()
        self._lock = threading.Lock()
        self.beat_s = MAX_BEAT_S

    def add(self, id: str, handle: object, silence_s: float) -> bool:
        """Keep the episode; True where heartbeats have to come sooner for it."""
        beat_s = max(MIN_BEAT_S, min(MAX_BEAT_S, silence_s / BEATS))
        with self._lock:
            self._handles[id] = handle
            is_sooner = beat_s < self.beat_s
            self.beat_s = min(self.beat_s, beat_s)
        return is_sooner

    def drop(self, ids: Sequence[str]) -> None:
        """Send no more heartbeats for these."""
        with self._lock:
            for id in ids:
                self._handles.pop(id, None)

    def drop_ended(self, statuses: Statuses) -> None:
        """Send no more heartbeats for those that the service does not call open."""
        self.drop([id for id, status in statuses.items() if status != "open"])

    def batches(self) -> list[list[str]]:
        """Return the ids to send, at most `MAX_EPISODES` together."""
        with self._lock:
            ids = list(self._handles.keys())
        return [ids[at : at + MAX_EPISODES] for at in range(0, len(ids), MAX_EPISODES)]


class AsyncHeartbeat:
    """Sends heartbeats in a task, from the first episode that is kept until `close`."""

    def __init__(self, call: Callable[[Call[Statuses]], Awaitable[Statuses]]) -> None:
        self._call = call
        self.kept = KeptEpisodes()
        self._task: asyncio.Task[None] | None = None
        self._sooner = asyncio.Event()

    def keep(self, id: str, handle: object, silence_s: float) -> None:
        """Keep the episode open until it is closed or its ``handle`` is gone."""
        if self.kept.add(id, handle, silence_s):
            self._sooner.set()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run(), name="heartbeats")

    async def close(self) -> None:
        """Stop sending heartbeats, whatever is still kept open."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            self._sooner.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.kept.beat_s):
                    await self._sooner.wait()
            for batch in self.kept.batches():
                with suppress(ClientError):  # the next one is soon
                    self.kept.drop_ended(await self._call(heartbeat(batch)))


class Heartbeat:
    """Sends heartbeats in a thread, from the first episode that is kept until `close`."""

    def __init__(self, call: Callable[[Call[Statuses]], Statuses]) -> None:
        self._call = call
        self.kept = KeptEpisodes()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._sooner = threading.Event()
        self._is_closed = False

    def keep(self, id: str, handle: object, silence_s: float) -> None:
        """Keep the episode open until it is closed or its ``handle`` is gone."""
        if self.kept.add(id, handle, silence_s):
            self._sooner.set()
        with self._starting:
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self._run, name="heartbeats", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop sending heartbeats, whatever is still kept open."""
        self._is_closed = True
        self._sooner.set()

    def _run(self) -> None:
        while not self._is_closed:
            self._sooner.wait(self.kept.beat_s)
            self._sooner.clear()
            for batch in self.kept.batches():
                if self._is_closed:
                    return
                # RuntimeError: the connections were closed meanwhile.
                with suppress(ClientError, RuntimeError):  # the next one is soon
                    self.kept.drop_ended(self._call(heartbeat(batch)))

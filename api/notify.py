"""Wakes those who wait for an episode: nobody polls the database.

Take `Notifier.watch` first, look second, wait third: a change between the look and the wait is then not missed.
"""

from __future__ import annotations

import asyncio
import time
from weakref import WeakValueDictionary

Topic = tuple[str, str]


def log_of(episode: str) -> Topic:
    """Something was appended to the episode's log."""
    return ("log", episode)


def commands_of(episode: str) -> Topic:
    """A command waits for the episode's daemon."""
    return ("commands", episode)


class Deadline:
    """A moment up to which one may wait, in monotonic time."""

    def __init__(self, wait_ms: float) -> None:
        self._at = time.monotonic() + wait_ms / 1000

    def left(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._at - time.monotonic())


class Notifier:
    """Events by topic; those that nobody waits for do not exist."""

    def __init__(self) -> None:
        self._events: WeakValueDictionary[Topic, asyncio.Event] = WeakValueDictionary()
        self.waiting = 0
        self.stopped = False

    def watch(self, topic: Topic) -> asyncio.Event:
        """What is set at the topic's next change."""
        event = self._events.get(topic)
        if event is None:
            event = self._events[topic] = asyncio.Event()
            if self.stopped:
                event.set()
        return event

    def tell(self, topic: Topic) -> None:
        """Wake all who watch the topic."""
        event = self._events.pop(topic, None)
        if event is not None:
            event.set()

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        """Whether ``event`` came within ``seconds``; False at once while the service stops."""
        if seconds <= 0 or self.stopped:
            return False
        self.waiting += 1
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return False
        finally:
            self.waiting -= 1
        return not self.stopped

    def stop(self) -> None:
        """Wake everybody for good: the service is going down, long waits are answered with what is known."""
        self.stopped = True
        for topic in list(self._events):
            self.tell(topic)

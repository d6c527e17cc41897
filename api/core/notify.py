"""Wakes those who wait for an episode: nobody polls the database.

Take `Notifier.watch` first, look second, wait third: a change between the look and the wait is then
not missed. Where a change says what it is, whoever waited need not look: the change after it is
`Change.following`, so that none in between is missed either; after `MAX_FOLLOWING` of them one
looks again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakValueDictionary

Topic = tuple[str, str]
Payload = Mapping[str, Any]
"""What changed, in values that JSON has."""


MAX_FOLLOWING = 256
"""Changes that whoever holds an old one keeps in memory: a stream whose reader is slow holds one
for as long as it sends."""
LOG = "log"


def log_of(episode: str) -> Topic:
    """Something was appended to the episode's log. Payload: ``seqs``, the event of each of
    the commands in it, by the command's number as text."""
    return (LOG, episode)


COMMANDS = "commands"


def commands_of(episode: str) -> Topic:
    """A command waits for the episode's daemon, or something else that it is to know. Payload: the
    command, as the daemon gets it."""
    return (COMMANDS, episode)


CALLED = "called"


def called_of(episode: str) -> Topic:
    """The episode's daemon asked for commands (api/fleet/daemon_calls.py)."""
    return (CALLED, episode)


LEASE = "lease"
"""An episode was given a sandbox, or will get none any more (api/fleet/leases.py)."""

FOLLOWED = "followed"


def followed_topic(whose: str) -> Topic:
    """Somebody follows live what is appended (api/live/live_subscribers.py)."""
    return (FOLLOWED, whose)


GREW = "grew"


def grew_topic(episode: str) -> Topic:
    """Something was appended here to the log of an episode whose task asks the reward model."""
    return (GREW, episode)


ASKED: Topic = ("asked", "")
"""Something was queued that the rules leave to others."""

ANY_LOG: Topic = (LOG, "")
"""Something was appended to some episode's log."""

GONE: Topic = ("gone", "")
"""Episodes were deleted: nothing that is remembered of an episode may be believed."""


class Deadline:
    """A moment up to which one may wait, in monotonic time."""

    def __init__(self, wait_ms: float) -> None:
        self._at = time.monotonic() + wait_ms / 1000

    def remaining_s(self) -> float:
        """Return the seconds left, 0 once it has passed."""
        return max(0.0, self._at - time.monotonic())


class Change(asyncio.Event):
    """The next change of a topic, set as it comes."""

    def __init__(self, number: int = 0) -> None:
        super().__init__()
        self.payload: Payload | None = None  # None: whoever wants to know looks
        self.number = number  # among those that follow one another
        # Once it is set; None where `MAX_FOLLOWING` came before it: whoever watches again looks.
        self.following: Change | None = None


class Notifier:
    """Changes by topic; those that nobody waits for do not exist."""

    def __init__(self) -> None:
        self._changes: WeakValueDictionary[Topic, Change] = WeakValueDictionary()
        self._others: Callable[[Topic, Payload | None], None] | None = None
        self._gone: list[Callable[[], None]] = []
        self._heard: dict[str, Callable[[str], None]] = {}
        self._recheck_s: float | None = None
        self.waiting = 0
        self.stopped = False

    def watch(self, topic: Topic) -> Change:
        """What is set at the topic's next change."""
        change = self._changes.get(topic)
        if change is None:
            change = self._changes[topic] = Change()
            if self.stopped:
                change.set()
        return change

    def on_gone(self, forget: Callable[[], None]) -> None:
        """Call ``forget`` whenever episodes were deleted, or may have been."""
        self._gone.append(forget)

    def subscribe(self, what: str, heard: Callable[[str], None]) -> None:
        """Call ``heard`` with the rest of every topic that begins with ``what``, here or elsewhere
        told."""
        self._heard[what] = heard

    def spread(self, others: Callable[[Topic, Payload | None], None], recheck_s: float) -> None:
        """From now on hand every topic, with its payload, to ``others`` too, and let nobody
        wait longer than ``recheck_s`` unasked."""
        self._others, self._recheck_s = others, recheck_s

    def tell(self, topic: Topic, payload: Payload | None = None) -> None:
        """Wake all who watch the topic, here and elsewhere. What the ``payload``
        says is in the database already."""
        self.wake(topic, payload)
        if self._others is not None:
            self._others(topic, payload)

    def wake(self, topic: Topic, payload: Payload | None = None) -> None:
        """Wake all who watch the topic here."""
        if topic == GONE:
            for forget in self._gone:
                forget()
            # Who waits for an episode may wait for one of these.
            for other in list(self._changes):
                if other[0] in (LOG, LEASE):
                    self._set(other)
        self._set(topic, payload)
        if topic[0] == LOG:
            self._set(ANY_LOG)
        if topic[0] in self._heard:
            self._heard[topic[0]](topic[1])

    def _set(self, topic: Topic, payload: Payload | None = None) -> None:
        """Wake everybody who waits for news of a topic."""
        change = self._changes.pop(topic, None)
        if change is not None:
            change.payload = payload
            if change.number < MAX_FOLLOWING:
                change.following = self._changes[topic] = Change(change.number + 1)
            change.set()

    async def wait(self, change: Change, seconds: float) -> bool:
        """Whether ``change`` came within ``seconds``, or may have; False at once while the service
        stops."""
        if seconds <= 0 or self.stopped:
            return False
        unasked = self._recheck_s is not None and self._recheck_s < seconds
        self.waiting += 1
        try:
            async with asyncio.timeout(self._recheck_s if unasked else seconds):
                await change.wait()
        except TimeoutError:
            return unasked and not self.stopped
        finally:
            self.waiting -= 1
        return not self.stopped

    def wake_kind(self, kind: str) -> None:
        """Wake all who watch a topic of ``kind`` here, such as `COMMANDS`."""
        for topic in list(self._changes):
            if topic[0] == kind:
                self._set(topic)

    def stop(self) -> None:
        """Wake everybody for good: the service is going down, long waits are answered with what is
        known."""
        self.stopped = True
        self.wake_all()

    def wake_all(self) -> None:
        """Let everybody here look again, also at what they remember."""
        self.wake(GONE)
        for topic in list(self._changes):
            self.wake(topic)

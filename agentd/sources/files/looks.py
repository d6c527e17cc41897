"""When and where files are read: not before they rest, on two threads, and a slow one not again at
once."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass

from agentd.sources.files.facts import FileFacts
from agentd.sources.files.fold import Look, RootFold, When
from agentd.sources.files.look import UnsettledError, look
from agentd.sources.files.walk import Root

WAIT_S: Mapping[When, float] = {"now": 0.0, "soon": 0.1, "rested": 0.4, "left": 2.0}
"""How long a file must have been left alone before it is read, in seconds: closed by its writer; made by nobody
who must close it; still open; with a temporary name."""
HURRY_S = 0.05
"""How soon a file is looked at again that changed meanwhile, when all must be told now."""
MAX_LOOKS = 3
"""How often a file is read then; one that goes on changing is told without its content."""
MAX_WAIT_S = 8.0
"""A file that is never the same from beginning to end of a look is looked at again ever later, up to this."""
SHARE = 4
"""A file that takes long to read rests this many times as long before it is read again."""

Key = tuple[str, str]


@dataclass
class _Rest:
    ticket: int
    due: float
    timer: asyncio.TimerHandle


@dataclass
class _Hurried:
    """A file that was read when all must be told now."""

    looks: int = 0
    facts: FileFacts | None = None
    """What was found last, for when it changes before it is told; None: nothing that could be told so."""
    told: bool = False


class Looks:
    """``found`` is told (root, path, ticket, facts) on the loop, ``failed`` of an error that no
    look should meet."""

    def __init__(
        self,
        roots: Mapping[str, Root],
        folds: Mapping[str, RootFold],
        threads: Executor,
        found: Callable[[str, str, int, FileFacts | None], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._roots = roots
        self._folds = folds
        self._threads = threads
        self._found = found
        self._failed = failed
        self._rests: dict[Key, _Rest] = {}
        self._unsettled: dict[Key, float] = {}
        self._cool: dict[Key, float] = {}
        self._active: Counter[Key] = Counter()
        self._ended = False
        self._hurry: dict[Key, _Hurried] | None = None
        self.idle = asyncio.Event()
        self.idle.set()

    def want(self, root: str, wanted: Look) -> None:
        """Read a file when it is time; a later wish for the same file replaces this one."""
        key = (root, wanted.path)
        wait = max(WAIT_S[wanted.when], self._cool.pop(key, 0.0) - self._loop.time())
        if self._hurry is not None:
            self._delay(key, wanted.ticket, MAX_WAIT_S)  # `finish` reads it, not the timer
        elif wait <= 0:
            self._unsettled.pop(key, None)
            if (resting := self._rests.pop(key, None)) is not None:
                resting.timer.cancel()
            self._look(key, wanted.ticket)
        else:
            self._delay(key, wanted.ticket, wait)

    def _delay(self, key: Key, ticket: int, wait: float) -> None:
        """One timer a file, moved on when it fires: a file may be written to thousands of times a
        second."""
        due = self._loop.time() + wait
        resting = self._rests.get(key)
        if resting is None:
            self._rests[key] = _Rest(ticket, due, self._loop.call_at(due, self._rested, key))
        else:
            resting.ticket, resting.due = ticket, due

    def _rested(self, key: Key) -> None:
        resting = self._rests[key]
        if self._loop.time() < resting.due:
            resting.timer = self._loop.call_at(resting.due, self._rested, key)
            return
        del self._rests[key]
        self._look(key, resting.ticket)

    def _look(self, key: Key, ticket: int) -> None:
        self._active[key] += 1
        self.idle.clear()
        future = self._loop.run_in_executor(self._threads, self._read, key, ticket)
        future.add_done_callback(lambda done: self._looked(key, ticket, done))

    def _read(self, key: Key, ticket: int) -> tuple[bool, FileFacts | None, float]:
        if not self._folds[key[0]].wants(key[1], ticket):
            return False, None, 0.0
        began = time.monotonic()
        facts = look(self._roots[key[0]], key[1])
        return True, facts, time.monotonic() - began

    def _looked(
        self, key: Key, ticket: int, done: asyncio.Future[tuple[bool, FileFacts | None, float]]
    ) -> None:
        self._active[key] -= 1
        if not self._active[key]:
            del self._active[key]
        if not self._ended and not done.cancelled():
            error = done.exception()
            if isinstance(error, UnsettledError):
                self._note_hurried(key, error.facts)
                self._unsettle(key, ticket)
            elif error is not None:
                self._failed(error)
            else:
                self._unsettled.pop(key, None)
                self._take(key, ticket, *done.result())
        if not self._active:
            self.idle.set()

    def _unsettle(self, key: Key, ticket: int) -> None:
        if not self._folds[key[0]].wants(key[1], ticket):
            return  # a later wish rests already, or is being read
        wait = self._unsettled[key] = min(
            MAX_WAIT_S, 2 * self._unsettled.get(key, WAIT_S["rested"] / 2)
        )
        self._delay(key, ticket, wait if self._hurry is None else MAX_WAIT_S)

    def _take(
        self, key: Key, ticket: int, wanted: bool, facts: FileFacts | None, took: float
    ) -> None:
        if not wanted:
            return
        self._note_hurried(key, facts)
        was_wanted = self._folds[key[0]].wants(key[1], ticket)
        if took > WAIT_S["soon"]:
            self._cool[key] = self._loop.time() + SHARE * took
            self._loop.call_later(SHARE * took, self._cool.pop, key, None)
        self._found(key[0], key[1], ticket, facts)
        if self._hurry is not None and was_wanted and not self._folds[key[0]].wants(key[1], ticket):
            self._hurry[key].told = True

    def _note_hurried(self, key: Key, facts: FileFacts | None) -> None:
        if self._hurry is None:
            return
        hurried = self._hurry.setdefault(key, _Hurried())
        if facts is None or facts.link is not None or not facts.size:
            hurried.facts = None
        else:
            hurried.looks += 1
            hurried.facts = facts._replace(sha256=None, unread="busy")

    async def wait_settled(self, longest_s: float) -> None:
        """Wait until what rests now is read, at most so long; what goes on being written is not
        waited for."""
        now = self._loop.time()
        await self._wait_until(now + longest_s, now + WAIT_S["rested"] + WAIT_S["soon"])

    async def finish(self, longest_s: float) -> int:
        """Read at once all that rests, at most so long; how many files are not told then. What goes
        on changing is told as it was found last, without its content, unless it rested for one
        look."""
        until = self._loop.time() + longest_s
        self._hurry = {}
        try:
            while True:
                for key in self._wanting():
                    resting = self._rests.pop(key)
                    resting.timer.cancel()
                    self._look(key, resting.ticket)
                await self._wait_until(until, 0.0)
                if not self._wanting() or self._loop.time() >= until:
                    break
                await asyncio.sleep(HURRY_S)
            return self._tell_hurried()
        finally:
            self._hurry = None
            for key, resting in list(self._rests.items()):
                resting.timer.cancel()
                del self._rests[key]
                self._delay(key, resting.ticket, WAIT_S["rested"])

    def _wanting(self) -> list[Key]:
        hurry = self._hurry or {}
        return [key for key in self._rests if key not in hurry or hurry[key].looks < MAX_LOOKS]

    def _tell_hurried(self) -> int:
        """Tell what was read but never rested; how many of those that rest or are being read were
        not told at all."""
        lost = 0
        for key in [*self._rests, *(self._active.keys() - self._rests.keys())]:
            hurried, ticket = (
                (self._hurry or {}).get(key, _Hurried()),
                self._folds[key[0]].pending_ticket(key[1]),
            )
            if ticket is None or hurried.told:
                continue
            if hurried.facts is not None:
                self._found(key[0], key[1], ticket, hurried.facts)
            else:
                lost += 1
        return lost

    async def _wait_until(self, until: float, due: float) -> None:
        """Wait, not longer than ``until``, for what is being read and what will have rested when
        ``due`` comes."""
        while (now := self._loop.time()) < until:
            if self._active:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(until - now):
                        await self.idle.wait()
            elif dues := [one.due for one in self._rests.values() if one.due <= due]:
                await asyncio.sleep(max(min(dues) - now, 0.0))
            else:
                return

    def stop(self) -> None:
        """Read nothing more."""
        self._ended = True
        for resting in self._rests.values():
            resting.timer.cancel()
        self._rests.clear()

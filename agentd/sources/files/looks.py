"""When and where files are read: once they rest, on two threads, a slow one not again soon."""

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
"""How long a file must have been left alone before it is read, in seconds: closed by its writer;
made by nobody who must close it; still open; with a temporary name."""
HURRY_S = 0.05
"""How soon a file is looked at again that changed meanwhile, when all must be reported now."""
MAX_LOOKS = 3
"""How often a file is read then; one that goes on changing is reported without its content."""
MAX_WAIT_S = 8.0
"""A file that changes during each look is looked at again ever later, up to so many seconds."""
SHARE = 4
"""A file that takes long to read rests this many times as long before it is read again."""

Key = tuple[str, str]
Found = tuple[FileFacts | None, float] | None
"""What a look found, and the seconds that it took; None: it was not wanted any more."""


@dataclass
class _Rest:
    ticket: int
    due: float
    timer: asyncio.TimerHandle


@dataclass
class _Hurried:
    """A file that was read when all must be reported now."""

    looks: int = 0
    facts: FileFacts | None = None
    """What was found last, for when it changes before it is reported; None: nothing of use."""
    told: bool = False


class Looks:
    """Reads files for the folds.

    ``found(root, path, ticket, facts)`` is called on the loop with what a look found, ``failed``
    with an error that no look should meet.
    """

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
        self._running: dict[asyncio.Future[Found], Key] = {}
        self._ended = False
        self._hurry: dict[Key, _Hurried] | None = None
        self.idle = asyncio.Event()
        self.idle.set()

    def want(self, root: str, wanted: Look) -> None:
        """Read a file when it is time; a later request for the same file replaces this one."""
        key = (root, wanted.path)
        wait = max(WAIT_S[wanted.when], self._cool.pop(key, 0.0) - self._loop.time())
        if self._hurry is not None:
            self._delay(key, wanted.ticket, MAX_WAIT_S)  # `finish` reads it, not the timer
            return
        if wait > 0:
            self._delay(key, wanted.ticket, wait)
            return
        self._unsettled.pop(key, None)
        resting = self._rests.pop(key, None)
        if resting is not None:
            resting.timer.cancel()
        self._look(key, wanted.ticket)

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
        """Look at a file that rests, or wait on where it was written again."""
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
        self._running[future] = key
        future.add_done_callback(lambda done: self._looked(key, ticket, done))

    def list_running(self) -> list[asyncio.Future[Found]]:
        """Return the looks that are under way, but those at files that are written on and on."""
        return [future for future, key in self._running.items() if key not in self._unsettled]

    def _read(self, key: Key, ticket: int) -> Found:
        """Look at a file, if that is still wanted; with the seconds that it took."""
        root, path = key
        if not self._folds[root].is_wanted(path, ticket):
            return None
        began = time.monotonic()
        facts = look(self._roots[root], path)
        return facts, time.monotonic() - began

    def _looked(self, key: Key, ticket: int, done: asyncio.Future[Found]) -> None:
        """Take a look's result, and say that none runs any more with the last one."""
        del self._running[done]
        self._active[key] -= 1
        if not self._active[key]:
            del self._active[key]
        if not self._ended and not done.cancelled():
            self._handle_result(key, ticket, done)
        if not self._active:
            self.idle.set()

    def _handle_result(self, key: Key, ticket: int, done: asyncio.Future[Found]) -> None:
        """Hand over what a look found; one of a file that changed meanwhile is repeated."""
        error = done.exception()
        if isinstance(error, UnsettledError):
            self._note_hurried(key, error.facts)
            self._unsettle(key, ticket)
            return
        if error is not None:
            self._failed(error)
            return
        self._unsettled.pop(key, None)
        result = done.result()
        if result is not None:
            self._take(key, ticket, *result)

    def _unsettle(self, key: Key, ticket: int) -> None:
        """Look again later at a file that changed while it was read."""
        if not self._is_wanted(key, ticket):
            return  # a later request rests already, or is being read
        wait = min(MAX_WAIT_S, 2 * self._unsettled.get(key, WAIT_S["rested"] / 2))
        self._unsettled[key] = wait
        self._delay(key, ticket, wait if self._hurry is None else MAX_WAIT_S)

    def _is_wanted(self, key: Key, ticket: int) -> bool:
        root, path = key
        return self._folds[root].is_wanted(path, ticket)

    def _take(self, key: Key, ticket: int, facts: FileFacts | None, took: float) -> None:
        """Hand the facts to the fold; a file that took long to read cools down before the next
        look."""
        self._note_hurried(key, facts)
        was_wanted = self._is_wanted(key, ticket)
        if took > WAIT_S["soon"]:
            self._cool[key] = self._loop.time() + SHARE * took
            self._loop.call_later(SHARE * took, self._cool.pop, key, None)
        root, path = key
        self._found(root, path, ticket, facts)
        if self._hurry is not None and was_wanted and not self._is_wanted(key, ticket):
            self._hurry[key].told = True

    def _note_hurried(self, key: Key, facts: FileFacts | None) -> None:
        """Keep what a hurried look found, in case the file never rests."""
        if self._hurry is None:
            return
        hurried = self._hurry.setdefault(key, _Hurried())
        if facts is None or facts.link is not None or not facts.size:
            hurried.facts = None
        else:
            hurried.looks += 1
            hurried.facts = facts._replace(sha256=None, unread="busy")

    async def wait_settled(self, longest_s: float) -> None:
        """Wait until what rests now is read, at most ``longest_s`` seconds.

        What goes on being written is not waited for.
        """
        now = self._loop.time()
        await self._wait_until(now + longest_s, now + WAIT_S["rested"] + WAIT_S["soon"])

    async def finish(self, longest_s: float) -> int:
        """Read at once all that rests, within ``longest_s`` seconds.

        What goes on changing is reported as it was found last, without its content, unless it
        rested for one look. Returns how many files are not reported then.
        """
        until = self._loop.time() + longest_s
        self._hurry = {}
        try:
            while True:
                self._look_at_all()
                await self._wait_until(until, 0.0)
                if not self._keys_to_read() or self._loop.time() >= until:
                    break
                await asyncio.sleep(HURRY_S)
            return self._report_hurried()
        finally:
            self._hurry = None
            for key, resting in list(self._rests.items()):
                resting.timer.cancel()
                del self._rests[key]
                self._delay(key, resting.ticket, WAIT_S["rested"])

    def _look_at_all(self) -> None:
        """Look at once at all files that may still be looked at."""
        for key in self._keys_to_read():
            resting = self._rests.pop(key)
            resting.timer.cancel()
            self._look(key, resting.ticket)

    def _keys_to_read(self) -> list[Key]:
        """Return the resting files that were not looked at too often already."""
        hurry = self._hurry or {}
        return [key for key in self._rests if key not in hurry or hurry[key].looks < MAX_LOOKS]

    def _report_hurried(self) -> int:
        """Report what was read but never rested; returns how many of those that rest or are being
        read were not reported at all."""
        hurry = self._hurry or {}
        unreported = 0
        for key in [*self._rests, *(self._active.keys() - self._rests.keys())]:
            hurried = hurry.get(key, _Hurried())
            root, path = key
            ticket = self._folds[root].pending_ticket(path)
            if ticket is None or hurried.told:
                continue
            if hurried.facts is not None:
                self._found(root, path, ticket, hurried.facts)
            else:
                unreported += 1
        return unreported

    async def _wait_until(self, until: float, due: float) -> None:
        """Wait, not longer than ``until``, for what is being read and what will have rested when
        ``due`` comes."""
        while (now := self._loop.time()) < until:
            if self._active:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(until - now):
                        await self.idle.wait()
                continue
            dues = [resting.due for resting in self._rests.values() if resting.due <= due]
            if not dues:
                return
            await asyncio.sleep(max(min(dues) - now, 0.0))

    def stop(self) -> None:
        """Cancel the reads that are due, and start none any more."""
        self._ended = True
        for resting in self._rests.values():
            resting.timer.cancel()
        self._rests.clear()

"""A thread of its own for a source whose system calls may block; it reports on the daemon's loop.

It is a daemon thread: one that hangs in the kernel, or on an X server that was stopped, holds up
neither the loop nor the end of the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import queue
import select
import socket
import sys
import threading
from collections.abc import Callable, Mapping

from agentd.core.source import Sink, SourceLostError

Question = Callable[[], None]


class SourceThread:
    """Runs ``work(self)`` in a thread until it ends, or `run` is cancelled: then `stopping` is
    true.

    For the thread: `tell`, `ready`, `pause`, `answer`. For the loop: `run`, `ask`.
    """

    def __init__(
        self, name: str, work: Callable[[SourceThread], None], sink: Sink, ready: Callable[[], None]
    ) -> None:
        self._name = name
        self._work = work
        self.sink = sink
        self._ready = ready
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._asked: queue.SimpleQueue[Question] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._bell, self._ear = socket.socketpair()
        for end in (self._bell, self._ear):
            end.setblocking(False)
        self.stopping = False

    @property
    def ended(self) -> bool:
        """Whether the thread's work is over, for whatever reason."""
        return self._ended.done()

    # -- on the loop

    async def run(self) -> None:
        """Run the thread until it ends or this is cancelled; raises what the thread raised."""
        threading.Thread(target=self._run, name=self._name, daemon=True).start()
        try:
            await self._ended
        finally:
            self.stopping = True
            self._ring()

    async def ask(self, question: Question, timeout_s: float) -> bool:
        """Have the thread call ``question``; wait until the sink has all it reported before.

        Returns false where that took longer than ``timeout_s`` seconds.
        """
        answered: asyncio.Future[None] = self._loop.create_future()

        def run_call() -> None:
            question()
            self._call(_settle, answered, None)

        self._asked.put(run_call)
        self._ring()
        done, _ = await asyncio.wait(
            (answered, self._ended), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        return bool(done)

    # -- in the thread

    def tell(self, kind: str, data: Mapping[str, object]) -> None:
        """Report an observation to the sink."""
        self._call(self._pass_on, kind, data)

    def ready(self) -> None:
        """Report that the baseline is complete."""
        self._call(self._ready)

    def pause(self, timeout_s: float, *watched: int) -> bool:
        """Wait for a question, for a file descriptor of ``watched``, or ``timeout_s`` seconds.

        Returns whether a descriptor can be read.
        """
        ear = self._ear.fileno()
        poll = select.poll()  # select knows no descriptor above 1023
        for descriptor in (*watched, ear):
            poll.register(descriptor, select.POLLIN)
        can_read = {
            descriptor for descriptor, _ in poll.poll(math.ceil(max(timeout_s, 0.0) * 1000))
        }
        if ear in can_read:
            self._ear.recv(4096)
        return bool(can_read - {ear})

    def answer(self) -> None:
        """Call the questions that are pending."""
        with contextlib.suppress(queue.Empty):
            while not self.stopping:
                self._asked.get_nowait()()

    def _run(self) -> None:
        """Do the work, then settle how it ended on the loop and close both ends of the bell."""
        failed: BaseException | None = None
        try:
            self._work(self)
        except SourceLostError as lost:
            failed = lost
        finally:
            # Whatever else went wrong is the supervisor's to judge.
            self._call(_settle, self._ended, failed or sys.exception())
            with self._guard:
                self._bell.close()
                self._ear.close()

    # -- both

    def _pass_on(self, kind: str, data: Mapping[str, object]) -> None:
        """Hand an event to the sink, on the loop, unless the source is being stopped."""
        if not self.stopping:
            self.sink(kind, data)

    def _call(self, callback: Callable[..., None], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(callback, *arguments)

    def _ring(self) -> None:
        # Full, so it rings already; or closed, and nobody is there.
        with self._guard, contextlib.suppress(OSError):
            self._bell.send(b".")


def _settle(future: asyncio.Future[None], error: BaseException | None) -> None:
    """Let a future end with an error or without one; one that was given up stays as it is."""
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)

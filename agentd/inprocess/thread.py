"""The daemon in a thread of the harness's process: its own event loop, the same session as the
commands run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TypeVar

from agentd.core.errors import AgentdError, UsageError
from agentd.session.session import Session

T = TypeVar("T")
Opened = Callable[[Session], None]
Work = Callable[[asyncio.Event, Opened], Coroutine[object, None, object]]
"""Runs a session until it is closed or the event is set; hands it out as soon as it has begun."""


class DaemonThread:
    """Runs ``work``. ``ended`` is done when the thread's loop is, with the daemon's error if it had
    one."""

    def __init__(self, work: Work, name: str) -> None:
        self.ended: Future[None] = Future()
        # whoever gives up waiting for it must not cancel it
        self.ended.set_running_or_notify_cancel()
        self._work = work
        self._session: Future[Session] = Future()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._door = threading.Lock()
        self._shut = False
        # A harness that ends without a close leaves the journal on disk; nothing must hold its
        # process.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def session(self) -> Session | None:
        """The session once it has begun, None before."""
        return (
            self._session.result()
            if self._session.done() and not self._session.exception()
            else None
        )

    def ask(self, what: Callable[[Session], Coroutine[object, object, T]]) -> Future[T]:
        """Run ``what`` on the daemon's loop as soon as there is a session; cancelled if the daemon
        ends before."""
        return self._submit(self._ask(what))

    async def _ask(self, what: Callable[[Session], Coroutine[object, object, T]]) -> T:
        return await what(await asyncio.wrap_future(self._session))

    def ask_within(
        self, what: Callable[[Session], Coroutine[object, object, T]], wait_s: float, late: str
    ) -> Future[T]:
        """The same, where there is a session within ``wait_s`` seconds; else a `UsageError` that
        says ``late``."""

        async def soon() -> T:
            """Wait for the session, then do the work. Raises `UsageError` where it comes too
            late."""
            try:
                async with asyncio.timeout(wait_s):
                    session = await asyncio.shield(asyncio.wrap_future(self._session))
            except TimeoutError:
                raise UsageError(late) from None
            return await what(session)

        return self._submit(soon())

    def _submit(self, work: Coroutine[object, object, T]) -> Future[T]:
        """Let the thread's loop do ``work``; once the thread is done, the future is cancelled at
        once."""
        with self._door:
            if self._shut:
                work.close()
                gone: Future[T] = Future()
                gone.cancel()
                return gone
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """End the work without closing the episode."""
        with self._door:
            if not self._shut:
                self._loop.call_soon_threadsafe(self._stop.set)

    @property
    def is_over(self) -> bool:
        """Whether the session is over, so that nothing more is answered."""
        return self._shut

    def end_reason(self) -> AgentdError:
        """Why nothing is answered any more; raises what ended the daemon if that was an error."""
        self.ended.result()
        return AgentdError("the watch has ended: nothing more is journalled")

    def _run(self) -> None:
        """Run the loop until the work ends, let nothing more in, and settle how it ended."""
        asyncio.set_event_loop(self._loop)
        main = self._loop.create_task(self._main())
        self._loop.run_until_complete(asyncio.wait({main}))
        with self._door:
            self._shut = True
        self._close()
        if (error := main.exception()) is not None:
            self.ended.set_exception(error)
        else:
            self.ended.set_result(None)

    async def _main(self) -> None:
        await self._work(self._stop, self._session.set_result)

    def _close(self) -> None:
        """End the waits of all callers with the daemon's error."""
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._session.cancel()
        self._loop.close()

"""Tasks that run beside a service's requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from api.core.errors import ProblemError, UnavailableError
from common.backoff import retry_pause_s

log = structlog.get_logger(__name__)

AFTER_START_S = 1.0
"""When work that nobody waits for begins: a service that was started again first answers those who
come back to it."""


async def end(task: asyncio.Task[None] | None) -> None:
    """Cancel the task and return once it ended; its own failure is not raised here."""
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class PeriodicTask:
    """Runs ``work`` again and again in a task called ``name``, from `start` to `stop`.

    ``work`` returns after how many seconds it is to run again, None: never. Where it raises one of
    ``expected``, a warning ``postponed`` is logged; any other exception is a fault of ours, logged
    as ``failed``. Either way it runs again, for without the task its work would never be done:
    after ``retry_s`` seconds, which double from failure to failure where ``max_retry_s`` is given.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], Awaitable[float | None]],
        *,
        retry_s: float,
        postponed: str,
        failed: str,
        max_retry_s: float | None = None,
        expected: tuple[type[Exception], ...] = (UnavailableError,),
    ) -> None:
        self._name, self._work = name, work
        self.retry_s = retry_s
        self._max_retry_s = max_retry_s
        self._postponed, self._failed = postponed, failed
        self._expected = expected
        self.task: asyncio.Task[None] | None = None

    def start(self, delay_s: float = 0.0) -> None:
        """Run ``work`` for the first time after ``delay_s`` seconds."""
        self.task = asyncio.create_task(self._run(delay_s), name=self._name)

    async def stop(self) -> None:
        """Cancel the task and return once it ended."""
        await end(self.task)
        self.task = None

    async def _run(self, pause_s: float | None) -> None:
        """Work again and again, after the pause that the work asks for, and after longer ones while
        it fails; None ends it."""
        failures = 0
        while pause_s is not None:
            await asyncio.sleep(pause_s)
            try:
                pause_s = await self._work()
                failures = 0
            except self._expected as error:
                pause_s = self._retry_after_s(failures)
                failures += 1
                why = error.detail if isinstance(error, ProblemError) else str(error)
                log.warning(self._postponed, why=why, again_in_s=pause_s)
            except Exception:
                pause_s = self._retry_after_s(failures)
                failures += 1
                log.exception(self._failed, again_in_s=pause_s)

    def _retry_after_s(self, failures: int) -> float:
        """How long to wait where the turns before failed, so many in a row."""
        if self._max_retry_s is None:
            return self.retry_s
        return retry_pause_s(failures, self.retry_s, self._max_retry_s)

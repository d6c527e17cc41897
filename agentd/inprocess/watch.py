"""What the harness holds: the steps, the answer, the close. Each call returns when the journal has
it on disk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator
from concurrent import futures
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from agentd.core.errors import AgentdError, UsageError
from agentd.inprocess.thread import DaemonThread
from agentd.session.session import Session
from agentd.session.step_controller import Said

if TYPE_CHECKING:
    from agentd.inprocess.playwright_sync import SyncPlaywright

T = TypeVar("T")
TURN_S = 0.002
"""How long a harness without asyncio waits before it gives its library another turn, in seconds."""


class Handle:
    """What both kinds of watch share. ``control`` is the state folder, as
    `milestoned_client.ControlDir` wants it."""

    def __init__(self, daemon: DaemonThread, control: Path, leave: Callable[[], None]) -> None:
        self.control = control
        self._daemon = daemon
        self._leave = leave
        self._left = False

    @property
    def gaps(self) -> frozenset[str]:
        """The sources that see nothing now; every one of them before the watch began and after it
        ended."""
        session = self._daemon.session
        return frozenset(session.supervisor.gaps) if session is not None else frozenset({"cdp"})

    def _ready_within(self, patience_s: float) -> Future[None]:
        ends = time.monotonic() + patience_s
        late = (
            f"attach: the service gave no plan of the episode within {patience_s:g} s; can it be"
            " reached?"
        )
        return self._daemon.ask_within(
            lambda session: ready(session, ends - time.monotonic(), patience_s), patience_s, late
        )

    async def _begin(self, session: Session, step: int | None, action: object) -> int:
        said: Said = await session.conductor.begin(step, action)
        assert said.step is not None
        return said.step

    async def _end(self, session: Session, step: int | None) -> int | None:
        said = await session.conductor.end(step)
        assert said.step is not None
        return await session.conductor.wait_sealed(said.step)

    async def _answer(self, session: Session, text: str) -> None:
        await session.conductor.say("agent.answered", {"text": text})

    async def _close(self, session: Session, reason: str) -> None:
        await session.conductor.close(reason)

    def _leave_once(self) -> None:
        """Let another watch have the browser; a second call does nothing."""
        if not self._left:
            self._left = True
            self._leave()


class Watch(Handle):
    """A watch over Playwright without asyncio. Every method belongs to the thread that attached.

    Playwright hands over what happened only while the harness is in one of its calls. The methods
    here give it its turns while they wait, so what was done before a call is in the journal before
    what the call says.
    """

    def __init__(
        self,
        daemon: DaemonThread,
        control: Path,
        leave: Callable[[], None],
        harness: SyncPlaywright,
    ) -> None:
        super().__init__(daemon, control, leave)
        self._harness = harness

    def begin_step(self, action: object = None, *, step: int | None = None) -> int:
        """Begin the next step (or say ``step`` again) and give its number. Raises `StepError`,
        `NotKeptError`."""
        return self._wait(self._daemon.ask(lambda session: self._begin(session, step, action)))

    def end_step(self, step: int | None = None) -> int | None:
        """End the step and wait for its seal, whose event's number this is; raises as
        `begin_step`."""
        return self._wait(self._daemon.ask(lambda session: self._end(session, step)))

    def answer(self, text: str) -> None:
        """Journal the agent's answer; raises as `begin_step`."""
        self._wait(self._daemon.ask(lambda session: self._answer(session, text)))

    def pump(self) -> None:
        """Hand over what has happened so far; for a harness that lets somebody else ask for the
        seal."""
        self._harness.pump()

    def close(self, reason: str = "closed by the harness") -> None:
        """Close the episode, ship the rest or write the recording, and end the watch. Once is
        enough."""
        if not self._daemon.is_over:
            self._wait(self._daemon.ask(lambda session: self._close(session, reason)))
        self._end_it()

    def _end_it(self) -> None:
        """Wait until the daemon has ended, then take the watch off the browser, once."""
        try:
            self._wait(self._daemon.ended)
        finally:
            if self._daemon.ended.done() and not self._left:
                self._harness.pump()  # the source's session detaches here
                self._harness.leave()
                self._leave_once()

    def wait_ready(self, patience_s: float) -> None:
        """Wait until every source sees; raises what `ready` says."""
        self._wait(self._ready_within(patience_s))

    def abandon(self) -> None:
        """End the watch and leave the episode open: its journal stays, for the next one to go on
        with."""
        self._daemon.stop()
        self._end_it()

    def _wait(self, asked: Future[T]) -> T:
        """Wait for the thread's answer, and let the harness's library turn meanwhile. Raises what
        ended the daemon."""
        while not asked.done():
            turned = self._harness.pump()
            futures.wait({asked}, TURN_S if turned else TURN_S * 10)
        if asked.cancelled():
            raise self._daemon.end_reason()
        return asked.result()

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close(reason_of(error))


class AsyncWatch(Handle):
    """A watch over a library on asyncio. Every method belongs to the loop that attached."""

    async def begin_step(self, action: object = None, *, step: int | None = None) -> int:
        """Begin the next step (or say ``step`` again) and give its number. Raises `StepError`,
        `NotKeptError`."""
        return await self._wait(
            self._daemon.ask(lambda session: self._begin(session, step, action))
        )

    async def end_step(self, step: int | None = None) -> int | None:
        """End the step and wait for its seal, whose event's number this is; raises as
        `begin_step`."""
        return await self._wait(self._daemon.ask(lambda session: self._end(session, step)))

    async def answer(self, text: str) -> None:
        """Journal the agent's answer; raises as `begin_step`."""
        await self._wait(self._daemon.ask(lambda session: self._answer(session, text)))

    async def close(self, reason: str = "closed by the harness") -> None:
        """Close the episode, ship the rest or write the recording, and end the watch. Once is
        enough."""
        if not self._daemon.is_over:
            asked = self._daemon.ask(lambda session: self._close(session, reason))
            try:
                await self._wait(asked)
            except AgentdError:
                if not asked.cancelled():
                    # Else a close before, whose caller gave up, has come to its end.
                    raise
        await self._end_it()

    async def _end_it(self) -> None:
        try:
            await self._wait(self._daemon.ended)
        finally:
            # A caller who gives up waiting ends nothing: until the daemon has, the browser is
            # watched.
            self._daemon.ended.add_done_callback(lambda _: self._leave_once())

    async def wait_ready(self, patience_s: float) -> None:
        """Wait until every source sees; raises what `ready` says."""
        await self._wait(self._ready_within(patience_s))

    async def abandon(self) -> None:
        """End the watch and leave the episode open: its journal stays, for the next one to go on
        with."""
        self._daemon.stop()
        await self._end_it()

    async def _wait(self, asked: Future[T]) -> T:
        """Await the thread's answer; who gives up waiting cancels nothing there. Raises what ended
        the daemon."""
        waiting = asyncio.wrap_future(asked)
        waiting.add_done_callback(_forgive)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            if asked.cancelled():
                raise self._daemon.end_reason() from None
            raise


class Attaching:
    """What `attach` gives for a library on asyncio: ``await`` it for the watch, or enter it with
    ``async with``."""

    def __init__(self, making: Callable[[], Coroutine[object, None, AsyncWatch]]) -> None:
        self._making = making
        self._watch: AsyncWatch | None = None

    def __await__(self) -> Generator[object, None, AsyncWatch]:
        return self._making().__await__()

    async def __aenter__(self) -> AsyncWatch:
        self._watch = await self._making()
        return self._watch

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        assert self._watch is not None
        await self._watch.close(reason_of(error))


async def ready(session: Session, left_s: float, patience_s: float) -> None:
    """Wait ``left_s`` of ``patience_s`` seconds until every source sees. Raises `UsageError` that
    names those that do not, each with its reason."""
    try:
        async with asyncio.timeout(left_s):
            await session.supervisor.all_ready()
    except TimeoutError:
        blind = "; ".join(f"{name}: {why}" for name, why in sorted(session.supervisor.gaps.items()))
        raise UsageError(
            f"attach: expected every source to observe within {patience_s:g} s, got {blind}"
        ) from None


def _forgive(waiting: asyncio.Future[Any]) -> None:
    """Look at a failure that nobody waits for any more, so that asyncio does not warn of it."""
    # A failure whose caller gave up waiting is no news.
    if not waiting.cancelled():
        waiting.exception()


def reason_of(error: BaseException | None) -> str:
    """Why an episode is closed at the end of a ``with``."""
    return (
        "closed by the harness" if error is None else f"the harness raised {type(error).__name__}"
    )

"""What the harness reports, in order: one thing at a time, sources fenced first, on disk before the
answer.

Both the loopback port and the service's channel call this.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, NamedTuple, Protocol

import structlog

from agentd.core.wire_limits import line_of
from agentd.journal.recorder import RETRY_S, Recorder
from agentd.session.settling import StepSealer, Why
from agentd.session.step_state import StepError, Steps

log = structlog.get_logger(__name__)


class NotKeptError(Exception):
    """The journal could not take the event: the disk is full or the cap is reached."""


class Said(NamedTuple):
    """An answer: the step that it belongs to (None before step 0) and the event's number."""

    step: int | None
    seq: int


class Sources(Protocol):
    """What the conductor asks of the supervisor: see there."""

    @property
    def observing(self) -> bool: ...

    async def fence(self) -> None: ...

    async def fence_late(self) -> None: ...

    async def see_again(self) -> None: ...

    async def before_first_step(self) -> None: ...

    async def before_seal(self, step: int | None, *, closing: bool = False) -> None: ...

    def after_seal(self, step: int) -> None: ...

    def lose_step_work(self) -> None: ...


class Conductor:
    """Begins, ends, seals and closes; ``closed`` is set with ``episode.closed``.

    An event that no segment could hold raises `agentd.core.wire_limits.UnfitError`.
    """

    def __init__(
        self, recorder: Recorder, steps: Steps, sealer: StepSealer, sources: Sources
    ) -> None:
        self.recorder = recorder
        self.steps = steps
        self.closed = asyncio.Event()
        self._sealer = sealer
        self._sources = sources
        self._ready_for: int | None = None
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()
        self._is_closing = False
        self._at_close: list[Callable[[], None]] = []
        recorder.listen(sealer.on_event)

    def listen_closing(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` when the episode begins to be closed: then nothing begins at once."""
        self._at_close.append(listener)

    async def resume(self) -> None:
        """After a restart: wait again for the quiet of a step that ended and was not sealed."""
        self._go_on()

    @contextlib.asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        self.recorder.look()
        async with self._turn:
            try:
                yield
            finally:
                self._go_on()

    def _go_on(self) -> None:
        """Close or settle as the steps are now, also where the disk did not take them yet: what is
        numbered has happened."""
        if self.steps.closed:
            self.closed.set()
        elif self.steps.ended and not self.steps.sealed and not self._sealer.waiting:
            seal = functools.partial(self._seal, self.steps.current)
            self._sealer.start(self._sources.fence, self._last, seal)

    async def begin(
        self,
        step: int | None = None,
        action: object = None,
        command: int | None = None,
        call: dict[str, Any] | None = None,
    ) -> Said:
        """Begin ``step`` (None: the next one), with the tool call that it begins with, if there is
        one. Raises `StepError` or `NotKeptError`."""
        async with self._in_turn():
            if call is not None:
                line_of(0, "steps", "agent.tool_called", 0, call)  # else there is no step either
            seq = await self._begin(step, action, command)
            if call is not None:
                self._append_once("agent.tool_called", call, None)
            return self._wait_durable(seq)

    @property
    def is_clear(self) -> bool:
        """Whether nothing is left to do before a step that follows one may begin."""
        is_open = not (self._is_closing or self.steps.closed)
        is_over = self.steps.sealed or (self.steps.ended and not self.is_observing)
        return self.steps.current is not None and is_over and is_open

    @property
    def is_observing(self) -> bool:
        """Whether a source sees: else a step is over in every respect with its end, and its quiet
        with the beginning of the next."""
        return self._sources.observing

    @property
    def has_turn(self) -> bool:
        """Whether nothing is under way for which another would have to wait."""
        return not self._turn.locked()

    def begin_at_once(self, action: object, call: dict[str, Any]) -> Said:
        """Begin the next step with a tool call that runs already, so that nothing can be waited for
        any more. Raises as `begin`, also while the episode is being closed.

        Meant for where the step before is sealed, or no source sees. What the sources had left to
        do for one that is not sealed is lost, and on record as that: nobody can tell any more which
        step it would be of.
        """
        self.steps.must_be_open()
        if self._is_closing:
            raise StepError(self.steps.current, "an open episode: this one is being closed")
        line_of(0, "steps", "agent.tool_called", 0, call)  # else there is no step either
        self._sealer.stop()
        try:
            with self.recorder.looking_later():
                return self._begin_now(action, call)
        finally:
            if self.has_turn:  # else whose turn it is goes on
                self._go_on()

    def _begin_now(self, action: object, call: dict[str, Any]) -> Said:
        """Seal the step that runs, without a wait, and begin the next one with its first call."""
        if self.steps.current is not None and not self.steps.sealed:
            self._sources.lose_step_work()
            if self.steps.ended:
                self._append("step.sealed", {"step": self.steps.current, "reason": "next"}, None)
        seq = self._append("step.began", {"step": self.steps.next, "action": action}, None)
        self._append_once("agent.tool_called", call, None)
        return self._wait_durable(seq)

    async def advance(
        self, step: int | None = None, action: object = None, command: int | None = None
    ) -> Said:
        """Begin ``step`` (None: the next one) once the step before it has ended and is sealed.

        The end is journalled here where it was not, and its effects are waited for, so that the
        step before is sealed as if its end had been reported alone. Raises as `begin`.
        """
        current = self.steps.current
        if current is not None and self.steps.begins(step):
            await self.end(current)
            await self.wait_sealed(current)
        return await self.begin(step, action, command)

    async def _begin(self, step: int | None, action: object, command: int | None) -> int:
        """Return the number of the step's event, which may not be on disk yet."""
        if not self.steps.begins(step):
            return self.steps.seq_of("step.began") or 0  # see `_again`
        await self._sources.see_again()
        is_finished = False
        while not is_finished:
            before = self.steps.current
            await self._finish("next")
            if self.steps.current is None:
                await self._sources.before_first_step()
            if not self.steps.begins(step):
                return self.steps.seq_of("step.began") or 0  # by `begin_at_once` meanwhile
            is_finished = self.steps.current == before  # else that one is to be finished, too
        data: dict[str, object] = {"step": self.steps.next}
        if action is not None:
            data["action"] = action
        return self._append("step.began", data, command)

    async def end(self, step: int | None = None, command: int | None = None) -> Said:
        """End ``step`` (None: the current one); its seal follows by itself. Raises as `begin`."""
        async with self._in_turn():
            if step is None:
                step = self.steps.current
            if not self.steps.ends(step):
                return self._again("step.ended")
            return self._say("step.ended", {"step": step}, command)

    async def say(self, kind: str, data: dict[str, Any], command: int | None = None) -> Said:
        """Journal an answer or a tool event; the same call id again gives the first event's
        number."""
        self.recorder.look()
        async with self._turn:
            self.steps.must_be_open()
            return self._wait_durable(self._append_once(kind, data, command))

    def _append_once(self, kind: str, data: dict[str, Any], command: int | None) -> int:
        """Return the number of an answer or a tool event, of its first time where there was one."""
        before = self.steps.call_seq(kind, data["call"]) if "call" in data else None
        return self._append(kind, data, command) if before is None else before

    async def finish(self, step: int, returned: dict[str, object]) -> Said:
        """Journal what a tool call came back with, then the end of its step. Raises as `begin`."""
        async with self._in_turn():
            return self._finish_call(step, returned)

    def finish_at_once(self, step: int, returned: dict[str, object]) -> Said:
        """Do as `finish`, where nothing is under way (`has_turn`)."""
        try:
            return self._finish_call(step, returned)
        finally:
            self._go_on()

    def _finish_call(self, step: int, returned: dict[str, object]) -> Said:
        """Record a call's return, and end the step; a return that was sent twice is recorded
        once."""
        self._append_once("agent.tool_returned", returned, None)
        if not self.steps.ends(step):
            return self._again("step.ended")
        return self._say("step.ended", {"step": step}, None)

    async def miss(self, kinds: Iterable[str], reason: str) -> Said:
        """Journal that events of these kinds were not reported until now: a gap that is over, which
        leaves the step unknown where its task depends on them. Raises as `begin`."""
        async with self._in_turn():
            self.steps.must_be_open()
            seq = 0
            for kind in kinds:
                part = {"source": "steps", "part": kind}
                self._append("gap.began", {**part, "reason": reason}, None, "journal")
                seq = self._append("gap.ended", dict(part), None, "journal")
            return self._wait_durable(seq)

    async def close(self, reason: str, *, truncated: bool = False) -> Said:
        """Close the episode: end the open step, fence, and journal ``episode.closed`` as the last
        event."""
        async with self._in_turn():
            if self.steps.closed:
                return self._again("episode.closed")
            self._is_closing = True
            for listener in self._at_close:
                listener()
            try:
                return await self._close(reason, truncated=truncated)
            finally:
                self._is_closing = False

    async def _close(self, reason: str, *, truncated: bool) -> Said:
        """End and settle the step that runs, then close the episode; ``truncated``: it was cut
        off."""
        if self.steps.current is not None and not self.steps.ended:
            self._say("step.ended", {"step": self.steps.current}, None)
        await self._finish(None)
        await self._sources.before_seal(self.steps.current, closing=True)
        data: dict[str, object] = {"reason": reason}
        if truncated:
            data["truncated"] = True
        return self._say("episode.closed", data, None, source="journal")

    async def wait_sealed(self, step: int) -> int | None:
        """Wait until ``step`` is sealed; returns the number of its ``step.sealed``, None if the
        episode went on without one."""
        while self.steps.current == step and not self.steps.sealed and not self.steps.closed:
            await self._changed.wait()
        return self.steps.seq_of("step.sealed") if self.steps.current == step else None

    async def _finish(self, why: str | None) -> None:
        """Fence what came before a boundary.

        Where ``why`` is given, the open step ends here: its sources do their last work, and it is
        sealed if it was still settling.
        """
        self._sealer.stop()
        await self._sources.fence()
        step = self.steps.current
        if why is None or step is None or self.steps.sealed:
            return
        await self._last()
        if self.steps.current == step and self.steps.ended:
            self._say("step.sealed", {"step": step, "reason": why}, None)

    async def _last(self) -> None:
        """Have the sources do their work before a seal, once a step, however often that begins;
        those that overstayed a fence since are fenced again each time."""
        step = self.steps.current
        if self._ready_for == step:
            await self._sources.fence_late()
            return
        await self._sources.before_seal(step)
        self._ready_for = step

    async def _seal(self, step: int | None, why: Why) -> None:
        """Journal the seal of ``step``, unless another has begun; where the journal takes none, try
        until it does: somebody waits for the reward."""
        is_logged = False
        while self.steps.current == step and not self.steps.sealed:
            try:
                self._say("step.sealed", {"step": step, "reason": why}, None)
            except NotKeptError as error:
                if not is_logged:
                    log.error(
                        "The step cannot be sealed in the journal yet.",
                        step=step,
                        why=str(error),
                    )
                    is_logged = True
                if not self.steps.sealed:
                    await asyncio.sleep(RETRY_S)

    def _again(self, kind: str) -> Said:
        """Return the number under which an event was recorded that was asked for a second time."""
        # After `Steps.adopt` the number of the first time is not known: 0 says so.
        return self._wait_durable(self.steps.seq_of(kind) or 0)

    def _wait_durable(self, seq: int) -> Said:
        """Return the answer about event ``seq``, once it is on disk. Raises `NotKeptError`."""
        if self.recorder.journal.pending and not self.recorder.flush():
            raise NotKeptError(self.recorder.journal.full or "the disk is full")
        return Said(self.steps.current, seq)

    def _say(
        self, kind: str, data: dict[str, object], command: int | None, source: str = "steps"
    ) -> Said:
        # Numbered and in memory: said again, it is answered by its number once the disk takes it.
        return self._wait_durable(self._append(kind, data, command, source))

    def _append(
        self, kind: str, data: dict[str, Any], command: int | None, source: str = "steps"
    ) -> int:
        """Number an event, not on disk yet. Raises `NotKeptError` or `UnfitError`."""
        if command is not None:
            data["command"] = command
        line_of(0, source, kind, 0, data)  # refused with the reason, rather than counted as lost
        seq = self.recorder.append(source, kind, data)
        if seq is None:
            raise NotKeptError(self.recorder.journal.full or "the journal reached its cap")
        self.steps.note(seq, kind, data)
        if kind == "step.sealed":
            self._sources.after_seal(data["step"])
        self._changed.set()
        self._changed = asyncio.Event()
        return seq

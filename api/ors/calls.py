"""Tool calls: each becomes the beginning or the end of a step, and is answered with a reward.

A call is a row before anything is done, and what it does can be done again: a service that stops in
the midst of a call leaves it to the next one, or to another replica, that its client comes back to.
Calls of a session run one after the other.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import orjson
from pydantic import ValidationError

from api.commands.command_queue import CommandQueue
from api.commands.store import Commands
from api.core.errors import EpisodeClosedError, ProblemError, UnavailableError
from api.core.notify import Deadline, Notifier
from api.ors.payments import Payments, payment_of
from api.ors.sessions import CallOutcome, StoredCall, ToolSession, ToolSessions, finish_session
from api.ors.tools import (
    ANSWER,
    END_STEP,
    LISTED,
    STEP,
    TOOLS,
    AnswerInput,
    Payment,
    StepInput,
    ToolInput,
    describe_problems,
    encode_output,
    encode_refusal,
    no_payment,
)
from api.scoring.reference import Reference
from api.scoring.turns import Turns

STOPPING = "the service is going down"


class ToolCalls:
    """The tool calls of one service's sessions."""

    def __init__(
        self,
        sessions: ToolSessions,
        commands: Commands,
        channel: CommandQueue,
        turns: Turns,
        payments: Payments,
        notifier: Notifier,
    ) -> None:
        self._sessions, self._commands, self._channel = sessions, commands, channel
        self._turns, self._payments, self._notifier = turns, payments, notifier
        self._running: dict[str, tuple[tuple[str, str], asyncio.Task[StoredCall]]] = {}
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def start(self, session: ToolSession, name: str, input: Mapping[str, Any]) -> str:
        """Write a call down, begin it, and return its id. Raises `NotFoundError`."""
        id = uuid.uuid4().hex
        await self._sessions.add_call(session, id, name, orjson.dumps(input))
        self._begin(session, id)
        return id

    async def result(self, session: ToolSession, id: str) -> asyncio.Task[StoredCall] | None:
        """Return the task of a call, which is begun again where it was left; None: no such call."""
        if id not in self._running:
            if await self._sessions.find_call(session, id) is None:
                return None
            self._begin(session, id)
        key, task = self._running[id]
        return task if key == session.key else None

    async def cancel(self, key: tuple[str, str] | None = None) -> None:
        """Stop the calls of the session ``key``, of all by default; their rows stay."""
        tasks = [task for whose, task in self._running.values() if key in (None, whose)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, session: ToolSession, id: str) -> None:
        task = asyncio.create_task(self._finish(session.key, id), name=f"ors call {id}")
        self._running[id] = (session.key, task)
        task.add_done_callback(lambda ended: self._forget(id, ended))

    def _forget(self, id: str, task: asyncio.Task[StoredCall]) -> None:
        self._running.pop(id, None)
        if not task.cancelled():
            task.exception()  # nobody may be waiting for it: what was not done is done again

    async def _finish(self, key: tuple[str, str], id: str) -> StoredCall:
        """Run the session's calls in order up to this one, and return it with its result."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            while True:
                session = await self._sessions.get(*key)
                call = await self._sessions.find_call(session, id)
                if call is None or call.result is not None:
                    break
                pending = await self._sessions.next_pending(*key)
                if pending is not None:
                    await self._run(session, pending)
        if call is None:
            raise UnavailableError(f"task_id: call {id} was deleted")
        return call

    async def _run(self, session: ToolSession, call: StoredCall) -> None:
        """Perform a call and keep its outcome; a refusal is one, too. Raises `UnavailableError`
        where nothing is known of it."""
        try:
            outcome = await self._perform(session, call)
        except UnavailableError:
            raise
        except ProblemError as problem:
            outcome = CallOutcome(problem.detail.encode(), session, failed=True)
        if self._notifier.stopped:  # its waits were cut short: it is not known what came of it
            raise UnavailableError(STOPPING)
        await self._sessions.end_call(call, outcome)

    async def _perform(self, session: ToolSession, call: StoredCall) -> CallOutcome:
        """Check a call's tool and arguments, and do what it asks; what is wrong is an answer."""
        tool = TOOLS.get(call.name)
        if tool is None or (session.episode is None and tool in LISTED):
            known = [ANSWER] if session.episode is None else list(TOOLS.values())
            choices = ", ".join(repr(one.name) for one in known)
            error = f"{call.name!r} is not a valid tool: expected one of {choices}"
            return CallOutcome(encode_refusal("not_found", error), session)
        if session.finished:
            return _refuse_finished(session, call.name)
        try:
            arguments = tool.takes.model_validate(orjson.loads(call.input))
        except ValidationError as error:
            refusal = encode_refusal("input_validation", describe_problems(error))
            return CallOutcome(refusal, session)
        if session.episode is None:
            return await self._answer_alone(session, arguments)
        if tool is STEP:
            return await self._step(session, session.episode, call, arguments)
        if tool is END_STEP:
            return await self._end_step(session, session.episode)
        return await self._answer(session, session.episode, call, arguments)

    async def _step(
        self, session: ToolSession, episode: str, call: StoredCall, arguments: ToolInput
    ) -> CallOutcome:
        """End the step that runs, if one does, and begin the next."""
        assert isinstance(arguments, StepInput)
        payment = await self._end(session, episode)
        try:
            queued = await self._commands.begin(episode, None, arguments.action, call.id)
        except EpisodeClosedError:
            if payment is None:
                return _refuse_finished(session, call.name)
            return _paid(finish_session(session), "The episode is over.", payment)
        deadline = Deadline(session.wait_ms)
        is_begun = "seq" in await self._channel.journalled(episode, queued, deadline)
        after = replace(session, step=queued.step)
        if is_begun:
            text = f"Step {queued.step} began."
        else:
            text = f"Step {queued.step} is queued: no daemon of {episode} has taken it yet."
        return _paid(after, text, payment or no_payment(text))

    async def _end_step(self, session: ToolSession, episode: str) -> CallOutcome:
        """End the running step, and say what it paid; the last one pays the episode, too."""
        payment = await self._end(session, episode)
        if payment is None:
            error = f"{END_STEP.name}: expected a step that runs, got none; call {STEP.name} first"
            return CallOutcome(encode_refusal("input_validation", error), session)
        is_done = any(reward["done"] for reward in payment.rewards)
        after = replace(session, step=None, finished=is_done)
        if is_done:
            payment = await self._payments.of_end(session, episode, payment)
        return _paid(after, f"Step {session.step} ended.", payment)

    async def _end(self, session: ToolSession, episode: str) -> Payment | None:
        """End the step that runs and return its reward, None where none runs."""
        if session.step is None:
            return None
        with suppress(EpisodeClosedError):  # then the close completed the step
            await self._commands.end(episode, session.step, None)
        return await self._payments.of_step(session, episode, session.step)

    async def _answer(
        self, session: ToolSession, episode: str, call: StoredCall, arguments: ToolInput
    ) -> CallOutcome:
        """Report the answer in the step that runs, or in one of its own, and close the episode."""
        assert isinstance(arguments, AnswerInput)
        intent = call.id if session.step is None else None
        try:
            queued = await self._commands.begin(episode, session.step, None, intent)
        except EpisodeClosedError:
            return _refuse_finished(session, call.name)
        deadline = Deadline(session.wait_ms)
        journalled = await self._channel.journalled(episode, queued, deadline)
        step: int = queued.step if queued.step is not None else journalled["step"]
        after = replace(session, step=step)
        if "seq" not in journalled:
            text = f"Step {step} is queued: no daemon of {episode} has taken it yet."
            return _paid(after, text, Payment(None, "settling", text, ()))
        turn = await self._turns.end(
            session.tenant, Reference(episode, step), step, arguments.text, True, deadline
        )
        payment = await self._payments.of_last_steps(session, episode, step, turn.score)
        return _paid(finish_session(session), "The answer was taken; the episode is over.", payment)

    async def _answer_alone(self, session: ToolSession, arguments: ToolInput) -> CallOutcome:
        """Score the answer by its task: nothing was observed."""
        assert isinstance(arguments, AnswerInput)
        where = Reference(task=session.task, version=session.version)
        turn = await self._turns.end(
            session.tenant, where, 0, arguments.text, True, Deadline(session.wait_ms)
        )
        payment = payment_of(turn.score, ())._replace(rewards=[turn.score.document()])
        return _paid(finish_session(session), "The answer was taken; the episode is over.", payment)


def _paid(after: ToolSession, text: str, payment: Payment) -> CallOutcome:
    metadata = payment.metadata(after.episode, after.step)
    result = encode_output(text, payment.reward, metadata, is_finished=after.finished)
    return CallOutcome(result, after)


def _refuse_finished(session: ToolSession, name: str) -> CallOutcome:
    error = f"{name!r} was not run: the episode has finished, so no further tool call is accepted"
    return CallOutcome(encode_refusal("episode_finished", error), finish_session(session))

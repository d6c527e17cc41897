"""Tool calls as steps: one after the other, in the order in which they pass, and in a call's way
only where the daemon is not done with the step before, for no longer than a bound."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import structlog

from agentd.masking.masker import Masker
from agentd.mcp.control import BegunStep, ReportError, SentBegin, StepPort, read_answer
from agentd.mcp.event_values import event_text, event_value
from agentd.mcp.messages import ToolRequest, ToolReturn

CALLED, RETURNED = "agent.tool_called", "agent.tool_returned"
MAX_RUNNING = 1_000
"""Calls that run at a time; one more is no step."""
MAX_REPORTS = 4_000
"""Reports that wait for the daemon; while there are more, calls are no steps."""
MAX_TOOL = 200
"""Characters of a tool's name that are kept."""
BEGIN_WAIT_S = 2.0
"""How long a call waits for its step where it has to, in seconds."""
DRAIN_S = 5.0
"""How long the last reports may take as the gateway ends, in seconds."""
log = structlog.get_logger(__name__)


@dataclass(eq=False, slots=True)
class RunningCall:
    """A call that has not come back. ``call``: its id in the log, where a session's begin anew."""

    call: str
    tool: str
    arguments: object
    has_step: bool = False


@dataclass(eq=False, slots=True)
class _Beginning:
    """Calls that pass together. ``sent``: the answer to come of the daemon, where it could be asked
    at once; ``is_late``: they have passed, so that no step begins for them."""

    calls: Sequence[RunningCall]
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    sent: SentBegin | None = None
    is_late: bool = False


def _begin_body(call: RunningCall) -> tuple[dict[str, object], dict[str, object]]:
    """Return a step's action and the call that it begins with, as the daemon is told."""
    action = {"tool": call.tool, "arguments": call.arguments}
    return action, {"call": call.call, **action}


class CallBrackets:
    """Begins a step before a tool call passes and ends it after its answer has.

    Calls that overlap share one step: it begins with the first and ends when none of them runs any
    longer, for what is seen meanwhile may be the doing of each. A call waits for nothing once the
    daemon has sealed the step before: the daemon takes the line that asks for the call's step
    before anything that happens later. Else it waits for its step, at most ``begin_wait_s``; then
    it passes, and if its step has not been asked for by then it has none: nothing of it is
    reported, so that no other step is paid for it. What is reported is that something was not: a
    step of which a rule depends on it is not known then, and not worth 0.
    ``scope`` tells calls of the same id apart: a session, or a connection.
    """

    def __init__(self, port: StepPort, masker: Masker, begin_wait_s: float = BEGIN_WAIT_S) -> None:
        self._port, self._masker = port, masker
        self._begin_wait_s = begin_wait_s
        self._running: dict[tuple[Hashable, str], RunningCall] = {}
        self._waiting: dict[tuple[Hashable, str], RunningCall] = {}
        """Calls for which the server wants input first, by what the client asks again with."""
        self._in_step: set[RunningCall] = set()
        self._step: BegunStep | None = None
        self._session = secrets.token_hex(4)
        self._count = 0
        self._missed: dict[str, str] = {}
        """Kinds of events that were not reported and of which the daemon does not know yet, with
        the reason."""
        self._is_reporting = self._is_ending = False
        """Whether a report is under way, and whether it is a step's end that was sent already."""
        self._unanswered: set[asyncio.Future[bytes]] = set()
        """The answers to come to reports that were sent without waiting for any before."""
        self._reports: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()
        self._worker: asyncio.Task[None] | None = None

    async def begin(self, scope: Hashable, calls: Sequence[ToolRequest]) -> None:
        """Return once a step has begun for calls that are to pass, or cannot begin in time."""
        new = [running for call in calls if (running := self._register(scope, call)) is not None]
        if not new:
            return
        self._give_up_waiting()
        beginning = _Beginning(new)
        if len(new) == 1 and self._is_idle() and self._step is None and not self._missed:
            beginning.sent = self._port.send_begin(*_begin_body(new[0]))
        if beginning.sent is not None and beginning.sent.is_first:
            self._enter(new[0], beginning.sent)
            return
        self._report(partial(self._begin, beginning))
        if not await self._wait_begun(beginning):
            beginning.is_late = True
            log.warning(
                "A tool call passed before its step had begun.",
                tool=new[0].tool,
                waited_s=self._begin_wait_s,
            )

    def _enter(self, running: RunningCall, sent: SentBegin) -> None:
        """Have a call in a step that began without an answer; it never did if that is a refusal."""
        self._step = sent.step
        self._in_step.add(running)
        running.has_step = True

        def on_answer(answer: asyncio.Future[bytes]) -> None:
            """Note the number of the step that began, or that the call is no step."""
            try:
                sent.step.number = int(read_answer(answer.result())["step"])
            except (ReportError, OSError, ValueError, KeyError) as error:
                self._lose_begin(running, sent.step, str(error) or repr(error))

        self._await_answer(sent.answer, on_answer)

    def _lose_begin(self, running: RunningCall, step: BegunStep, why: str) -> None:
        """Go on without a step for a call whose step could not begin; a gap says why."""
        self._missed |= dict.fromkeys((CALLED, RETURNED), f"a tool call is no step: {why}")
        log.warning("A tool call is no step.", tool=running.tool, why=why)
        running.has_step = False
        if self._step is step:
            self._in_step.discard(running)
            self._step = None

    def _await_answer(
        self, answer: asyncio.Future[bytes], on_answer: Callable[[asyncio.Future[bytes]], None]
    ) -> None:
        self._unanswered.add(answer)
        answer.add_done_callback(self._unanswered.discard)
        answer.add_done_callback(on_answer)

    async def _wait_begun(self, beginning: _Beginning) -> bool:
        """Return whether a step has begun, or cannot, within the bound."""
        if beginning.sent is not None:
            done, _ = await asyncio.wait({beginning.sent.answer}, timeout=self._begin_wait_s)
            return bool(done)
        try:
            async with asyncio.timeout(self._begin_wait_s):
                await beginning.begun.wait()
        except TimeoutError:
            return False
        return True

    def _is_idle(self) -> bool:
        """Return whether nothing waits to be reported; the end of the last step may be under
        way."""
        return self._reports.empty() and (self._is_ending or not self._is_reporting)

    def is_running(self) -> bool:
        """Return whether any call has not come back."""
        return bool(self._running)

    def finish(self, scope: Hashable, returned: ToolReturn) -> bool:
        """Report an answer; False where it is none to a call of ``scope`` that runs."""
        running = self._running.pop((scope, returned.request), None)
        if running is None:
            return False
        if returned.needs_input:
            self._waiting[scope, returned.state or running.tool] = running
        else:
            self._report_return(running, returned.result, returned.error)
        return True

    def cancel(self, scope: Hashable, request: str, reason: str) -> None:
        """Report that the client no longer waits for a call."""
        running = self._running.pop((scope, request), None)
        if running is not None:
            error = f"cancelled by the client: {reason}" if reason else "cancelled by the client"
            self._report_return(running, None, error)

    def move(self, scope: Hashable, new_scope: Hashable) -> None:
        """Look for the answers to the calls of ``scope`` in ``new_scope`` from now on."""
        for key in [key for key in self._running if key[0] == scope]:
            self._running[new_scope, key[1]] = self._running.pop(key)

    def lose(self, scope: Hashable, why: str, request: str | None = None) -> None:
        """Report that no answer comes to the calls of ``scope`` any more, or to ``request``
        alone."""
        for key in [key for key in self._running if key[0] == scope]:
            if request is None or key[1] == request:
                self._report_return(self._running.pop(key), None, why)

    def lose_sight(self, scope: Hashable) -> None:
        """End the step of the calls of ``scope`` without a result: one that is too long to be read
        has passed, whose it is is not known."""
        for key in [key for key in self._running if key[0] == scope]:
            running = self._running.pop(key)
            log.warning("An answer was too long to be reported.", tool=running.tool)
            self._report(partial(self._finish_unseen, running))

    async def settle(self) -> None:
        """Wait until everything so far is reported, or could not be."""
        await self._reports.join()
        if self._unanswered:
            await asyncio.wait(self._unanswered)

    async def drain(self) -> None:
        """Wait until everything is reported, at most `DRAIN_S`, and stop."""
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                await self.settle()
        if self._worker is not None:
            self._worker.cancel()

    def _register(self, scope: Hashable, call: ToolRequest) -> RunningCall | None:
        """Return a call that needs a step; None for one that goes on in its own, or has none."""
        key = (scope, call.request)
        if call.is_continued:
            waiting = self._waiting.pop((scope, call.state or call.tool), None)
            if waiting is not None:
                self._running[key] = waiting
                return None
        obstacle = self._find_obstacle(key)
        if obstacle is not None:
            log.warning("A tool call is no step.", tool=call.tool, why=obstacle)
            if self._reports.qsize() < MAX_REPORTS:
                self._report(partial(self._miss, (CALLED, RETURNED), obstacle))
            else:
                self._missed |= dict.fromkeys((CALLED, RETURNED), obstacle)
            return None
        self._count += 1
        running = RunningCall(
            f"mcp-{self._session}-{self._count}",
            event_text(call.tool, self._masker)[:MAX_TOOL],
            event_value(call.arguments, self._masker),
        )
        self._running[key] = running
        return running

    def _find_obstacle(self, key: tuple[Hashable, str]) -> str | None:
        """Say why a call can't be made a step; None where it can."""
        if key in self._running:
            return f"a call of the same id, {key[1]}, runs"
        if len(self._running) >= MAX_RUNNING:
            return f"{MAX_RUNNING} calls run"
        if self._reports.qsize() >= MAX_REPORTS:
            return "the daemon does not keep up"
        return None

    def _give_up_waiting(self) -> None:
        """Another call passes: for those that wanted input none comes."""
        for key in list(self._waiting):
            self._report_return(self._waiting.pop(key), None, "no input was given")

    def _report_return(self, running: RunningCall, result: object, error: str | None) -> None:
        """Report what a call came back with: at once where the daemon keeps up, else in its
        turn."""
        body: dict[str, object] = {"call": running.call, "ok": error is None}
        if result is not None:
            body["result"] = event_value(result, self._masker)
        if error is not None:
            body["error"] = event_text(error, self._masker)
        if not self._return_at_once(running, body):
            self._report(partial(self._finish, running, body))

    def _return_at_once(self, running: RunningCall, body: dict[str, object]) -> bool:
        """Report a call's return and the end of its step, where nothing waits to be reported
        before."""
        is_turn = self._reports.empty() and not self._is_reporting
        if not is_turn or self._step is None or self._in_step != {running}:
            return False
        answer = self._port.send_return(self._step, body, is_last=True)
        if answer is None:
            return False
        self._leave(running)
        self._await_answer(answer, self._note_returned)
        return True

    def _note_returned(self, answer: asyncio.Future[bytes]) -> None:
        """Note a gap in what calls came back with where the daemon did not take it."""
        try:
            read_answer(answer.result())
        except (ReportError, OSError, ValueError) as error:
            self._missed[RETURNED] = f"what a tool call came back with: {error}"
            log.warning("The daemon was not told of a tool call.", why=str(error))

    def _report(self, report: Callable[[], Awaitable[None]]) -> None:
        """Queue a report; the first one starts the task that makes them in their order."""
        if self._worker is None:
            self._worker = asyncio.create_task(self._work(), name="steps of tool calls")
        self._reports.put_nowait(report)

    async def _work(self) -> None:
        """Make one report after the other; one that the daemon refuses stops none of the others."""
        while True:
            report = await self._reports.get()
            self._is_reporting = True
            try:
                await report()
            except ReportError as error:
                log.warning("The daemon was not told of a tool call.", why=str(error))
            finally:
                self._is_reporting = self._is_ending = False
                self._reports.task_done()

    async def _begin(self, beginning: _Beginning) -> None:
        """Begin a step with these calls, or add them to the step that runs; a call that came too
        late is a gap."""
        if beginning.is_late and beginning.sent is None:
            await self._miss((CALLED, RETURNED), "a tool call passed before its step could begin")
            return
        await self._wait_number()
        if self._step is not None and not self._port.is_current(self._step):
            # Another episode has begun: what still runs is none of its calls.
            for running in self._in_step:
                running.has_step = False
            self._in_step.clear()
            self._step = None
        try:
            await self._miss()
            for running in beginning.calls:
                action, body = _begin_body(running)
                if self._step is not None:
                    await self._port.report_call(self._step, body)
                else:
                    self._step = await self._port.begin(
                        action, body, beginning.sent and beginning.sent.answer
                    )
                self._in_step.add(running)
                running.has_step = True
        except ReportError as error:
            tools = [running.tool for running in beginning.calls if not running.has_step]
            self._missed |= dict.fromkeys((CALLED, RETURNED), f"a tool call is no step: {error}")
            log.warning("A tool call is no step.", tool=", ".join(tools), why=str(error))
        finally:
            beginning.begun.set()

    async def _wait_number(self) -> None:
        """Wait for the answer to the step that began last: a call is no part of one that did not
        begin."""
        if self._step is not None and self._step.number is None and self._unanswered:
            await asyncio.wait(self._unanswered)

    async def _miss(self, kinds: Sequence[str] = (), reason: str = "") -> None:
        """Tell the daemon what was not reported so far, and ``kinds``; with the next report where
        it cannot be told now. Raises `ReportError`."""
        self._missed |= dict.fromkeys(kinds, reason)
        while self._missed:
            why = next(iter(self._missed.values()))
            told = [kind for kind, one in self._missed.items() if one == why]
            await self._port.miss(told, why)
            for kind in told:
                del self._missed[kind]

    async def _finish(self, running: RunningCall, body: dict[str, object]) -> None:
        """Report a call's return; the last one of its step ends the step."""
        if not running.has_step or self._step is None:
            return
        step, is_last = self._step, self._leave(running)
        self._is_ending = is_last and self._port.is_connected()
        try:
            await self._port.report_return(step, body, is_last=is_last)
        except ReportError as error:
            self._missed[RETURNED] = f"what a tool call came back with: {error}"
            raise

    async def _finish_unseen(self, running: RunningCall) -> None:
        """End the step of a call whose answer could not be read, if no other call of it runs."""
        if not running.has_step or self._step is None:
            return
        step, is_last = self._step, self._leave(running)
        await self._miss((RETURNED,), "a tool's answer was too long to be read")
        if is_last:
            await self._port.end(step)

    def _leave(self, running: RunningCall) -> bool:
        """Take a call out of the step, and return whether it was its last."""
        self._in_step.discard(running)
        if self._in_step:
            return False
        self._step = None
        return True

"""Steps over one connection, a line of JSON each: what `agentd mcp` reports of tool calls.

A connection to the control port becomes one by an upgrade (`UPGRADE`), after the token was shown.
Lines are taken in their order, one at a time, and each has an answer: step and number of the event,
as the same request to the port has, or the problem document.

    {"begin": {"action": …, "call": {…}}}        as POST /v1/steps
    {"begin": {…}, "passes": true}               the call runs already: nothing is waited for
    {"call": {…}}                                as POST /v1/tools:call
    {"return": {…}, "end": 3}                    as POST /v1/tools:return, then /v1/steps/3:end
    {"return": {…}, "end": null}                 of the step that this connection began last
    {"missed": ["agent.tool_called"], "reason": "…"}   calls or returns of which nothing is known
    {"listen": false}                            of a Unix socket: see below; answered by the same

Between the answers stands ``{"clear": true}`` once the last step is sealed, and
``{"clear": false}`` once another connection began one or the episode is being closed; what stands
before the answer to a `begin` is said of the step before it. ``{"clear": "ahead"}``: no source
sees, so that a step is over with its end, and it stays clear whatever this connection sends next,
without an answer to anything before. While it is clear, a call may pass as
soon as its line is written, if the connection is a Unix socket: whatever the call causes reaches
the daemon later than the line, and before any event of a source is numbered the daemon takes the
lines that are there (`StepStreams.take_lines`). So the log has the step's beginning first, though
nobody waited for it.

The daemon does not wake up for a connection that asked it not to listen: it takes its lines before
events, before anything else that is done to steps, and when another connection rings by an empty
line. So a call passes before the daemon has work, which may want the same core.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Literal

import orjson
import structlog

from agentd.core.problems import (
    BODY_BYTES,
    ControlProblemError,
    check_fields,
    field_problem,
    parse_object,
)
from agentd.core.wire_limits import UnfitError
from agentd.session.step_controller import Conductor, NotKeptError, Said
from agentd.session.step_state import StepError

log = structlog.get_logger(__name__)

UPGRADE = b"agentd-steps/2"
ACCEPTED = (
    b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: " + UPGRADE + b"\r\n\r\n"
)
CALL_FIELDS: dict[str, tuple[type, ...]] = {
    "call": (str,),
    "tool": (str,),
    "arguments": (object,),
}
CALL_NEEDED = ("call", "tool")
RETURN_FIELDS: dict[str, tuple[type, ...]] = {
    "call": (str,),
    "ok": (bool,),
    "result": (object,),
    "error": (object,),
}
RETURN_NEEDED = ("call", "ok")
BEGIN_FIELDS: dict[str, tuple[type, ...]] = {
    "step": (int, type(None)),
    "action": (object,),
    "call": (dict, type(None)),
}
_PASSING_FIELDS: dict[str, tuple[type, ...]] = {"action": (object,), "call": (dict,)}
_LINE_FIELDS: dict[str, tuple[type, ...]] = {
    "begin": (dict,),
    "call": (dict,),
    "return": (dict,),
    "end": (int, type(None)),
    "missed": (list,),
    "reason": (str,),
    "passes": (bool,),
    "listen": (bool,),
}
Clear = Literal["ahead"] | bool
"""Whether a call may pass at once; "ahead": until it is said otherwise."""
MISSED = ("agent.tool_called", "agent.tool_returned")
"""What of tool calls can be missed."""
REFUSALS = (ControlProblemError, StepError, NotKeptError, UnfitError)
"""What a line is refused by."""
_PROBLEM = "problem"
_MAX_WAITING = 64
"""Lines that wait; while there are more, nothing is read."""
_READ = 256 << 10
"""Bytes that are read at a time where lines are taken before their turn."""


def step_problem(error: StepError) -> ControlProblemError:
    """Return the refusal of a step that cannot begin or end now."""
    return field_problem(error.field, error.value, error.wanted, status=409)


def full_problem(error: NotKeptError) -> ControlProblemError:
    """Return the refusal where the journal takes nothing."""
    return ControlProblemError(507, "The journal is full", f"the journal took nothing: {error}")


def checked_begin(body: dict[str, Any]) -> dict[str, Any]:
    """Return what a step begins with, of an object with `BEGIN_FIELDS`. Raises
    `ControlProblemError`."""
    call = body.get("call")
    if call is not None:
        check_fields(call, CALL_FIELDS, CALL_NEEDED)
        call.setdefault("arguments", {})
    return {"step": body.get("step"), "action": body.get("action"), "call": call}


class StepStreams:
    """The connections of one daemon whose lines are steps."""

    def __init__(self, conductor: Conductor) -> None:
        self.conductor = conductor
        self.open: set[StepStream] = set()
        conductor.recorder.look_before(self.take_lines)
        conductor.recorder.listen(self._on_event)
        conductor.listen_closing(partial(self._tell_clear, False))

    def take_lines(self) -> None:
        """Take what gateways on this machine have written by now, before what happened since."""
        for stream in tuple(self.open):
            try:
                stream.take_lines()
            except Exception as crash:  # else another source would be lost, of which the event is
                log.error("A connection whose lines are steps is closed.", exc_info=crash)
                stream.close()

    def close(self) -> None:
        """Close the connections, once what they sent is taken."""
        self.take_lines()
        for stream in tuple(self.open):
            stream.close()

    def _on_event(self, source: str, kind: str) -> None:
        """Tell every client whether steps may begin without a wait, as an event changes it."""
        if kind == "step.began":
            self._tell_clear(False)
        elif kind == "step.sealed" and self.conductor.is_observing:
            self._tell_clear(True)
        elif kind in ("step.ended", "step.sealed") and not self.conductor.is_observing:
            self._tell_clear("ahead")
        elif kind == "gap.ended" and self.conductor.is_observing:
            for stream in self.open:
                stream.tell_not_ahead()

    def _tell_clear(self, clear: Clear) -> None:
        """Tell every client that is connected whether the daemon is clear."""
        for stream in self.open:
            stream.tell_clear(clear)


class StepStream(asyncio.Protocol):
    """A connection whose lines are steps, one of ``streams`` while it is open."""

    def __init__(self, streams: StepStreams) -> None:
        self._conductor, self._streams = streams.conductor, streams
        self._descriptor: int | None = None
        """Of a Unix socket, whose bytes are there once their sender has written them."""
        self._transport: asyncio.Transport | None = None
        self._kept = bytearray()
        self._lines: deque[dict[str, Any]] = deque()
        """Lines that wait: what they say, or the refusal of one that cannot be read."""
        self._work: asyncio.Task[None] | None = None
        self._is_receiving = self._is_beginning = False
        """Whether lines are being taken, and whether one that begins a step is being answered."""
        self._is_bell = self._is_unheard = False
        """Whether it rings for another, and whether it is read only then and before events."""
        self._is_paused = False
        self._told: Clear = False
        """What its other end was told last of whether a call may pass."""
        self._began: int | None = None
        """The step that it began last; None where that was refused."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection, and the descriptor by which a local one can be read early."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        found = transport.get_extra_info("socket")
        if found is not None and found.family == socket.AF_UNIX:
            self._descriptor = found.fileno()
        self._streams.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._streams.open.discard(self)
        self._transport = self._descriptor = None
        self._streams.take_lines()  # who rang has gone, and what is not heard may have gone with it

    def close(self) -> None:
        """Close the connection; what it sent and is taken stays so."""
        self._descriptor = None
        if self._transport is not None:
            self._transport.close()

    def take_lines(self) -> None:
        """Take what is there to be read, of a Unix socket."""
        if self._is_receiving or self._is_bell:
            return
        with suppress(BlockingIOError, ConnectionError):
            while self._descriptor is not None and len(self._lines) <= _MAX_WAITING:
                data = os.read(self._descriptor, _READ)
                if not data:
                    self.close()
                    return
                self.data_received(data)

    def tell_clear(self, clear: Clear) -> None:
        """Tell whether a call may pass at once, unless that is known; not within the answer to a
        `begin`, which says as much."""
        if self._is_beginning or self._is_bell or clear == self._told == "ahead":
            return
        self._told = clear
        self._write({"clear": clear})

    def tell_not_ahead(self) -> None:
        """Tell that from now on each step has to be sealed before a call may pass."""
        if self._told == "ahead" and not self._is_bell:
            self._told = False
            self._write({"clear": False})

    def data_received(self, data: bytes) -> None:
        """Take whole lines and keep the rest; a line that is too long ends the connection, too many
        lines pause it."""
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = bytes(self._kept) + lines[0]
            self._kept.clear()
            self._is_receiving = True
            try:
                for raw in lines:
                    self._receive(raw)
            finally:
                self._is_receiving = False
        self._kept += rest
        if len(self._kept) > BODY_BYTES:
            detail = f"a line is longer than {BODY_BYTES} bytes"
            self._write(
                ControlProblemError(413, "Body too large", detail, wanted=BODY_BYTES).members
            )
            self.close()
            return
        if len(self._lines) > _MAX_WAITING and not self._is_paused and self._transport:
            self._transport.pause_reading()
            self._is_paused = True
        if self._lines and not self._is_working():
            self._work = asyncio.create_task(self._answer_lines(), name="steps")

    def _receive(self, raw: bytes) -> None:
        """Do what a line says where that cannot wait, and keep others until it is their turn."""
        if not raw:
            self._is_bell = True
            self._streams.take_lines()
            return
        line = _parse(raw)
        if self._lines or self._is_working():
            self._lines.append(line)
        elif self._can_begin(line):
            self._is_beginning = True
            try:
                answer = self._answer_now(line, self._begin_passing)
            finally:
                self._is_beginning = False
            self._write(answer)
        elif "end" in line and "return" in line and self._conductor.has_turn:
            self._write(self._answer_now(line, self._finish_now))
        elif line.get("listen") is False and self._descriptor is not None:
            self._is_unheard = self._is_paused = True
            if self._transport is not None:
                self._transport.pause_reading()
            self._write({"listen": False})
        else:
            self._lines.append(line)

    def _can_begin(self, line: dict[str, Any]) -> bool:
        """Return whether the line begins a step for which nothing can, or need, be waited for."""
        if line.get("passes") is True:
            return True
        begin = line.get("begin")
        if not isinstance(begin, dict) or begin.keys() != _PASSING_FIELDS.keys():
            return False
        return isinstance(begin["call"], dict) and self._conductor.is_clear

    def _is_working(self) -> bool:
        """Whether a task answers lines now."""
        return self._work is not None and not self._work.done()

    async def _answer_lines(self) -> None:
        """Answer the lines that wait, in their order, and read on once there is room."""
        while self._lines:
            line = self._lines.popleft()
            self._is_beginning = "begin" in line
            try:
                answer = await self._answer(line)
            finally:
                self._is_beginning = False
            self._write(answer)
            if self._is_unheard and len(self._lines) == _MAX_WAITING:
                self.take_lines()
        if self._is_paused and not self._is_unheard and self._transport is not None:
            self._transport.resume_reading()
            self._is_paused = False

    def _write(self, answer: dict[str, object]) -> None:
        """Write one line, unless the client is gone."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(orjson.dumps(answer) + b"\n")

    async def _answer(self, line: dict[str, Any]) -> dict[str, Any]:
        """Do what a line asks, and return its answer; what was refused is an answer, too."""
        try:
            return (await self._take(line))._asdict()
        except REFUSALS as error:
            return _refusal(error)

    def _answer_now(
        self, line: dict[str, Any], take: Callable[[dict[str, Any]], Said]
    ) -> dict[str, Any]:
        """Do what a line asks without a wait, and return its answer; what was refused is an answer,
        too."""
        try:
            return take(line)._asdict()
        except REFUSALS as error:
            return _refusal(error)

    def _begin_passing(self, line: dict[str, Any]) -> Said:
        self._began = None
        check_fields(line.get("begin", {}), _PASSING_FIELDS, ("call",))
        begin = checked_begin(line["begin"])
        return self._note_begun(self._conductor.begin_at_once(begin["action"], begin["call"]))

    def _note_begun(self, said: Said) -> Said:
        self._began = said.step
        return said

    def _finish_now(self, line: dict[str, Any]) -> Said:
        check_fields(line["return"], RETURN_FIELDS, RETURN_NEEDED)
        return self._conductor.finish_at_once(self._ended_by(line), line["return"])

    def _ended_by(self, line: dict[str, Any]) -> int:
        """Return the step that a line ends. Raises `ControlProblemError` where that is the last of
        this connection and did not begin."""
        step: int | None = self._began if line["end"] is None else line["end"]
        if step is None:
            raise field_problem("end", None, "a step that this connection began: none did")
        return step

    async def _take(self, line: dict[str, Any]) -> Said:
        """Do what a line says, in the order of its members. Raises as the conductor, and
        `ControlProblemError`."""
        conductor = self._conductor
        if isinstance(problem := line.get(_PROBLEM), ControlProblemError):
            raise problem
        if line.get("passes") is True:
            return self._begin_passing(line)
        if "begin" in line:
            self._began = None
            check_fields(line["begin"], BEGIN_FIELDS)
            return self._note_begun(await conductor.begin(**checked_begin(line["begin"])))
        if "call" in line:
            check_fields(line["call"], CALL_FIELDS, CALL_NEEDED)
            line["call"].setdefault("arguments", {})
            return await conductor.say("agent.tool_called", line["call"])
        if "missed" in line:
            if any(kind not in MISSED for kind in line["missed"]):
                raise field_problem("missed", line["missed"], f"some of {', '.join(MISSED)}")
            return await conductor.miss(line["missed"], line.get("reason", "not reported"))
        if "return" in line:
            check_fields(line["return"], RETURN_FIELDS, RETURN_NEEDED)
            if "end" in line:
                return await conductor.finish(self._ended_by(line), line["return"])
            return await conductor.say("agent.tool_returned", line["return"])
        if "end" in line:
            return await conductor.end(self._ended_by(line))
        raise field_problem("line", None, f"one of {', '.join(_LINE_FIELDS)}")


def _refusal(error: Exception) -> dict[str, Any]:
    """Return the problem document of an error of `REFUSALS`."""
    if isinstance(error, StepError):
        return step_problem(error).members
    if isinstance(error, NotKeptError):
        return full_problem(error).members
    if isinstance(error, UnfitError):
        return field_problem("line", error.what, error.wanted).members
    assert isinstance(error, ControlProblemError)
    return error.members


def _parse(raw: bytes) -> dict[str, object]:
    """Return a line's object; of one that is malformed the refusal, under `_PROBLEM`."""
    try:
        line = parse_object(raw, "line")
        check_fields(line, _LINE_FIELDS)
    except ControlProblemError as error:
        return {_PROBLEM: error}
    return line

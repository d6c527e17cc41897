"""Steps over one connection, a line of JSON each: what `agentd mcp` reports, for which a tool call
waits.

A connection to the control port becomes one by an upgrade (`UPGRADE`), after the token was shown.
Lines are taken in their order, one at a time, and each has an answer: step and number of the event,
as the same request to the port has, or the problem document.

    {"begin": {"action": …, "call": {…}}}        as POST /v1/steps
    {"call": {…}}                                as POST /v1/tools:call
    {"return": {…}, "end": 3}                    as POST /v1/tools:return, then /v1/steps/3:end
    {"missed": ["agent.tool_called"], "reason": "…"}   calls or returns of which nothing is known
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import orjson

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

UPGRADE = b"agentd-steps/1"
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
_LINE_FIELDS: dict[str, tuple[type, ...]] = {
    "begin": (dict,),
    "call": (dict,),
    "return": (dict,),
    "end": (int,),
    "missed": (list,),
    "reason": (str,),
}
MISSED = ("agent.tool_called", "agent.tool_returned")
"""What of tool calls can be missed."""
_MAX_WAITING = 64
"""Lines that wait; while there are more, nothing is read."""


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


class StepStream(asyncio.Protocol):
    """A connection whose lines are steps; ``streams`` has it while it is open."""

    def __init__(self, conductor: Conductor, streams: set[StepStream]) -> None:
        self._conductor, self._streams = conductor, streams
        self._transport: asyncio.Transport | None = None
        self._kept = bytearray()
        self._lines: deque[bytes] = deque()
        self._work: asyncio.Task[None] | None = None
        self._is_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._streams.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._streams.discard(self)
        self._transport = None

    def close(self) -> None:
        """Close the connection; what it sent and is taken stays so."""
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = bytes(self._kept) + lines[0]
            self._kept.clear()
            self._lines.extend(lines)
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
        if self._lines and (self._work is None or self._work.done()):
            self._work = asyncio.create_task(self._answer_lines(), name="steps")

    async def _answer_lines(self) -> None:
        while self._lines:
            self._write(await self._answer(self._lines.popleft()))
        if self._is_paused and self._transport is not None:
            self._transport.resume_reading()
            self._is_paused = False

    def _write(self, answer: dict[str, object]) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(orjson.dumps(answer) + b"\n")

    async def _answer(self, raw: bytes) -> dict[str, Any]:
        try:
            return (await self._take(_parse(raw)))._asdict()
        except ControlProblemError as error:
            return error.members
        except StepError as error:
            return step_problem(error).members
        except NotKeptError as error:
            return full_problem(error).members
        except UnfitError as error:
            return field_problem("line", error.what, error.wanted).members

    async def _take(self, line: dict[str, Any]) -> Said:
        """Do what a line says, in the order of its members. Raises as the conductor, and
        `ControlProblemError`."""
        conductor = self._conductor
        if "begin" in line:
            check_fields(line["begin"], BEGIN_FIELDS)
            return await conductor.begin(**checked_begin(line["begin"]))
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
                return await conductor.finish(line["end"], line["return"])
            return await conductor.say("agent.tool_returned", line["return"])
        if "end" in line:
            return await conductor.end(line["end"])
        raise field_problem("line", None, f"one of {', '.join(_LINE_FIELDS)}")


def _parse(raw: bytes) -> dict[str, object]:
    """Return a line's object. Raises `ControlProblemError`."""
    line = parse_object(raw, "line")
    check_fields(line, _LINE_FIELDS)
    return line

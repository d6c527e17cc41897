"""ATIF trajectories: a step for each step of the agent, with its tool calls; what the agent said
last is its answer.

A trajectory is the agent's own account: it shows neither pages nor files nor windows, so all of
these are gaps. Whether a tool call succeeded it says only in `extra`; where it does not,
`agent.tool_returned` is a gap too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agentd.core.wire_limits import UnfitError, line_of
from agentd.masking import Masker
from detectors.model.json_value import JsonObject, JsonValue, text_or_none
from lab.convert.atif_file import AtifStep, AtifTrajectory, is_trajectory, read_trajectory
from lab.convert.source import SourceFile
from lab.convert.tape import Tape

MS = 1_000_000
_OUTCOMES = "agent.tool_returned"


def fits(source: SourceFile) -> bool:
    """Whether it is an object that names its version of ATIF."""
    return is_trajectory(source.value)


def read(source: SourceFile) -> AtifReading:
    """Check the trajectory and give its reading. Raises `ConvertError`."""
    return AtifReading(source, read_trajectory(source))


class AtifReading:
    """A trajectory that was read: see `lab.convert.formats.FormatReading`."""

    shows = frozenset[str]()

    def __init__(self, source: SourceFile, trajectory: AtifTrajectory) -> None:
        self.version = trajectory.version
        self._source = source
        self._trajectory = trajectory

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Record each step of the agent with its calls, and the answers. A step without a timestamp
        is put a millisecond after the one before."""
        masker = Masker(mask)
        steps = self._trajectory.steps
        tape.is_truncated = self._trajectory.is_continued
        if not all(map(_are_outcomes_known, steps)):
            reason = "the trajectory does not say whether each tool call succeeded"
            gap = {"source": "steps", "part": _OUTCOMES, "reason": reason}
            tape.tell(0, "gap.began", gap)
        last = max((n for n, step in enumerate(steps) if step.is_agent), default=-1)
        times = _step_times(steps)
        for number, (at, step) in enumerate(zip(times, steps, strict=True)):
            if step.is_agent:
                self._record_step(tape, at, step, masker)
            answer = self._answer(step, is_last=number == last)
            if answer is not None:
                said: JsonObject = {"text": masker.mask_json(answer)}
                self._record(tape, at, "agent.answered", said, step.where)

    def _record_step(self, tape: Tape, at: int, step: AtifStep, masker: Masker) -> None:
        """Begin a step with what the agent did, and record its calls and what is known of how each
        ended."""
        tape.end(at)
        action: JsonValue = masker.mask_json(self._action(step))
        self._check("step.began", {"step": tape.step + 1, "action": action}, step.where)
        tape.begin(at, action)
        for call in step.calls:
            called: JsonObject = {
                "call": call.id,
                "tool": call.tool,
                "arguments": masker.mask_json(call.arguments),
            }
            self._record(tape, at, "agent.tool_called", called, call.where)
        for result in step.results:
            if result.ok is not None:
                part = "result" if result.ok else "error"
                returned: JsonObject = {
                    "call": result.call,
                    "ok": result.ok,
                    part: masker.mask_json(result.content),
                }
                self._record(tape, at, _OUTCOMES, returned, result.where)

    def _action(self, step: AtifStep) -> JsonValue:
        """Return what the step did: as an export of this project has it, else the message, and the
        calls beside it if there are any."""
        if self._trajectory.is_ours:
            return step.extra.get("action", step.message)
        if not step.calls:
            return step.message
        calls: list[JsonValue] = [
            {"tool": call.tool, "arguments": call.arguments} for call in step.calls
        ]
        return {"message": step.message, "tool_calls": calls}

    def _answer(self, step: AtifStep, *, is_last: bool) -> str | None:
        """Return what the agent answered in ``step``: as an export of this project marked it, else
        its last message, if it called no tool with it and the trajectory ends there."""
        if self._trajectory.is_ours:
            answer = step.extra.get("answer")
            return text_or_none(answer)
        goes_on = bool(step.calls) or self._trajectory.is_continued
        if goes_on or not is_last:
            return None
        return step.message or None

    def _record(self, tape: Tape, at: int, kind: str, data: JsonObject, where: str) -> None:
        self._check(kind, data, where)
        tape.tell(at, kind, data)

    def _check(self, kind: str, data: Mapping[str, JsonValue], where: str) -> None:
        """Raise `ConvertError` for an event that no segment holds."""
        try:
            line_of(1, "steps", kind, 0, data)
        except UnfitError as error:
            raise self._source.wrong(where, error.what, f"wanted {error.wanted}") from None


def _step_times(steps: Sequence[AtifStep]) -> Iterator[int]:
    """Yield when each step was, in nanoseconds after the first time that the trajectory has; no
    step is before an earlier one."""
    stamps = [step.at for step in steps if step.at is not None]
    first = next(iter(stamps), 0)
    at = -MS
    for step in steps:
        if step.at is None:
            at += MS
        else:
            at = max(at, step.at - first)
        yield at


def _are_outcomes_known(step: AtifStep) -> bool:
    """Whether the step says of each of its calls, and of each result, if it succeeded."""
    told = [result.call for result in step.results if result.ok is not None]
    called = {call.id for call in step.calls}
    every_result_is_told = len(told) == len(step.results)
    return every_result_is_told and called.issubset(told)

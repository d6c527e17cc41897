"""What a trace needs of an episode's log: when its steps and tool calls began and ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from detectors.model.types import Event, Json


@dataclass(slots=True)
class CallTimes:
    """A call of a tool: ``ok`` and ``ended_at`` are None while it has not returned. Times are
    nanoseconds since the episode opened, as all of this module are."""

    seq: int
    call: str
    tool: str
    arguments: Json
    began_at: int
    ended_at: int | None = None
    ok: bool | None = None
    result: Json = None


@dataclass(slots=True)
class StepTimes:
    """A step: the harness ended it at ``ended_at``, it was complete at ``completed_at``."""

    step: int
    first: int
    began_at: int
    action: Json = None
    ended_at: int | None = None
    completed_at: int | None = None
    calls: list[CallTimes] = field(default_factory=list)


@dataclass(slots=True)
class LogOutline:
    """A part of a log: its steps, the tool calls outside of steps, the end, the agent's answer.

    ``through`` is the last event that was read; steps up to ``after_step`` were in an earlier part.
    What a journal's event lacks is not taken: this is no place to refuse a log.
    """

    after_step: int = -1
    steps: dict[int, StepTimes] = field(default_factory=dict)
    calls: list[CallTimes] = field(default_factory=list)
    last_at: int = 0
    through: int = 0
    closed_at: int | None = None
    answer: str | None = None
    _open: StepTimes | None = None
    _running: dict[str, CallTimes] = field(default_factory=dict)

    def take(self, events: Iterable[Event], until: int | None = None) -> None:
        """Read the next events of the log, up to event ``until``."""
        for event in events:
            if until is not None and event.seq > until:
                return
            if event.seq > self.through:
                self._take_event(event)

    def drop_open_step(self) -> int:
        """Forget the step that is not complete; return after which event reading has to go on so
        that it is found again."""
        step = self._open
        if step is None:
            return self.through
        del self.steps[step.step]
        self._open = None
        return step.first - 1

    def _take_event(self, event: Event) -> None:
        """Note an event's times for steps and calls, and the agent's answer."""
        self.last_at, self.through = event.at, event.seq
        match event.kind:
            case "step.began":
                self._begin_step(event)
            case "step.ended" if self._is_of_open_step(event):
                self._end_step(event.at)
            case "step.sealed" if self._is_of_open_step(event):
                self._complete_step(event.at)
            case "episode.closed":
                self._complete_step(event.at)
                self.closed_at = event.at
            case "agent.tool_called":
                self._begin_call(event)
            case "agent.tool_returned":
                self._end_call(event)
            case "agent.answered":
                self.answer = str(event.data.get("text", ""))

    def _is_of_open_step(self, event: Event) -> bool:
        return self._open is not None and event.data.get("step") == self._open.step

    def _begin_step(self, event: Event) -> None:
        """Begin a step, and complete the one before; steps that were traced before are passed
        over."""
        step = event.data.get("step")
        if type(step) is not int or step <= self.after_step:
            return
        self._complete_step(event.at)
        self.after_step = step
        action = event.data.get("action")
        self._open = self.steps[step] = StepTimes(step, event.seq, event.at, action)

    def _end_step(self, at: int) -> None:
        """Note when the action of the open step was done."""
        if self._open is not None and self._open.ended_at is None:
            self._open.ended_at = at

    def _complete_step(self, at: int) -> None:
        if self._open is not None:
            self._open.completed_at = at
            self._open = None

    def _begin_call(self, event: Event) -> None:
        data = event.data
        name, tool = str(data.get("call", "")), str(data.get("tool", ""))
        call = CallTimes(event.seq, name, tool, data.get("arguments"), event.at)
        self._running[call.call] = call
        calls = self.calls if self._open is None else self._open.calls
        calls.append(call)

    def _end_call(self, event: Event) -> None:
        call = self._running.pop(str(event.data.get("call", "")), None)
        if call is not None:
            call.ended_at, call.ok = event.at, event.data.get("ok") is True
            call.result = event.data.get("result", event.data.get("error"))

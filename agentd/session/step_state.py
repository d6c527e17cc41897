"""The life of steps as a pure state machine: which number may begin or end next, what is a repeat.

It decides; the caller journals the event and then notes its number (`Steps.note`). Rebuilt by
noting the journal's events in order, so that a restarted daemon knows where it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class StepError(Exception):
    """A step that cannot begin or end now; ``wanted``: which could, ``field`` and ``value``: which
    was asked for."""

    def __init__(self, value: int | None, wanted: str, field: str = "step") -> None:
        super().__init__(f"{field} is {value}, wanted {wanted}")
        self.field, self.value, self.wanted = field, value, wanted


class Steps:
    """``current`` is the last step begun (None before step 0), ``ended`` and ``sealed`` are about
    that one."""

    def __init__(self) -> None:
        self.current: int | None = None
        self.ended = False
        self.sealed = False
        self.closed = False
        self.command = 0
        """The highest command of the service's channel that is in the journal."""
        self._seqs: dict[str, int] = {}
        self._calls: dict[tuple[str, str], int] = {}

    @property
    def next(self) -> int:
        """The number of the step that may begin."""
        return 0 if self.current is None else self.current + 1

    def note(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        """Follow one journalled event of the steps or the journal."""
        self.command = max(self.command, data.get("command") or 0)
        if kind == "step.began":
            self._set_current(data["step"])
            self._seqs[kind] = seq
        elif kind in ("step.ended", "step.sealed"):
            self.ended = True
            self.sealed = self.sealed or kind == "step.sealed"
            self._seqs[kind] = seq
        elif kind == "episode.closed":
            self.closed = True
            self._seqs[kind] = seq
        elif kind in ("agent.tool_called", "agent.tool_returned"):
            self._calls[kind, data["call"]] = seq

    def seq_of(self, kind: str) -> int | None:
        """Return the number of that event of the current step, if it happened."""
        return self._seqs.get(kind)

    def call_seq(self, kind: str, call: str) -> int | None:
        """Return the number of the tool event of that kind and call id, if it happened."""
        return self._calls.get((kind, call))

    def begins(self, step: int | None) -> bool:
        """Return whether ``step`` (None: the next) begins now; False: it is the current one,
        reported again. Raises `StepError`."""
        self.must_be_open()
        if step is None or step == self.next:
            return True
        if step == self.current:
            return False
        raise StepError(step, f"{self.next} (the next step)")

    def ends(self, step: int | None) -> bool:
        """Return whether ``step`` ends now; False: it has ended before. Raises `StepError`."""
        self.must_be_open()
        if self.current is None:
            raise StepError(step, "a step that has begun: none has")
        if step == self.current:
            return not self.ended
        raise StepError(step, f"{self.current} (the step that began last)")

    def must_be_open(self) -> None:
        """Raise `StepError` if the episode is closed."""
        if self.closed:
            raise StepError(self.current, "an open episode: this one is closed")

    def adopt(self, step: int | None) -> None:
        """Go on from the step that the service saw last; whether it ended is not known, so it has
        not."""
        if step is not None and (self.current is None or step > self.current):
            self._set_current(step)

    def _set_current(self, step: int) -> None:
        self.current = step
        self.ended = False
        self.sealed = False
        self._seqs = {}

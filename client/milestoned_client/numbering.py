"""Which step comes next, as far as one episode's handle knows.

A numbered step may be sent twice without harm, so the handle numbers whatever it can.
"""

from __future__ import annotations

from typing import TypeVar

from milestoned_client.model_bases import NotedBase

N = TypeVar("N", bound=NotedBase)


class Numbering:
    """Counts the steps of an episode from 0 where this client opened it, else from the first answer
    on."""

    def __init__(self, from_start: bool) -> None:
        self._last: int | None = -1 if from_start else None

    def next(self, given: int | None) -> int | None:
        """The number to send with a step that begins; None lets the journal choose."""
        if given is not None or self._last is None:
            return given
        return self._last + 1

    def began(self, noted: N, sent: int | None) -> N:
        """Remember the step that the peer took note of."""
        self._last = noted.step if noted.step is not None else sent
        return noted

    def current(self, given: int | None) -> int:
        """The step to end. Raises `ValueError` where no step has begun."""
        if given is not None:
            return given
        if self._last is None or self._last < 0:
            raise ValueError("end_step: no step was begun by this handle; name the step to end")
        return self._last

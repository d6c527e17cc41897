"""What a source is: something that reports observations until it is told to stop, and fails
alone. docs/how-to/add-a-source.md has the steps to a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, runtime_checkable


class SourceLostError(Exception):
    """The source sees nothing any more (browser gone, folder removed); its supervisor records a gap
    and retries."""


class FenceLateError(Exception):
    """A fence's timeout came before the source had reported all that happened. It is fenced again
    before the step is sealed, with more patience."""


class Sink(Protocol):
    """Where observations go; called on the event loop's thread, never blocks, stamps the time
    itself.

    A source tells of its own partial blindness with ``gap.began`` {source, part, reason} and
    ``gap.ended`` {source, part}, and of trouble that a person should see with ``alarm.raised`` and
    ``alarm.ended``; those stand in the log as the journal's. A gap of the whole source (see
    `SourceLostError`) ends its partial ones: they are told anew.
    """

    def __call__(self, kind: str, data: Mapping[str, object]) -> None: ...


class Source(Protocol):
    """One sense of the daemon.

    ``run`` attaches, reports what is already so with ``baseline: true``, calls ``ready()`` once,
    then reports what happens until cancelled. It returns never; it raises `SourceLostError` when it
    can see no longer. The supervisor calls ``run`` again later: a fresh attachment, with its own
    baseline. ``fence`` returns once everything that happened before the call has reached the sink.
    Where that takes longer than ``timeout_s`` seconds it raises `FenceLateError`, or returns where
    the source sees to the rest itself before the seal (see `StepSource`).
    """

    name: str

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None: ...

    async def fence(self, timeout_s: float) -> None: ...


@runtime_checkable
class StepSource(Protocol):
    """A source that also works at the ends of steps, such as probes and screenshots.

    ``before_seal`` runs when the step's effects are in, and the seal waits for it: it must keep to
    its own budget. ``closing``: it runs for the episode's close (step None: before the first step).
    ``after_seal`` returns at once.
    """

    async def before_seal(self, step: int | None, *, closing: bool) -> None: ...

    def after_seal(self, step: int) -> None: ...


@runtime_checkable
class OpeningSource(Protocol):
    """A source that also works once before the first step begins, which waits for it: what it
    reports then is what the agent begins with."""

    async def before_first_step(self) -> None: ...


@runtime_checkable
class RecallingSource(Protocol):
    """A source that after a restart of the daemon is told, before its first ``run``, what it
    reported before: the (seq, kind, data) of its events, as far as the journal still has them."""

    def recall(self, events: Iterable[tuple[int, str, Mapping[str, object]]]) -> None: ...

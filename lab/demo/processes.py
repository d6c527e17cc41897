"""Starts the parts of a demo as processes of their own, and ends those, and only those, by their
ids."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")
Launch = Callable[..., "subprocess.Popen[bytes]"]

END_S = 10.0
"""How long a process may take to end by itself, in seconds."""


class PartFailedError(Exception):
    """A part did not start, or ended too early; the message holds the end of what it said."""


class DemoProcess:
    """One running process. It has a process group of its own, so that what it starts ends with
    it. ``launch`` starts it, with what `subprocess.Popen` is given."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        env: Mapping[str, str] | None = None,
        launch: Launch = subprocess.Popen,
    ) -> None:
        self.name = name
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as out:
            self.process = launch(
                command,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process's id, and its group's."""
        return self.process.pid

    @property
    def running(self) -> bool:
        """Whether the process has not ended yet."""
        return self.process.poll() is None

    def wait_until(self, what: str, found: Callable[[], T | None], at_most_s: float = 60.0) -> T:
        """Wait until ``found()`` gives something, and give that. Raises `PartFailedError` at the
        deadline, or when the process ends before."""
        until = time.monotonic() + at_most_s
        while True:
            value = found()
            if value is not None:
                return value
            if not self.running:
                raise self.failed(f"ended with {self.process.returncode} before {what}")
            if time.monotonic() > until:
                raise self.failed(f"{what}: not within {at_most_s:g} s")
            time.sleep(0.02)

    def wait_end(self, at_most_s: float) -> int:
        """Wait for its end and give its exit code. Raises `PartFailedError` at the deadline."""
        try:
            return self.process.wait(at_most_s)
        except subprocess.TimeoutExpired:
            raise self.failed(f"did not end within {at_most_s:g} s") from None

    def say(self, line: str) -> None:
        """Write one line to its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def failed(self, what: str) -> PartFailedError:
        """The error that says what happened, with the end of the process's log."""
        tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-12:])
        return PartFailedError(f"{self.name} {what}. The end of {self.log}:\n{tail}")

    def end(self) -> None:
        """Ask it to end, then make it."""
        self._signal(signal.SIGTERM)
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.kill()
        # What it started and left behind is still of its group.
        self._signal(signal.SIGKILL)
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()

    def kill(self) -> None:
        """End it as a crash would."""
        self._signal(signal.SIGKILL)
        self.process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


class DemoProcesses:
    """All the processes of one run; leaving the context ends them, the last started first.
    ``launch``: as a `DemoProcess` takes it."""

    def __init__(self, logs: Path, launch: Launch = subprocess.Popen) -> None:
        self._logs, self._launch = logs, launch
        self._parts: list[DemoProcess] = []

    def start(
        self, name: str, command: Sequence[str], env: Mapping[str, str] | None = None
    ) -> DemoProcess:
        """Start one more; what it says goes to ``name.log``. Raises `PartFailedError` where it
        can't."""
        try:
            part = DemoProcess(name, command, self._logs / f"{name}.log", env, self._launch)
        except OSError as error:
            raise PartFailedError(f"{name} can't be started: {command[0]}: {error}") from error
        self._parts.append(part)
        return part

    def __enter__(self) -> DemoProcesses:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for part in reversed(self._parts):
            part.end()


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Within, TERM and HUP stop this process as ctrl-C does: what it started is ended, nothing is
    left behind."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def console(name: str, module: str) -> list[str]:
    """The command that starts one of our console scripts: the one beside this Python, or its
    module."""
    script = Path(sys.executable).with_name(name)
    return [str(script)] if script.exists() else [sys.executable, "-m", module]

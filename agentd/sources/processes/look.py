"""What /proc says of a process. What may not be read is None; nothing is guessed."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import psutil

T = TypeVar("T")

_TICKS = os.sysconf("SC_CLK_TCK")


class ProcessFacts(NamedTuple):
    """One look at one process.

    ``arguments``: all of its command line but the program's own name; ``born``: its start, in
    seconds since the machine's, in which another one with the same pid differs, also when somebody
    sets the clock; ``over``: it has ended, and its parent did not ask how.
    """

    pid: int
    parent: int
    born: float
    name: str
    arguments: tuple[str, ...] | None = None
    program: str | None = None
    user: str | None = None
    over: bool = False


def look(pid: int) -> ProcessFacts | None:
    """Look at a process.

    None where it is gone, may not be seen, or has no program: it is about to become another one, or
    is of the kernel's own (`is_kernels`).
    """
    # ZombieProcess is a NoSuchProcess.
    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        process = psutil.Process(pid)
        with process.oneshot():
            name = process.name()
            parent = process.ppid()
            born = _born(pid)
            command = _or_none(process.cmdline)
            program = _program(pid)
            user = _or_none(process.username)
            over = process.status() == psutil.STATUS_ZOMBIE
        if not command and command is not None and not over:
            return None
        arguments = tuple(command[1:]) if command else None
        return ProcessFacts(pid, parent, born, name, arguments, program, user, over)
    return None


def look_at_all() -> Iterator[ProcessFacts]:
    """Yield every process that runs and can be seen, parents before their children."""
    looks = [facts for facts in map(look, psutil.pids()) if facts is not None and not facts.over]
    yield from sorted(looks, key=lambda facts: (facts.born, facts.pid))


def pids() -> frozenset[int]:
    """List the ids of all processes that can be seen."""
    return frozenset(psutil.pids())


def now() -> float:
    """Return the time on the clock by which a process was ``born``, in seconds."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _born(pid: int) -> float:
    """Return when a process started, in seconds since the machine did; 0 for one that ended."""
    # psutil's own answer has the wall clock in it, and moves with it.
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0.0  # it ended meanwhile: what was read of it before stands
    return int(stat.rpartition(b")")[2].split()[19]) / _TICKS


def _program(pid: int) -> str | None:
    """Return the file that a process runs, None where it may not be read."""
    # psutil guesses it from the command line where it may not be read: there stands what the
    # process wrote itself.
    try:
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return None


def _or_none(ask: Callable[[], T]) -> T | None:
    """Return what is asked, None where the process is gone or may not be asked."""
    try:
        return ask()
    except (psutil.Error, OSError):
        return None


def is_kernels(pid: int) -> bool:
    """Return whether it is a thread of the kernel's, which never has a program."""
    with contextlib.suppress(psutil.Error):
        parent = psutil.Process(pid).ppid()
        root = psutil.Process(parent or pid)
        return bool(root.name() == "kthreadd" and root.ppid() == 0)
    return False

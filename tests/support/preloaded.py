"""Processes of our two programs whose imports are made already: a service's take a second of
processor time, a daemon's a third of one, and a hundred tests start one or both.

For each program, and what Python is told as it starts, there is one process that imported it and
does nothing else. It is asked to fork: the child is given arguments, environment, folder and files,
and becomes this process's own child, with a pid to wait for and to kill. Everything else is as in a
process that was started by itself; that one is what `tests/api/test_process.py` and the demo's tests
start.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import orjson

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "milestoned": (
        ("api.cli.main",),
        (
            "api.cli.serve",
            "api.app",
            "api.http.timeouts",
            "uvloop",
            "uvicorn.lifespan.on",
            "uvicorn.logging",
        ),
    ),
    "agentd": (("agentd.cli.main", "agentd"), ("agentd.run.daemon", "agentd.sources.cdp.source")),
}
"""Name → (the module with its ``main`` and others that run it, what it imports later)."""
MAX_REQUEST = 1 << 20
_FILES = 3
_SUBREAPER = 36
_FORKING = threading.Lock()
_OF_PYTHON, _OF_LINKER = "PYTHON", "LD_"
"""Variables that mean something to a process only as it starts begin so."""


class Forked:
    """A process that was forked for us, with what tests use of `subprocess.Popen`."""

    def __init__(self, pid: int, stdin: BinaryIO | None) -> None:
        self.pid, self.stdin = pid, stdin
        self.returncode: int | None = None
        self._ended = os.pidfd_open(pid)
        self._looking = threading.Lock()

    def poll(self) -> int | None:
        """Its exit status, minus the signal's number where one ended it; None while it runs."""
        return self._look(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises `subprocess.TimeoutExpired`."""
        if self._look(timeout) is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a crash would."""
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            poller = select.poll()
            poller.register(self._ended, select.POLLIN)
            if poller.poll(None if timeout is None else timeout * 1_000):
                self._take_status()
        return self.returncode

    def _take_status(self) -> None:
        """Take the exit status, once: two threads of a test may see the end at the same time."""
        with self._looking:
            if self.returncode is None:
                _, status = os.waitpid(self.pid, 0)
                self.returncode = os.waitstatus_to_exitcode(status)
                os.close(self._ended)


def launch(
    command: Sequence[str],
    *,
    stdin: int | None = None,
    stdout: Any = None,
    stderr: Any = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    start_new_session: bool = False,
) -> Any:
    """Start a process as `subprocess.Popen` does: by a fork where the command is one of ours, the
    linker is told nothing else and what is mounted is what the forked one would see."""
    found = _program(command) if _mounts() == _MOUNTS else None
    environ = dict(os.environ if env is None else env)
    if found is None or _starting(environ, _OF_LINKER) != _starting(os.environ, _OF_LINKER):
        return subprocess.Popen(
            command, stdin=stdin, stdout=stdout, stderr=stderr, env=env, cwd=cwd,
            start_new_session=start_new_session,
        )  # fmt: skip
    name, words = found
    theirs, ours = os.pipe() if stdin == subprocess.PIPE else (os.open(os.devnull, os.O_RDONLY), -1)
    files = [theirs, *(_number(file, number) for number, file in ((1, stdout), (2, stderr)))]
    request = {
        "argv": [command[0], *words],
        "environ": environ,
        "cwd": str(cwd or Path.cwd()),
        "session": start_new_session,
        "umask": _umask(),
    }
    try:
        pid = _template(name, _starting(environ, _OF_PYTHON)).fork(request, files)
    finally:
        os.close(theirs)
        for number in files[1:]:
            if number > 2 and number not in (_fileno(stdout), _fileno(stderr)):
                os.close(number)
    return Forked(pid, None if ours < 0 else os.fdopen(ours, "wb"))


def run(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command of ours to its end, as `subprocess.run` does where output is captured."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        status = launch(command, stdout=out, stderr=err, cwd=cwd, env=env).wait()
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(command, status, out.read(), err.read())


def _mounts() -> str:
    """Name the mount namespace of this thread; a test may have one of its own."""
    return os.readlink("/proc/thread-self/ns/mnt")


_MOUNTS = _mounts()


def _program(command: Sequence[str]) -> tuple[str, list[str]] | None:
    """Which program a command starts, and with which arguments; None for another's."""
    for name, (modules, _) in PROGRAMS.items():
        if command[0] == str(Path(sys.executable).with_name(name)):
            return name, list(command[1:])
        if any(list(command[:3]) == [sys.executable, "-m", module] for module in modules):
            return name, list(command[3:])
    return None


def _starting(environ: Mapping[str, str], beginning: str) -> tuple[tuple[str, str], ...]:
    """The variables that begin so, but for where modules are found."""
    found = (item for item in environ.items() if item[0].startswith(beginning))
    return tuple(sorted(item for item in found if item[0] != "PYTHONPATH"))


def _fileno(file: Any) -> int:
    return -1 if file is None or isinstance(file, int) else int(file.fileno())


def _number(file: Any, inherited: int) -> int:
    """The file's number, opened for the nothing that `subprocess.DEVNULL` is."""
    if file is None:
        return inherited
    if file == subprocess.DEVNULL:
        return os.open(os.devnull, os.O_WRONLY)
    return _fileno(file) if _fileno(file) >= 0 else int(file)


def _umask() -> int:
    found = os.umask(0o022)
    os.umask(found)
    return found


@cache
def _template(name: str, of_python: tuple[tuple[str, str], ...]) -> _Template:
    return _Template(name, dict(of_python))


class _Template:
    """The process that imported a program; it ends with this one, whose end of a socket it reads."""

    def __init__(self, name: str, of_python: Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environ = {
            key: value for key, value in os.environ.items() if not key.startswith(_OF_PYTHON)
        }
        environ["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, name, str(theirs.fileno())],
                cwd=ROOT, env={**environ, **of_python}, pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        # It runs as long as this process does, and needs no warning at its end.
        self._process.returncode = 0
        atexit.register(self._socket.close)

    def fork(self, request: Mapping[str, Any], files: Sequence[int]) -> int:
        """Return the pid of a new child of this process."""
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        # Whether orphans become children of this process is one setting for all its threads.
        with _FORKING:
            prctl(_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._socket, [orjson.dumps(request)], list(files))
                return int(self._socket.recv(64))
            finally:
                prctl(_SUBREAPER, 0, 0, 0, 0)


def _serve(requests: socket.socket) -> None:
    """Fork for each request, until whoever asks has ended; returns in the children alone."""
    while True:
        request, files, _, _ = socket.recv_fds(requests, MAX_REQUEST, _FILES)
        if not request:
            os._exit(0)
        told, tells = os.pipe()
        between = os.fork()
        if not between:
            # The child of one that ended is the child of who asked.
            child = os.fork()
            if not child:
                requests.detach()
                _become(orjson.loads(request), files)
                return
            os.write(tells, str(child).encode())
            os._exit(0)
        os.waitpid(between, 0)
        requests.send(os.read(told, 64))
        os.close(told)
        os.close(tells)
        for file in files:
            os.close(file)


def _become(request: Mapping[str, Any], files: Sequence[int]) -> None:
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(_FILES, os.sysconf("SC_OPEN_MAX"))
    if request["session"]:
        os.setsid()
    os.umask(request["umask"])
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = request["argv"]


def main(name: str, number: str) -> NoReturn:
    """Import the program, then fork for each request."""
    modules, later = PROGRAMS[name]
    gc.disable()
    start = importlib.import_module(modules[0]).main
    for each in later:
        importlib.import_module(each)
    gc.collect()
    gc.freeze()
    gc.enable()
    _serve(socket.socket(fileno=int(number)))
    sys.exit(start())


if __name__ == "__main__":
    main(*sys.argv[1:])

"""`agentd run --detach`: the daemon in a process of its own; who started it returns once every
source sees.

The daemon is a fork that is made before anything runs, so it has the very settings that were read.
What it logs goes to the file ``agentd.log`` in its state directory. One that does not become ready
is ended: its journal stays, and the command can be given again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

import httpx
import orjson

from agentd.core.disk_errors import room_in
from agentd.core.errors import AgentdError
from agentd.core.logs import set_up_logs
from agentd.core.settings import RunSettings
from common.plain_answers import HEADERS, HOOKS

LOG = "agentd.log"
LOOK_S = 0.05
"""Seconds between two looks at a daemon that does not listen yet."""
ASK_MS = 500
"""How long one question for readiness waits at the daemon, in milliseconds."""
END_S = 10.0
"""How long a daemon that is told to stop may take before it is killed, in seconds."""
_LOG_END = 65_536
"""How many bytes of the log's end are searched for the reason."""


class DaemonNotReadyError(AgentdError):
    """The daemon did not become ready; it does not run any more."""


def start(settings: RunSettings) -> str:
    """Start the daemon, wait until it is ready, and return the message to print. Raises
    `DaemonNotReadyError` with the reason."""
    log = settings.state / LOG
    with room_in(settings.state):
        settings.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        out = os.open(
            log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        begins = os.fstat(out).st_size
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _be_daemon(settings, out)
    os.close(out)
    child = _Child(pid, settings.state, begins)
    try:
        child.wait_ready(settings.ready_wait)
    except BaseException:
        child.end()
        raise
    return f"ready, pid {pid}; its log: {log}"


def _be_daemon(settings: RunSettings, out: int) -> NoReturn:
    """In the fork: a session of its own, the log for a terminal, and no way back into the caller's
    code."""
    code = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, fd in enumerate((nothing, out, out)):
            os.dup2(fd, number)
        # The caller's pipes would wait for the daemon's end.
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        set_up_logs(verbose=settings.verbose)
        from agentd.run.daemon import run

        asyncio.run(run(settings))
        code = 0
    except AgentdError as error:
        sys.stderr.write(f"agentd: {error}\n")
        code = error.exit_code
    finally:
        crashed = sys.exc_info()
        if crashed[0] is not None:
            sys.excepthook(*crashed)
        sys.stderr.flush()
        os._exit(code)


class _Child:
    """The daemon as its starter sees it; ``begins``: where its part of the log begins, in bytes."""

    def __init__(self, pid: int, state: Path, begins: int) -> None:
        self._pid = pid
        self._state = state
        self._begins = begins
        self._over = False

    def wait_ready(self, wait_s: float) -> None:
        """Return once every source sees. Raises `DaemonNotReadyError`."""
        ends = time.monotonic() + wait_s
        waits_for = "the service's plan of the episode"
        while True:
            self._must_live()
            said = self._ask()
            if said is not None:
                if said["ready"]:
                    return
                waits_for = ", ".join(
                    f"{name} ({why})" for name, why in sorted(said["waiting"].items())
                )
                if said["lacking"]:
                    raise self._error(f"the task needs what is not watched: {waits_for}")
            if time.monotonic() >= ends:
                raise self._error(f"not ready within {wait_s:g} s: it waits for {waits_for}")
            if said is None:
                time.sleep(LOOK_S)

    def _error(self, why: str, code: int = 1) -> DaemonNotReadyError:
        error = DaemonNotReadyError(f"{why}; its log: {self._state / LOG}")
        error.exit_code = code
        return error

    def _must_live(self) -> None:
        """Raise the error that the daemon ended with, once it has ended."""
        if self._over:
            return
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        if pid:
            self._over = True
            code = os.waitstatus_to_exitcode(status)
            raise self._error(f"the daemon ended: {self._last_words()}", code if code > 0 else 1)

    def _ask(self) -> dict[str, dict[str, str]] | None:
        """What the daemon says of its readiness; None where it does not listen yet."""
        try:
            where = orjson.loads((self._state / "agentd.json").read_bytes())
            token = (self._state / "control.token").read_text().strip()
        except (OSError, ValueError):
            return None
        if where["pid"] != self._pid:
            return None  # of a daemon before this one, which was killed
        unix = where.get("socket")
        url = f"http://127.0.0.1:{where['port']}" if unix is None else "http://agentd"
        headers = {"authorization": f"Bearer {token}", **HEADERS}
        try:
            with httpx.Client(
                transport=httpx.HTTPTransport(uds=unix), headers=headers, event_hooks=HOOKS
            ) as client:
                answer = client.get(f"{url}/v1/ready", params={"wait_ms": ASK_MS}, timeout=END_S)
                answer.raise_for_status()
                said: dict[str, dict[str, str]] = answer.json()
                return said
        except httpx.HTTPError:
            return None

    def _last_words(self) -> str:
        """The error in the log's part, or its last line."""
        with (self._state / LOG).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(self._begins, size - _LOG_END))
            lines = [
                line for line in file.read().decode(errors="replace").splitlines() if line.strip()
            ]
        told = [line.removeprefix("agentd: ") for line in lines if line.startswith("agentd: ")]
        return (told or lines or ["it said nothing"])[-1][:1_000]

    def end(self) -> None:
        """End the daemon's process, unless it has ended by itself."""
        ends = time.monotonic() + END_S
        number = signal.SIGTERM
        while not self._over:
            os.kill(self._pid, number)
            while not self._over and time.monotonic() < ends:
                pid, _ = os.waitpid(self._pid, os.WNOHANG)
                self._over = bool(pid)
                time.sleep(LOOK_S)
            number = signal.SIGKILL
            ends = time.monotonic() + END_S

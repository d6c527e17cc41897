"""Tries the expressions of a task's script probes in a real Chromium, on an empty page (`milestoned
task check`)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
from websockets.exceptions import WebSocketException
from websockets.version import version

from common.scratch import scratch_folder
from detectors.task.language import ProbeSpec, Task
from detectors.task.script_calls import refusal, refused_calls

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--password-store=basic",
    "--remote-debugging-port=0",
)
TOTAL_S = 30.0
"""What the browser's start and all expressions may take together, in seconds."""
EVALUATE_MS = 500
MAX_FOLDER = 48
"""Bytes of a folder's path in which the browser's sockets are made."""
_SHORT = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))


class NotTriedError(Exception):
    """Why no expression was tried."""


def script_probes(task: Task) -> list[tuple[str, str]]:
    """Path and expression of each script probe."""
    return [
        (_path(n, probe), probe.script.expression)
        for n, probe in enumerate(task.probes)
        if probe.script is not None
    ]


def _path(n: int, probe: ProbeSpec) -> str:
    return f"probes[{n}].script.expression (probe {probe.id})"


def doubtful_calls(probes: Sequence[tuple[str, str]]) -> list[str]:
    """What the text alone says: calls that Chromium is known to refuse, one sentence for each."""
    return [
        f"{path}: {name} may not be called, write {instead}"
        for path, expression in probes
        for name, instead in refused_calls(expression)
    ]


def try_expressions(probes: Sequence[tuple[str, str]], total_s: float = TOTAL_S) -> list[str]:
    """One sentence for each expression that is no JavaScript or is refused on an empty page; raises
    `NotTriedError`.

    What an empty page lacks ends an expression early, with a TypeError that says nothing: that is
    no problem here.
    """
    executable = next((found for name in NAMES if (found := shutil.which(name))), None)
    if executable is None:
        raise NotTriedError(f"none of {', '.join(NAMES)} is installed here")
    if int(version.partition(".")[0]) < 15:
        raise NotTriedError(f"websockets 15 or newer is needed, got {version}")
    deadline = time.monotonic() + total_s
    try:
        with _browser(executable, deadline) as address:
            return list(_problems(address, probes, deadline))
    except (OSError, TimeoutError, WebSocketException) as error:
        raise NotTriedError(f"{executable}: {type(error).__name__} {error}") from None


_TIED = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""
"""Becomes the program that its further arguments say, which the kernel kills (PR_SET_PDEATHSIG)
with the process that its first one names."""


@contextmanager
def _browser(executable: str, deadline: float) -> Iterator[str]:
    """The address of a browser of its own, with a profile that goes with it."""
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
    with scratch_folder("milestoned-check-", _short_folder()) as profile:
        browser = [executable, *FLAGS, *sandbox, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _TIED, str(os.getpid()), *browser],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(profile)},
        )
        try:
            yield _address(process, profile / "DevToolsActivePort", deadline)
        finally:
            with suppress(ProcessLookupError):  # it may have ended by itself
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _short_folder() -> Path:
    """Where temporary files may be whose sockets' paths stay within the 107 bytes of the system:
    the browser ends at once with a longer one. Raises `NotTriedError`."""
    usual = Path(tempfile.gettempdir())
    for folder in (usual, *_SHORT):
        is_short = len(os.fsencode(folder)) <= MAX_FOLDER
        if is_short and folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
            return folder
    raise NotTriedError(
        f"TMPDIR {usual}: {len(os.fsencode(usual))} bytes, expected at most {MAX_FOLDER}: the"
        " browser's socket is made below it"
    )


def _address(process: subprocess.Popen[bytes], port_file: Path, deadline: float) -> str:
    """Return the browser's address once it says so. Raises `NotTriedError` where it ends, or is too
    late."""
    while time.monotonic() < deadline:
        lines = port_file.read_text().split() if port_file.exists() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        if process.poll() is not None:
            raise NotTriedError(f"the browser ended with {process.returncode}")
        time.sleep(0.02)
    raise NotTriedError("the browser did not start in time")


def _problems(address: str, probes: Sequence[tuple[str, str]], deadline: float) -> Iterator[str]:
    """Yield a problem for each probe's expression that throws, or that would write."""
    from websockets.sync.client import connect

    with connect(address, proxy=None, compression=None, max_size=None, open_timeout=5) as socket:

        def call(method: str, session: str | None = None, **params: object) -> Any:
            """Send a command, and wait for its own answer."""
            message = {"id": 1, "method": method, "params": params} | (
                {"sessionId": session} if session else {}
            )
            socket.send(orjson.dumps(message).decode())
            while True:
                reply = orjson.loads(socket.recv(timeout=max(0.0, deadline - time.monotonic())))
                if reply.get("id") == 1:
                    return reply.get("result", {})

        tab = call("Target.createTarget", url="about:blank").get("targetId")
        session = call("Target.attachToTarget", targetId=tab, flatten=True).get("sessionId")
        for path, expression in probes:
            how = {"throwOnSideEffect": True, "timeout": EVALUATE_MS, "silent": True}
            thrown = call("Runtime.evaluate", session, expression=expression, **how).get(
                "exceptionDetails", {}
            )
            said = thrown.get("exception", {}).get("description", "").partition("\n")[0]
            if "Possible side-effect in debug-evaluate" in said:
                yield f"{path}: {refusal(expression)}"
            elif said.startswith("SyntaxError"):
                yield f"{path}: wanted a JavaScript expression, got {said}"

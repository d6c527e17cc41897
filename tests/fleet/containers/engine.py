"""A container engine: the one that ``DOCKER_HOST`` names, or one that the test starts.

The test's own engine has processes, mounts and a network of its own: its bridges and firewall rules
are not the machine's, its containers can be reached from nowhere else, and nothing of them is left
once it ends. Nothing outside can be reached from there either. Images are therefore built by a
first engine, which shares the machine's network, on the same folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.merged_output import run_merged

START_S = 60.0
_OWN = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
_WITHOUT_NETWORK = ("--bridge=none", "--iptables=false", "--ip-forward=false")
_CONTROL_GROUPS = Path("/sys/fs/cgroup")
needs_engine = [
    pytest.mark.slow,
    pytest.mark.skipif(os.getuid() != 0, reason="a container engine needs root"),
    pytest.mark.skipif(
        shutil.which("dockerd") is None and "DOCKER_HOST" not in os.environ,
        reason="no container engine is installed (docker.io), and DOCKER_HOST names none",
    ),
    pytest.mark.skipif(shutil.which("docker") is None, reason="docker's command is missing"),
]


def say(line: str) -> None:
    """For the summary; pytest shows it with ``-s``."""
    print(f"fleet: {line}", flush=True)


class Engine:
    """An engine that answers. ``inside``: the words before a command that is to reach its
    containers."""

    def __init__(self, host: str, inside: Sequence[str] = ()) -> None:
        self.inside = list(inside)
        # The builder that every version has; Debian ships none of its successor's.
        self.environment = os.environ | {"DOCKER_HOST": host, "DOCKER_BUILDKIT": "0"}

    def docker(self, *words: str, timeout_s: float = 120.0) -> str:
        """Run ``docker WORDS``; gives what it wrote, raises with what it said where it failed."""
        done = self.attempt(*words, timeout_s=timeout_s)
        if done.returncode != 0:
            raise RuntimeError(f"docker {' '.join(words)}: {done.stdout[-4_000:]}")
        return done.stdout.strip()

    def attempt(self, *words: str, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
        """The same, where it may fail."""
        return run_merged(["docker", *words], self.environment, timeout_s)


def given() -> Engine | None:
    """The engine that the environment names, if it names one."""
    host = os.environ.get("DOCKER_HOST")
    return Engine(host) if host else None


@contextmanager
def folder() -> Iterator[Path]:
    """Where an engine of the test's own keeps all that it has; taken away at the end."""
    path = Path(tempfile.mkdtemp(prefix="milestoned-engine-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


@contextmanager
def started(path: Path, *, builds: bool) -> Iterator[Engine]:
    """An engine of the test's own on ``path``. ``builds``: on the machine's network, without one of
    its own."""
    socket, log, group = path / "docker.sock", path / "dockerd.log", f"milestoned-{path.name}"
    command = [
        *_OWN,
        *([] if builds else ["--net"]),
        *("dockerd", "--data-root", str(path / "data"), "--exec-root", str(path / "exec")),
        *("-H", f"unix://{socket}", "-p", str(path / "docker.pid"), "--cgroup-parent", group),
        *(_WITHOUT_NETWORK if builds else ()),
    ]
    with log.open("ab") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    try:
        pid = _pid_of_engine(process)
        inside = [] if builds else ["nsenter", "--net", "--target", str(pid)]
        if inside:
            subprocess.run([*inside, "ip", "link", "set", "lo", "up"], check=True)
        engine = Engine(f"unix://{socket}", inside)
        _wait_until_it_answers(engine, process, log)
        yield engine
    finally:
        _end(process)
        _forget_control_groups(group)


def _pid_of_engine(process: subprocess.Popen[bytes]) -> int:
    """The one child of ``unshare``, as this machine numbers it."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    until = time.monotonic() + START_S
    while time.monotonic() < until and process.poll() is None:
        if found := children.read_text().split():
            return int(found[0])
        time.sleep(0.05)
    pytest.skip("no container engine can start here: unshare gives it no namespaces of its own")


def _wait_until_it_answers(engine: Engine, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until and process.poll() is None:
        if engine.attempt("info").returncode == 0:
            return
        time.sleep(0.2)
    pytest.skip(f"no container engine can start here: {log.read_text()[-1_000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Told to stop, the engine ends its containers; what is left of its processes ends with it."""
    if process.poll() is None:
        os.kill(_pid_of_engine(process), signal.SIGTERM)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _forget_control_groups(name: str) -> None:
    for found in _CONTROL_GROUPS.glob(f"**/{name}"):
        for group in sorted(found.glob("**/"), reverse=True):
            group.rmdir()

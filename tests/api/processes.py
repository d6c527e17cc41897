"""A real `milestoned serve`, as a process that can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from tests.support.ports import free_port
from tests.support.preloaded import launch, run

ROOT = Path(__file__).parents[2]


class Process:
    """One service over ``data``; started again it has the same data and port. ``fresh``: its
    imports are its own."""

    def __init__(self, data: Path, *options: str, fresh: bool = False) -> None:
        self.data, self._options = data, options
        self.port = free_port()
        self._launch: Callable[..., Any] = subprocess.Popen if fresh else launch
        self._process: Any = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def admin(self) -> str:
        """The first admin token."""
        return (self.data / "admin.token").read_text().strip()

    @property
    def pid(self) -> int:
        """Its number, while it runs."""
        assert self._process is not None
        return int(self._process.pid)

    def start(self) -> None:
        """Start it and wait until it is ready."""
        told = self.data / "service.json"
        told.unlink(missing_ok=True)
        command = [
            sys.executable,
            "-m",
            "api.cli.main",
            "serve",
            "--data",
            str(self.data),
            "--port",
            str(self.port),
        ]
        command += self._options
        self._process = self._launch(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        while not told.exists():
            assert self._process.poll() is None, (
                f"the service ended with {self._process.returncode}"
            )
            time.sleep(0.02)
        assert json.loads(told.read_bytes())["port"] == self.port
        httpx.get(f"{self.url}/readyz", verify=False).raise_for_status()

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask it to end; gives its exit status."""
        return self._end(signal.SIGTERM)

    def stop_if_running(self) -> None:
        """End it where it still runs."""
        if self._process is not None and self._process.poll() is None:
            self.stop()

    def _end(self, how: signal.Signals) -> int:
        assert self._process is not None
        os.kill(self._process.pid, how)
        return int(self._process.wait(timeout=60))


def milestoned(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, run in ``folder``, so that nothing may lean on the source tree's place."""
    command = [sys.executable, "-m", "api.cli.main", *arguments]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    return run(command, cwd=folder, env=environment)

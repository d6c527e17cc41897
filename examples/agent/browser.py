"""The process with the browser, as the trainer and the demonstrations see it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SLOTS = 12
"""Episodes that run at the same time."""


class Browser:
    """The process that has Chromium, the pages and the daemons."""

    def __init__(self, python: str, service: str, token: str, folder: Path) -> None:
        told = {**os.environ, "MILESTONED_TOKEN": token}
        command = [python, "-m", "examples.agent.world", service, str(folder)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=told
        )

    def ask(self, command: str, slots: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Have the same done in several slots. Raises `RuntimeError` where the process ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([command, slots]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the browser's process ended; its last words are above")
        found: list[dict[str, Any]] = json.loads(line)
        return found

    def close(self) -> None:
        """End the process with its browser."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

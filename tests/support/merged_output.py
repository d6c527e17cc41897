"""Runs a command to its end with one text of all that it wrote."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_merged(
    command: Sequence[str],
    environment: Mapping[str, str],
    timeout_s: float,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command without input; ``stdout`` has what it wrote to both outputs, in its order.

    Raises `subprocess.TimeoutExpired`; a failed command is returned with its code.
    """
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
        check=False,
    )

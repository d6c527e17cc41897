"""Runs a harness as a process of its own, in the environment that its library needs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYPPETEER = ROOT / ".venv-pyppeteer" / "bin" / "python"
PATIENCE_S = 120.0


def run_harness(name: str, *words: str) -> str:
    """What ``tests.conformance.harness.NAME`` prints; skips where its environment was not made."""
    python = PYPPETEER if name.startswith("pyppeteer") else Path(sys.executable)
    if not python.exists():
        pytest.skip(f"{python.parent.parent.name} is missing: `make test` makes it")
    command = [os.fspath(python), "-m", f"tests.conformance.harness.{name}", *words]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its browser too
            out, err = process.communicate()
    assert process.returncode == 0, (
        f"{name} ended with {process.returncode}:\n{out[-2000:]}\n{err[-4000:]}"
    )
    return out

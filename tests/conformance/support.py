"""Runs a harness as a process of its own, in the environment that its library needs."""

from __future__ import annotations

import os
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
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, f"{name} ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout

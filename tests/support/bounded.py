"""Runs a command of ours in a process of its own and measures what it took."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PATIENCE_S = 120
_MEASURED = """
import runpy, sys
module = sys.argv.pop(1)
sys.argv[0] = module
try:
    runpy.run_module(module, run_name="__main__", alter_sys=True)
finally:
    # Not getrusage: what that calls the peak is also that of whoever forked this process.
    peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print("PEAK", int(peak) * 1024, file=sys.stderr)
"""


def in_bounds(
    command: str, *arguments: object, module: str = "agentd", patience_s: float = _PATIENCE_S
) -> tuple[int, str, int]:
    """Exit code, what was said on standard error, and the most bytes that the process had in
    memory."""
    argv = [sys.executable, "-c", _MEASURED, module, command, *map(str, arguments)]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        argv, capture_output=True, text=True, cwd=root, timeout=patience_s, check=False
    )
    said, _, peak = done.stderr.rpartition("PEAK ")
    return done.returncode, said, int(peak)

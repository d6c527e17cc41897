"""Runs parts one after the other, and keeps what was measured of each whatever becomes of the
others."""

from __future__ import annotations

import os
import platform
import subprocess
import time
import traceback
from collections.abc import Mapping
from pathlib import Path

from benchmarks.parts import Measure
from benchmarks.report import PartReport
from benchmarks.run_file import BenchRun, PartState, write_run

ROOT = Path(__file__).parent.parent


def run_parts(measures: Mapping[str, Measure], file: Path, *, is_quick: bool) -> BenchRun:
    """Run each part, and write the run into ``file`` after each. A part that fails is printed, and
    the others follow; an interrupt ends the run. Either way what was measured stays."""
    run = begin_run(list(measures), is_quick=is_quick)
    form = ", the short form: fewer rounds, wider intervals" if is_quick else ""
    print(
        f"{run.cores} cores, Python {run.python}, load {run.load_at_start:.1f} as it began{form}\n",
        flush=True,
    )
    for name, measure in measures.items():
        report = PartReport(name, is_quick=is_quick)
        state = run.parts[name]
        began = time.monotonic()
        try:
            measure(report)
            state.status = "measured"
        except KeyboardInterrupt:
            state.status = "interrupted"
        except Exception as error:  # noqa: BLE001 - whatever a part meets, the others are measured
            state.status, state.reason = "failed", f"{type(error).__name__}: {error}"
            traceback.print_exc()
        state.seconds = round(time.monotonic() - began, 1)
        state.left_out = report.left_out
        run.figures += report.figures
        run.load_at_end = os.getloadavg()[0]
        write_run(run, file)
        print(f"  {name} took {state.seconds:.0f} s\n", flush=True)
        if state.status == "interrupted":
            break
    for name, state in run.missing.items():
        print(f"missing: {name}, {state.status}{state.reason and f': {state.reason}'}")
    print(f"load {run.load_at_end:.1f} as it ended; {file}", flush=True)
    return run


def begin_run(parts: list[str], *, is_quick: bool) -> BenchRun:
    """Return a run that has measured nothing yet, with what is known of tree and machine."""
    load = os.getloadavg()[0]
    return BenchRun(
        commit=_git("rev-parse", "HEAD"),
        is_dirty=bool(_git("status", "--porcelain")),
        python=platform.python_version(),
        cores=os.cpu_count() or 1,
        load_at_start=load,
        load_at_end=load,
        is_quick=is_quick,
        parts={name: PartState() for name in parts},
        figures=[],
    )


def _git(*arguments: str) -> str:
    """Return what git prints of this tree, nothing where there is no git or no repository."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()

"""JSON Schemas that chance makes, over values that chance makes, in a process with little memory
and time: refused when the task is checked, answered, or over budget, and the process goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("cases", [400, pytest.param(1_500, marks=pytest.mark.slow)])
def test_a_schema_that_chance_makes_is_bounded(cases: int) -> None:
    run = [sys.executable, "-m", "tests.fuzz.hostile_schemas", str(cases)]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    told = orjson.loads(done.stdout)
    assert told["refused"] > 50
    assert told["answered"] > 50
    assert told["over"] > 5

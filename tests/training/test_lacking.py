"""A command that trains says what it lacks: the extra of the package, or a library of the system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LACKING = {
    "the extra": ("raise ModuleNotFoundError('lightgbm')", "pip install 'milestoned[train]'"),
    "OpenMP": (
        "raise OSError('libgomp.so.1: cannot open shared object file')",
        "libgomp.so.1: cannot open shared object file; Debian, Ubuntu: sudo apt-get install libgomp1",
    ),
}


@pytest.mark.parametrize(("loads_as", "said"), LACKING.values(), ids=LACKING)
def test_what_a_training_lacks_is_named_with_its_command(
    tmp_path: Path, loads_as: str, said: str
) -> None:
    """tests/deploy/test_fresh_machine.py installs the library where there is none."""
    (tmp_path / "lightgbm.py").write_text(loads_as)
    milestoned = Path(sys.executable).with_name("milestoned")
    done = subprocess.run(
        [milestoned, "rm", "train", tmp_path / "preferences.jsonl", "--name", "first"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("milestoned rm: ")
    assert said in done.stderr
    assert "Traceback" not in done.stderr

"""`milestoned demo` from the outside: it shows its steps, proves its bytes, and says what it lacks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.chromium import needs_chromium

ROOT = Path(__file__).parents[2]


def _milestoned(*args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "client")])
    return subprocess.run(
        [sys.executable, "-m", "api.cli", *args],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": paths, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.browser
@needs_chromium
def test_the_demo_shows_every_step_and_its_replay_gives_the_same_bytes(tmp_path: Path) -> None:
    done = _milestoned("demo", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^ +(\d+)  (\S.*?) {2,}", done.stdout, re.MULTILINE)
    assert [int(number) for number, _ in rows][:18] == list(range(18))
    assert "the same bytes" in done.stdout
    assert "goal reached" in done.stdout
    assert "\x1b[" not in done.stdout, "no colours where nobody looks"
    again = re.search(r"again: \S*milestoned (.*)", done.stdout)
    assert again is not None
    replayed = _milestoned(*again[1].split(), cwd=tmp_path)
    assert replayed.returncode == 0, replayed.stderr
    assert "goal reached" in replayed.stdout
    assert list((tmp_path / "out").iterdir()) == [tmp_path / "out" / "demo.mrec"]


def test_without_chromium_the_demo_says_what_to_do(tmp_path: Path) -> None:
    done = _milestoned("demo", cwd=tmp_path, PATH=str(tmp_path))
    assert done.returncode == 2
    assert "apt-get install chromium" in done.stderr
    assert list(tmp_path.iterdir()) == [], "nothing was started or written"

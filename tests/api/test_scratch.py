"""Folders of `milestoned demo` and `watch`: what a kill left goes with the next start, what lives
or is kept stays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lab.cli import demo, watch
from lab.demo.scratch import OWNER, Scratch, remove_abandoned
from tests.api.processes import ROOT

PROGRAM = """
import sys
from lab.demo.scratch import Scratch
held = Scratch("milestoned-test-")
(held.path / "service").mkdir()
(held.path / "service" / "log").write_text("x")
print(held.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of the test's own, for this process and for those that it
    starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


def started() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_kill_left_goes_with_the_next_start_and_what_lives_stays(temporary: Path) -> None:
    killed, left = started()
    living, held = started()
    assert left.exists()
    killed.kill()
    killed.communicate()
    fresh = Scratch("milestoned-test-")
    assert set(temporary.iterdir()) == {held, fresh.path}
    assert (held / "service" / "log").read_text() == "x"
    fresh.remove()
    living.kill()
    living.communicate()
    remove_abandoned("milestoned-test-")
    assert list(temporary.iterdir()) == []


def test_what_is_kept_stays_for_ever(temporary: Path) -> None:
    kept = Scratch("milestoned-test-")
    (kept.path / "watch.mrec").write_text("x")
    kept.keep()
    remove_abandoned("milestoned-test-")
    assert [one.name for one in kept.path.iterdir()] == ["watch.mrec"]


def test_a_link_and_a_folder_of_others_making_stay(temporary: Path) -> None:
    (temporary / "elsewhere").mkdir()
    (temporary / "elsewhere" / OWNER).touch()
    (temporary / "milestoned-test-link").symlink_to("elsewhere")
    (temporary / "milestoned-test-x").mkdir()
    remove_abandoned("milestoned-test-")
    assert len(list(temporary.iterdir())) == 3
    assert (temporary / "elsewhere" / OWNER).exists()


@pytest.mark.parametrize("command", [demo, watch])
def test_the_commands_make_no_folder_that_nobody_holds(command: object) -> None:
    text = Path(str(getattr(command, "__file__", ""))).read_text()
    assert "Scratch(" in text
    assert "mkdtemp" not in text

"""Folders for temporary files: what a kill left goes with the next start, what lives or is kept
stays."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from common.scratch import OWNER, Scratch, remove_abandoned
from tests.api.processes import ROOT
from tests.support.chromium import needs_chromium

PROGRAM = """
import sys
from common.scratch import Scratch
held = Scratch("milestoned-test-")
(held.path / "service").mkdir()
(held.path / "service" / "log").write_text("x")
print(held.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A folder for temporary files of the test's own, for this process and for those that it
    starts. Its path is short: Chromium puts a socket there, whose path the kernel limits."""
    tmp_path_factory.getbasetemp()  # of all tests, and made where temporary files are by then
    with tempfile.TemporaryDirectory(prefix="own-") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr("tempfile.tempdir", None)
        yield Path(folder)


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


HOLDS = {
    "an export into an object store": """
from api.exporting.object_stores import staged_for
with staged_for("file://" + sys.argv[1]) as folder:
    wait(folder)
""",
    "questions asked offline": """
import asyncio
from api.rescoring.offline_questions import opened
async def run():
    async with opened(None, go_on=False):
        wait("")
asyncio.run(run())
""",
}
"""Programs that are killed while they hold their folder for temporary files."""
WAITING = """
import sys
def wait(folder):
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("name", HOLDS)
def test_the_next_start_removes_what_a_killed_process_held(
    name: str, temporary: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = str(tmp_path_factory.mktemp("store"))
    left: list[Path] = []
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", WAITING + HOLDS[name], store],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        process.stdout.readline()
        folders = [path for path in temporary.iterdir() if path.is_dir()]
        assert len(folders) == 1, "what the one before held is gone"
        assert folders != left
        left = folders
        process.kill()
        process.communicate()


SCRIPT = {
    "id": "t",
    "version": "1",
    "instruction": "Read it",
    "origin": "http://127.0.0.1:8000",
    "probes": [
        {"id": f"p{n}", "script": {"url": "/*", "expression": "(() => { for (;;); })()"}}
        for n in range(16)
    ],
    "milestones": [{"id": "a", "when": {"probe_answers": {"probe": "p0", "value": 1}}}],
}


def browsers(profile: Path) -> list[int]:
    """Processes whose command line names the profile."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                if str(profile).encode() in (process / "cmdline").read_bytes():
                    found.append(int(process.name))
    return found


@pytest.mark.browser
@needs_chromium
def test_a_killed_check_of_scripts_takes_its_browser_along_and_the_next_one_its_profile(
    temporary: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    task = tmp_path_factory.mktemp("task") / "t.json"
    task.write_text(json.dumps(SCRIPT))
    command = [sys.executable, "-m", "api.cli.main", "task", "check", str(task)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)

    def profiles() -> list[Path]:
        return [path.parent for path in temporary.glob("*/DevToolsActivePort")]

    assert eventually(lambda: bool(profiles()) or process.poll() is not None)
    [profile] = profiles()
    assert browsers(profile)
    process.kill()
    process.wait()
    assert eventually(lambda: not browsers(profile))
    assert profile.exists()
    subprocess.run(command, cwd=ROOT, stderr=subprocess.DEVNULL, check=False, timeout=120)
    assert not profile.exists()


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether ``condition`` holds within a minute."""
    latest = time.monotonic() + 60
    while not condition():
        if time.monotonic() > latest:
            return False
        time.sleep(0.02)
    return True


def test_nobody_makes_a_folder_that_nobody_holds() -> None:
    """Fences lock theirs themselves: it has to be empty."""
    makers = {
        str(path.relative_to(ROOT))
        for room in ("agentd", "api", "common", "detectors", "lab")
        for path in (ROOT / room).rglob("*.py")
        if re.search(r"mkdtemp|mkstemp|TemporaryDirectory|NamedTemporaryFile", path.read_text())
    }
    assert makers == {"common/scratch.py", "agentd/sources/files/fences.py"}

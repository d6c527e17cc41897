"""Two services on one data folder, and a database that is put back as it was: no reward is another than without it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from milestoned_client import Episode

from tests.faults.checks import whole
from tests.faults.script import run, task
from tests.support.stack import Stack, gist

STEPS = 6


def second_service(stack: Stack) -> subprocess.CompletedProcess[str]:
    """Start another service on the stack's data folder; it is expected to end by itself."""
    command = [sys.executable, "-m", "api.cli", "serve", "--data", str(stack.folder / "service"), "--port", "0"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_second_service_on_the_folder_is_refused_under_load_and_the_first_goes_on(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        calm = run(stack, tmp_path / "notes", STEPS)
        refused: list[subprocess.CompletedProcess[str]] = []

        def within(step: int, _: Episode) -> None:
            if step in (1, 4):
                refused.append(second_service(stack))

        shaken = run(stack, tmp_path / "notes", STEPS, within=within)
        assert [done.returncode for done in refused] == [2, 2]
        assert all("another service works here" in done.stderr for done in refused)
        assert gist(shaken) == gist(calm)
        whole(stack, shaken, task(STEPS))


def test_a_database_that_is_put_back_gets_from_the_daemon_what_it_lacks(tmp_path: Path) -> None:
    """Secret and signing key are as before: what was sealed since the backup is sealed again, in the same bytes."""
    data, backup = tmp_path / "service", tmp_path / "backup"
    bodies: dict[int, bytes] = {}
    with Stack(tmp_path) as stack:
        calm = run(stack, tmp_path / "notes", STEPS)

        def between(step: int) -> None:
            if step == 2:
                stack.kill_service()
                shutil.copytree(data, backup)
                stack.start_service()
            if step == 4:
                bodies.update({one: stack.episode.reward(one, wait_s=0).body for one in range(4)})
                stack.kill_service()
                shutil.rmtree(data)
                shutil.copytree(backup, data)
                stack.start_service()

        shaken = run(stack, tmp_path / "notes", STEPS, between)
        assert gist(shaken) == gist(calm)
        assert {one: stack.episode.reward(one, wait_s=0).body for one in range(4)} == bodies
        whole(stack, shaken, task(STEPS))

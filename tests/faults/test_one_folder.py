"""Two services on one data folder or one database's file, two daemons on one state folder: the
second is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from milestoned_client import Episode

from tests.faults.checks import whole
from tests.faults.script import run, task
from tests.support.stack import Stack, gist

STEPS = 6


def second_service(data: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Start another service on the data folder; it is expected to end by itself."""
    command = [
        sys.executable,
        "-m",
        "api.cli.main",
        "serve",
        "--data",
        str(data),
        "--port",
        "0",
        *options,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_second_service_on_the_folder_is_refused_under_load_and_the_first_goes_on(
    tmp_path: Path,
) -> None:
    with Stack(tmp_path) as stack:
        calm = run(stack, tmp_path / "notes", STEPS)
        refused: list[subprocess.CompletedProcess[str]] = []

        def within(step: int, _: Episode) -> None:
            if step in (1, 4):
                refused.append(second_service(tmp_path / "service"))

        shaken = run(stack, tmp_path / "notes", STEPS, within=within)
        assert [done.returncode for done in refused] == [2, 2]
        assert all("another service works here" in done.stderr for done in refused)
        assert gist(shaken) == gist(calm)
        whole(stack, shaken, task(STEPS))


@pytest.mark.slow
def test_a_second_service_on_the_database_s_file_is_refused_under_load_and_the_first_goes_on(
    tmp_path: Path,
) -> None:
    """With a data folder of its own and the same file, also by another name for it."""
    with Stack(tmp_path) as stack:
        calm = run(stack, tmp_path / "notes", STEPS)
        file, name = tmp_path / "service" / "milestoned.db", tmp_path / "name.db"
        name.symlink_to(file)
        refused: list[subprocess.CompletedProcess[str]] = []

        def within(step: int, _: Episode) -> None:
            if step in (1, 4):
                path = file if step == 1 else name
                refused.append(
                    second_service(tmp_path / "second", "--database", f"sqlite:///{path}")
                )

        shaken = run(stack, tmp_path / "notes", STEPS, within=within)
        assert [done.returncode for done in refused] == [2, 2]
        assert all("a database in a file has one service" in done.stderr for done in refused)
        assert gist(shaken) == gist(calm)
        whole(stack, shaken, task(STEPS))


@pytest.mark.slow
@pytest.mark.slow_where("postgres")
def test_a_second_daemon_on_the_state_folder_is_refused_under_load_and_the_first_goes_on(
    stack: Stack, tmp_path: Path
) -> None:
    calm = run(stack, tmp_path / "notes", STEPS)
    refused: list[subprocess.CompletedProcess[str]] = []

    def within(step: int, _: Episode) -> None:
        if step in (1, 4):
            command = [
                sys.executable,
                "-m",
                "agentd",
                "run",
                "--service",
                stack.url,
                "--episode",
                stack.episode.id,
            ]
            command += [
                "--token-file",
                str(stack.state / "append.token"),
                "--state",
                str(stack.state),
            ]
            refused.append(
                subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
            )

    shaken = run(stack, tmp_path / "notes", STEPS, within=within)
    assert [done.returncode for done in refused] == [2, 2]
    assert all(f"pid {stack.daemon.part.pid}" in done.stderr for done in refused)
    assert gist(shaken) == gist(calm)
    whole(stack, shaken, task(STEPS))

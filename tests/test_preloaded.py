"""A process that was forked with its imports made is one like any other."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import psutil
import pytest

from tests.support.preloaded import Forked, launch
from tests.support.small_disk import SmallDisk, needs_root

MILESTONED = (sys.executable, "-m", "api.cli.main")


def test_it_says_and_ends_as_one_that_was_started(tmp_path: Path) -> None:
    for arguments in (("--version",), ("serve", "--port", "no"), ("db", "check", "--data", "d")):
        said = []
        for start in (launch, subprocess.Popen):
            out = tmp_path / start.__name__
            with out.open("wb") as file:
                process = start(
                    [*MILESTONED, *arguments], stdout=file, stderr=file, cwd=tmp_path, env=os.environ
                    | {"PYTHONPATH": str(Path(__file__).parents[1])},
                )  # fmt: skip
            said.append((process.wait(60), out.read_text()))
        assert said[0] == said[1], arguments
    assert version("milestoned") in launch_version(tmp_path)


def launch_version(folder: Path) -> str:
    with (folder / "out").open("wb") as file:
        assert launch([*MILESTONED, "--version"], stdout=file).wait(60) == 0
    return (folder / "out").read_text()


@needs_root
def test_it_sees_a_disk_that_only_this_test_has(tmp_path: Path) -> None:
    """A service that was forked wrote beside a full disk, and the test of that disk said nothing."""
    with SmallDisk(tmp_path / "small", 20) as disk:
        data = disk.folder / "data"
        process = launch([*MILESTONED, "db", "upgrade", "--data", str(data)], cwd=disk.folder)
        assert process.wait(60) == 0
        assert (data / "milestoned.db").is_file()
    assert not data.exists()


def test_it_is_this_process_s_own_child_and_can_be_killed(tmp_path: Path) -> None:
    command = [*MILESTONED, "serve", "--port", "0", "--data", str(tmp_path / "data")]
    process = launch(command, stdout=subprocess.DEVNULL, start_new_session=True)
    assert isinstance(process, Forked)
    assert psutil.Process(process.pid).ppid() == os.getpid()
    latest = time.monotonic() + 60
    while os.getsid(process.pid) != process.pid:
        assert time.monotonic() < latest, "expected a session of its own"
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.001)
    process.kill()
    assert process.wait(60) == -9


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ((sys.executable, "-c", "pass"), {}),
        (("env", "A=1", *MILESTONED, "--version"), {}),
        ((*MILESTONED, "--version"), {"LD_BIND_NOW": "1"}),
    ],
    ids=["another program", "one behind another", "what the linker reads"],
)
def test_what_has_to_start_by_itself_does(command: tuple[str, ...], more: dict[str, str]) -> None:
    process = launch(command, stdout=subprocess.DEVNULL, env=os.environ | more)
    assert isinstance(process, subprocess.Popen)
    assert process.wait(60) == 0


def test_what_python_reads_as_it_starts_it_has_read(tmp_path: Path) -> None:
    environ = os.environ | {"PYTHONWARNINGS": "error", "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [*MILESTONED, "db", "check", "--data", "nowhere"]
    process = launch(command, stderr=subprocess.DEVNULL, cwd=tmp_path, env=environ)
    parent = psutil.Process(process.pid).environ()
    assert parent["PYTHONWARNINGS"] == "error"
    assert process.wait(60) == subprocess.run(
        command, stderr=subprocess.DEVNULL, cwd=tmp_path, env=environ, check=False
    ).returncode  # fmt: skip

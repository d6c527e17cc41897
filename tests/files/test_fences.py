"""The folders for fences: each goes with its process, and what a killed process left goes with the
next start."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentd.sources.files.fences import PREFIX, FenceFolder, remove_abandoned
from tests.agentd.support.peer import Peer
from tests.agentd.support.process import ROOT, DaemonProcess


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of the test's own, for this process and for those that it
    starts."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def folders(temporary: Path) -> set[Path]:
    return set(temporary.glob("agentd-fence*"))


def watching(peer: Peer, folder: Path) -> DaemonProcess:
    (folder / "seen").mkdir(parents=True)
    return DaemonProcess(peer.url, folder, "--files", f"x={folder / 'seen'}")


async def test_a_killed_daemons_folder_goes_with_the_next_start_and_a_living_ones_stays(
    temporary: Path, tmp_path: Path
) -> None:
    async with (
        Peer() as one,
        Peer() as two,
        Peer() as three,
        watching(one, tmp_path / "one") as killed,
        watching(two, tmp_path / "two") as living,
    ):
        await killed.all_ready()
        await living.all_ready()
        before = folders(temporary)
        assert len(before) == 2
        await killed.kill()
        assert folders(temporary) == before
        async with watching(three, tmp_path / "three") as fresh:
            await fresh.all_ready()
            assert len(folders(temporary) & before) == 1
            assert len(folders(temporary)) == 2
            await living.post("/v1/steps")
            (tmp_path / "two" / "seen" / "a").write_text("a")
            await living.post("/v1/steps/0:end?wait=seal")
            await fresh.post("/v1/close")
            assert (await fresh.ended())[0] == 0
        await living.post("/v1/close")
        assert (await living.ended())[0] == 0
        assert "file.created" in two.kinds
        assert folders(temporary) == set()


ENDS: dict[str, str] = {
    "at the end of the program": "",
    "by an exception": "raise ValueError",
    "by sys.exit": "import sys; sys.exit(3)",
    "after a fork": "import os; os.fork() or os._exit(0); os.wait()",
    "once nobody has it any more": "import os, gc; del kept; gc.collect(); os._exit(0)",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_folder_goes_with_its_process(temporary: Path, end: str) -> None:
    program = (
        "from agentd.sources.files.fences import FenceFolder\nkept ="
        f" FenceFolder()\nprint(kept.path)\n{ENDS[end]}"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert PREFIX in run.stdout, run.stderr
    assert folders(temporary) == set()


def test_a_forked_process_that_ends_leaves_its_parents_folder(temporary: Path) -> None:
    program = (
        "import os, sys\nfrom agentd.sources.files.fences import FenceFolder\nkept ="
        " FenceFolder()\nif os.fork() == 0: sys.exit(0)\nos.wait()\nprint(kept.path.exists())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert run.stdout == "True\n", run.stderr


def _of_a_dead_process(path: Path) -> None:
    path.mkdir()
    (path / "7").touch()


def _link(path: Path) -> None:
    (path.parent / "elsewhere").mkdir()
    (path.parent / "elsewhere" / "7").touch()
    path.symlink_to("elsewhere")


def _of_another_user(path: Path) -> None:
    path.mkdir()
    os.chown(path, 65534, 65534)


def _with_a_folder_in_it(path: Path) -> None:
    (path / "folder").mkdir(parents=True)


def _file(path: Path) -> None:
    path.touch()


@pytest.mark.parametrize(
    ("make", "stays"),
    [(_of_a_dead_process, False), (_link, True), (_with_a_folder_in_it, True), (_file, True)],
)
def test_only_what_such_a_process_leaves_is_removed(
    temporary: Path, make: Callable[[Path], None], stays: bool
) -> None:
    path = temporary / f"{PREFIX}x"
    make(path)
    remove_abandoned()
    assert os.path.lexists(path) == stays
    assert (temporary / "elsewhere" / "7").exists() == (make is _link)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_another_users_folder_stays(temporary: Path) -> None:
    _of_another_user(temporary / f"{PREFIX}x")
    remove_abandoned()
    assert folders(temporary) == {temporary / f"{PREFIX}x"}


def test_a_folder_that_was_taken_for_abandoned_before_its_lock_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may start between the making of the folder and its lock."""
    flock = fcntl.flock
    calls: list[int] = []

    def late(fd: int, how: int) -> None:
        calls.append(how)
        if len(calls) == 1:
            remove_abandoned()
        flock(fd, how)

    monkeypatch.setattr("fcntl.flock", late)
    kept = FenceFolder()
    assert folders(temporary) == {kept.path}
    kept.remove()
    assert folders(temporary) == set()

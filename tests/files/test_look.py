"""One look at one file: what is read, what is left unread and says why, and what it leaves behind:
nothing."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentd.sources.files.look import UnsettledError, look
from agentd.sources.files.troubles import Troubles
from agentd.sources.files.walk import Root, scan
from tests.files.watching import Watch

HOUR = 3600 * 10**9


def rooted(path: Path) -> Root:
    return Root("root", path, Troubles())


def test_content_is_hashed_and_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n")
    facts = look(rooted(tmp_path), "a.csv")
    assert facts is not None
    assert (facts.size, facts.sha256, facts.mime) == (
        4,
        hashlib.sha256(b"a,b\n").hexdigest(),
        "text/csv",
    )
    assert look(rooted(tmp_path), "missing") is None


@pytest.mark.parametrize(
    ("limits", "why"), [({"hash_bytes": 4}, "large"), ({"hash_s": 0.0}, "slow")]
)
def test_what_takes_too_long_has_no_hash_and_says_so(
    tmp_path: Path, limits: dict[str, float], why: str
) -> None:
    """Size and kind are known all the same."""
    (tmp_path / "big.json").write_text('{"a": 1}')
    facts = look(rooted(tmp_path), "big.json", **limits)  # type: ignore[arg-type]
    assert facts is not None
    assert (facts.size, facts.sha256, facts.mime, facts.unread) == (
        8,
        None,
        "application/json",
        why,
    )


def test_a_file_that_changes_while_it_is_read_is_not_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that appends between two reads: no hash of half a file."""
    path = tmp_path / "growing"
    path.write_bytes(b"x" * (1 << 20))
    read = os.read

    def and_write(fd: int, size: int) -> bytes:
        with path.open("ab") as file:
            file.write(b"more")
        return read(fd, size)

    monkeypatch.setattr(os, "read", and_write)
    with pytest.raises(UnsettledError) as unsettled:
        look(rooted(tmp_path), "growing", hash_s=0.0)
    facts = unsettled.value.facts
    assert facts is not None
    assert (facts.size, facts.sha256, facts.unread) == (path.stat().st_size, None, "busy")


def test_a_file_that_grows_as_fast_as_it_is_read_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end never comes: nobody reads on after it."""
    path = tmp_path / "growing"
    path.write_bytes(b"x" * (1 << 20))
    read, reads = os.read, 0

    def and_write(fd: int, size: int) -> bytes:
        nonlocal reads
        reads += 1
        if reads < 20:
            with path.open("ab") as file:
                file.write(b"x" * (1 << 20))
        return read(fd, size)

    monkeypatch.setattr(os, "read", and_write)
    with pytest.raises(UnsettledError):
        look(rooted(tmp_path), "growing")
    assert reads == 2


async def test_times_are_as_without_the_daemon(tmp_path: Path) -> None:
    """Access, change and modification times of files and folders, old ones and new ones; and
    nothing is left there."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").write_text("old")
    places = (
        tmp_path,
        tmp_path / "folder",
        tmp_path / "folder" / "old",
        tmp_path / "folder" / "new",
    )
    async with Watch(tmp_path) as watch:
        (tmp_path / "folder" / "new").write_text("new")
        for path in places:
            # An access time before the modification is what a plain reader would move on.
            os.utime(path, ns=(1000 * HOUR, 2000 * HOUR))
        before = [os.stat(path) for path in places]
        (tmp_path / "sign").mkdir()
        os.utime(tmp_path, ns=(1000 * HOUR, 2000 * HOUR))
        assert ("file.created", "folder/new") in await watch.fenced()
        await watch.until(lambda: ("folder.created", "sign") in watch.changes)
        list(scan(rooted(tmp_path)))
        for path, was in list(zip(places, before, strict=True))[1:]:
            now = os.stat(path)
            assert (
                (now.st_atime_ns, now.st_mtime_ns)
                == (was.st_atime_ns, was.st_mtime_ns)
                == (1000 * HOUR, 2000 * HOUR)
            )
            assert now.st_ctime_ns == was.st_ctime_ns
        assert os.stat(tmp_path).st_atime_ns == 1000 * HOUR
        assert sorted(os.listdir(tmp_path)) == ["folder", "sign"]
        assert watch.alarms == []


POWERLESS = """
import asyncio, sys, pathlib
from tests.files.watching import Watch

async def main(root):
    (root / "shut").write_text("shut")
    (root / "shut").chmod(0)
    (root / "closed").mkdir()
    (root / "closed" / "in").write_text("in")
    (root / "closed").chmod(0)
    async with Watch(root) as watch:
        print(watch.said)
        (root / "shut").chmod(0o600)
        await watch.until(lambda: ("file.mode_changed", "shut") in watch.changes)
        (root / "closed").chmod(0o700)
        await watch.until(lambda: ("file.created", "closed/in") in watch.changes)
        await watch.until(lambda: ("file.modified", "shut") in watch.changes)
        await watch.until(lambda: len(watch.alarms) == 3)
        assert watch.alarms == [
            ("alarm.raised", "access times"), ("alarm.raised", "folders"), ("alarm.ended", "folders"),
        ], watch.alarms

asyncio.run(main(pathlib.Path(sys.argv[1])))
"""


def test_a_folder_that_can_t_be_listed_is_not_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk's error: an alarm, and no word on what is in it."""
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "in").write_text("in")
    root = rooted(tmp_path)
    closed: list[str] = []
    scandir = os.scandir

    def failing(fd: int) -> Any:
        if os.readlink(f"/proc/self/fd/{fd}").endswith("/bad"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return scandir(fd)

    monkeypatch.setattr(os, "scandir", failing)
    assert [one.path for one in scan(root, "", closed)] == ["bad"]
    assert closed == ["bad"]
    said: list[tuple[str, Any]] = []
    root.troubles.publish(lambda kind, data: said.append((kind, data)))
    assert said == [
        (
            "alarm.raised",
            {"source": "files", "part": "folders", "reason": "root/bad: Input/output error"},
        )
    ]


CLOSED = """
import asyncio, pathlib, sys
from tests.files.watching import Watch

async def main(root):
    (root / "shut").mkdir()
    with (root / "shut" / "in").open("w") as file:
        file.write("before")
        file.flush()
        async with Watch(root) as watch:
            (root / "shut").chmod(0)
            file.write("after")
            file.flush()
            await watch.source.fence(20)
            await watch.source.before_seal(0, closing=False)
            assert watch.changes == [], watch.changes
            (root / "shut").chmod(0o700)
            await watch.until(lambda: ("file.modified", "shut/in") in watch.changes)
            assert watch.files == [("file.modified", "shut/in")], watch.files

asyncio.run(main(pathlib.Path(sys.argv[1])))
"""


def powerless(script: str, folder: Path) -> str:
    """What a program prints that has none of root's powers over files."""
    if subprocess.run(["which", "setpriv"], capture_output=True).returncode:
        pytest.skip("setpriv (util-linux) is not here")
    command = [
        "setpriv",
        "--bounding-set=-all",
        "--inh-caps=-all",
        sys.executable,
        "-c",
        script,
        str(folder),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.skipif(
    os.geteuid() != 0, reason="gives up root's powers over files to test without them"
)
def test_what_is_in_a_closed_folder_is_not_gone(tmp_path: Path) -> None:
    """What is written there meanwhile is told when the folder is open again."""
    powerless(CLOSED, tmp_path)


@pytest.mark.skipif(
    os.geteuid() != 0, reason="gives up root's powers over files to test without them"
)
def test_what_may_not_be_read_is_said(tmp_path: Path) -> None:
    """A file without its content, a folder by an alarm, until they are opened to us; and an alarm
    where a file is another user's, so that reading it may be seen."""
    (tmp_path / "theirs").write_text("theirs")
    os.chown(tmp_path / "theirs", 12345, 12345)
    assert "'unread_reason': 'denied'" in powerless(POWERLESS, tmp_path)

"""The files source on a real directory: settled content once, by whatever way it is written."""

from __future__ import annotations

import asyncio
import ctypes
import hashlib
import os
import shutil
from pathlib import Path
from random import Random

import pytest

from agentd.core.source import SourceLostError
from tests.files.watching import Watch

_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of renameat2(2)."""


async def test_the_baseline_comes_first(tmp_path: Path) -> None:
    """What lies there is present, in directories too; temporary names are not said, and links are
    not read."""
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    (root / "d" / "a.txt").write_text("old")
    (root / "half.crdownload").write_text("h")
    (tmp_path / "secret").write_text("s")
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "d" / "a.txt").chmod(0o640)
    async with Watch(root) as watch:
        assert [(kind, data["path"]) for kind, data in watch.said] == [
            ("file.present", "d/a.txt"), ("file.present", "out"),
        ]  # fmt: skip
        assert watch.data("d/a.txt") == {
            "root": "root", "path": "d/a.txt", "name": "a.txt", "size": 3, "mode": "0640", "mime": "text/plain",
            "sha256": hashlib.sha256(b"old").hexdigest(), "baseline": True,
        }  # fmt: skip


async def test_a_fence_brings_what_was_written(tmp_path: Path) -> None:
    """Closed before the fence, said before it returns; no waiting for quiet."""
    async with Watch(tmp_path) as watch:
        for number in range(20):
            (tmp_path / f"{number}.txt").write_text(f"content {number}")
        assert sorted(await watch.fenced()) == sorted(
            ("file.created", f"{number}.txt") for number in range(20)
        )


async def test_a_download_as_chrome_makes_it(tmp_path: Path) -> None:
    """One creation, under its final name, with the whole content's hash."""
    async with Watch(tmp_path) as watch:
        part = tmp_path / "Unconfirmed 77.crdownload"
        with part.open("wb") as file:
            for _ in range(50):
                file.write(b"x" * 1000)
                file.flush()
        part.rename(tmp_path / "invoice.csv")
        assert await watch.fenced() == [("file.created", "invoice.csv")]
        said = watch.data("invoice.csv")
        assert (said["via"], said["size"]) == ("download", 50_000)
        assert said["sha256"] == hashlib.sha256(b"x" * 50_000).hexdigest()


async def test_saves_of_editors(tmp_path: Path) -> None:
    """Temp-and-rename is one event; the same content again is none; a move names where it came
    from."""
    async with Watch(tmp_path) as watch:
        (tmp_path / "a.tmp").write_text("one")
        (tmp_path / "a.tmp").rename(tmp_path / "a")
        assert await watch.fenced() == [("file.created", "a")]
        (tmp_path / "a.tmp").write_text("two")
        (tmp_path / "a.tmp").rename(tmp_path / "a")
        assert (await watch.fenced())[1:] == [("file.modified", "a")]
        (tmp_path / "a").write_text("two")
        (tmp_path / "a").rename(tmp_path / "b")
        (tmp_path / "b").unlink()
        assert (await watch.fenced())[2:] == [("file.moved", "b"), ("file.deleted", "b")]


async def test_an_open_file_settles_by_quiet(tmp_path: Path) -> None:
    """A file that stays open is said once it rests, and an empty one once it stays empty."""
    async with Watch(tmp_path) as watch:
        with (tmp_path / "log").open("w") as file:
            file.write("line")
            file.flush()
            (tmp_path / "empty").touch()
            await watch.until(lambda: len(watch.changes) == 2)
        assert sorted(watch.changes) == [("file.created", "empty"), ("file.created", "log")]


async def test_directories_made_later_are_watched(tmp_path: Path) -> None:
    """Also what is in them before anybody could watch, and after they are renamed."""
    async with Watch(tmp_path) as watch:
        (tmp_path / "x" / "y").mkdir(parents=True)
        (tmp_path / "x" / "y" / "a").write_text("a")
        await watch.until(lambda: watch.files)
        (tmp_path / "x").rename(tmp_path / "z")
        (tmp_path / "z" / "y" / "b").write_text("b")
        changes = await watch.fenced()
        assert changes == [
            ("folder.created", "x"), ("folder.created", "x/y"), ("file.created", "x/y/a"),
            ("folder.moved", "z"), ("folder.moved", "z/y"), ("file.moved", "z/y/a"), ("file.created", "z/y/b"),
        ]  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_happens_the_end_is_known(tmp_path: Path, seed: int) -> None:
    """Two hundred random acts on files and directories, as fast as they go: told in order, they
    give the disk."""
    random = Random(seed)
    folders = [tmp_path]
    async with Watch(tmp_path) as watch:
        for number in range(200):
            folders = [folder for folder in folders if folder.is_dir()]
            folder, other = random.choice(folders), random.choice(folders)
            files = [path for path in folder.iterdir() if path.is_file()]
            act = random.random()
            if act < 0.2:
                (folder / f"d{number % 5}").mkdir(exist_ok=True)
                folders.append(folder / f"d{number % 5}")
            elif act < 0.3 and folder not in (tmp_path, other) and not other.is_relative_to(folder):
                folder.rename(other / f"e{number}")
                folders.append(other / f"e{number}")
            elif act < 0.35 and folder != tmp_path:
                shutil.rmtree(folder)
            elif act < 0.5 and files:
                random.choice(files).rename(other / f"m{number % 7}")
            elif act < 0.6 and files:
                random.choice(files).unlink()
            else:
                (folder / f"f{number % 7}").write_text(str(number))
            if random.random() < 0.1:
                await asyncio.sleep(0.002)  # fixed: the watcher keeps up now and then
        disk = {
            str(path.relative_to(tmp_path)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in tmp_path.rglob("*")  # noqa: ASYNC240
            if path.is_file()
        }
        await watch.until(lambda: watch.known() == disk)
        there = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_dir()}  # noqa: ASYNC240
        await watch.until(lambda: watch.folders() == there)


async def test_two_files_that_change_places(tmp_path: Path) -> None:
    """In one system call, which the kernel tells as two renames: in the end each holds what the
    other held."""
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    async with Watch(tmp_path) as watch:
        libc = ctypes.CDLL(None, use_errno=True)
        paths = [os.fsencode(tmp_path / name) for name in ("a", "b")]
        assert libc.renameat2(_HERE, paths[0], _HERE, paths[1], _EXCHANGE) == 0, os.strerror(
            ctypes.get_errno()
        )
        await watch.fenced()
        assert watch.known() == {
            "a": hashlib.sha256(b"b").hexdigest(), "b": hashlib.sha256(b"a").hexdigest(),
        }  # fmt: skip


async def test_moves_over_the_edge(tmp_path: Path) -> None:
    """Out of the root is gone, into it is new; a directory that left is nobody's business any
    more."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "d").mkdir(parents=True)
    outside.mkdir()
    (root / "d" / "a").write_text("a")
    async with Watch(root) as watch:
        (root / "d").rename(outside / "d")
        await watch.fenced()
        (outside / "d" / "late").write_text("late")
        (outside / "d" / "a").rename(root / "b")
        assert await watch.fenced() == [
            ("file.deleted", "d/a"),
            ("folder.deleted", "d"),
            ("file.created", "b"),
        ]


async def test_two_roots_and_a_move_between_them(tmp_path: Path) -> None:
    """Each event names its root; between roots a move is an end here and a beginning there."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    async with Watch(one, two=two) as watch:
        (one / "a").write_text("a")
        await watch.fenced()
        (one / "a").rename(two / "a")
        await watch.fenced()
        assert [(kind, data["root"]) for kind, data in watch.said] == [
            ("file.created", "root"), ("file.deleted", "root"), ("file.created", "two"),
        ]  # fmt: skip


async def test_watching_leaves_no_trace(tmp_path: Path) -> None:
    """Access and modification times stay, and nothing is left in the directory."""
    old = tmp_path / "old"
    old.write_text("old")
    os.utime(old, (1_000_000_000, 1_000_000_000))
    async with Watch(tmp_path) as watch:
        new = tmp_path / "new"
        new.write_text("new")
        os.utime(new, (1_000_000_000, 1_000_000_000))
        assert await watch.fenced() == [("file.created", "new")]
        for path in (old, new):
            assert (path.stat().st_atime, path.stat().st_mtime) == (1_000_000_000, 1_000_000_000)
        assert sorted(os.listdir(tmp_path)) == ["new", "old"]


async def test_a_lost_root_is_a_lost_source(tmp_path: Path) -> None:
    """When the directory goes, the source says so; without it, it does not start."""
    root = tmp_path / "root"
    root.mkdir()
    async with Watch(root) as watch:
        assert watch.task is not None
        root.rmdir()
        with pytest.raises(SourceLostError, match="root is gone"):
            await asyncio.wait_for(watch.task, 60)
    async with Watch(root) as watch:
        assert watch.task is not None
        with pytest.raises(SourceLostError, match="root: No such file"):
            await watch.task

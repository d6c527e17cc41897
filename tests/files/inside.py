"""Scenes that need a world of their own: few watches, or mounts. Run as ``python -m
tests.files.inside SCENE DIR`` in namespaces that `enter` makes, so that nothing of the machine's is
touched."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import orjson
import pytest

from agentd.core.source import SourceLostError
from tests.files.watching import Watch

FEW_WATCHES = "echo 3 >/proc/sys/user/max_inotify_watches"


def enter(scene: str, folder: Path, *, before: str = "true", mounts: bool = False) -> None:
    """Run a scene as root of a new user namespace, after the shell command ``before``; skips where
    that may not be."""
    command = ["unshare", "-Urm" if mounts else "-Ur", "sh", "-c"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*command, before], capture_output=True).returncode
    ):
        pytest.skip("this machine gives tests no namespaces of their own")
    inside = f"{before} && exec {sys.executable} -W error -m tests.files.inside {scene} {folder}"
    ran = subprocess.run([*command, inside], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-5000:]


def sysctl(name: str, value: int) -> None:
    Path("/proc/sys/user", name).write_text(str(value))


async def few_watches(root: Path) -> None:
    """With watches for the fence, the root and one folder: the rest is read now and then, until
    there are more."""
    for name in "abcd":
        (root / name).mkdir()
        (root / name / "old").write_text("old")
    async with Watch(root) as watch:
        assert watch.alarms == [("alarm.raised", "watches")], watch.said
        assert "folders are read every 1 s instead" in watch.said[-1][1]["reason"]
        (root / "d" / "new").write_text("new")
        (root / "d" / "old").write_text("changed")
        (root / "c" / "old").unlink()
        (root / "e" / "f").mkdir(parents=True)
        (root / "e" / "f" / "deep").write_text("deep")
        (root / "b" / "old").chmod(0o600)
        await watch.until(
            lambda: {
                ("file.created", "d/new"), ("file.modified", "d/old"), ("file.deleted", "c/old"),
                ("folder.created", "e"), ("folder.created", "e/f"), ("file.created", "e/f/deep"),
                ("file.mode_changed", "b/old"),
            } == set(watch.changes)
        )  # fmt: skip
        shutil.rmtree(root / "e")
        await watch.until(lambda: watch.changes[-1] == ("folder.deleted", "e"))
        sysctl("max_inotify_watches", 100)
        await watch.until(lambda: watch.alarms[1:] == [("alarm.ended", "watches")])
        (root / "d" / "told").write_text("by the kernel again")
        await watch.source.fence(20)
        assert watch.changes[-1] == ("file.created", "d/told")
    said = [[kind, data] for kind, data in watch.said if kind.startswith("alarm.")]
    (root.parent / "said.jsonl").write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in said))


async def no_instance(root: Path) -> None:
    """Without any inotify instance everything is read now and then, and told by the kernel once
    there is one."""
    (root / "a").mkdir()
    async with Watch(root) as watch:
        assert watch.alarms == [("alarm.raised", "watches")], watch.said
        assert "max_user_instances" in watch.said[-1][1]["reason"]
        (root / "a" / "new").write_text("new")
        await watch.source.fence(20)
        await watch.until(lambda: ("file.created", "a/new") in watch.changes)
        sysctl("max_inotify_instances", 10)
        await watch.until(lambda: watch.alarms[1:] == [("alarm.ended", "watches")])
        (root / "a" / "told").write_text("by the kernel")
        await watch.source.fence(20)
        assert watch.changes[-1] == ("file.created", "a/told")


def mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *arguments], check=True)


def umount(folder: Path) -> None:
    subprocess.run(["umount", folder], check=True)


async def mounted_below(root: Path) -> None:
    """A file system that is mounted below the root hides what was there, is watched, and gives it
    back."""
    (root / "m").mkdir()
    (root / "m" / "under").write_text("under")
    async with Watch(root) as watch:
        mount("-t", "tmpfs", "none", root / "m")
        await watch.until(lambda: watch.changes == [("file.deleted", "m/under")])
        (root / "m" / "on").write_text("on")
        await watch.until(lambda: watch.files[1:] == [("file.created", "m/on")])
        await watch.source.fence(20)
        umount(root / "m")
        await watch.until(
            lambda: set(watch.files[2:]) == {("file.deleted", "m/on"), ("file.created", "m/under")}
        )
        (root / "m" / "again").write_text("again")
        await watch.until(lambda: watch.files[-1] == ("file.created", "m/again"))
        assert watch.alarms == [], watch.said


async def bound_and_overlaid(root: Path) -> None:
    """Bind and overlay mounts tell of what is done through them, whoever does it."""
    parts = [root.parent / name for name in ("bound", "lower", "upper", "work")]
    for part in parts:
        part.mkdir()
    bound, lower, upper, work = parts
    (lower / "below").write_text("below")
    for name in ("b", "o"):
        (root / name).mkdir()
    mount("--bind", bound, root / "b")
    mount(
        "-t",
        "overlay",
        "none",
        "-o",
        f"userxattr,lowerdir={lower},upperdir={upper},workdir={work}",
        root / "o",
    )
    async with Watch(root) as watch:
        (bound / "through the other name").write_text("x")
        (root / "o" / "below").write_text("copied up")
        (root / "o" / "new").write_text("new")
        await watch.source.fence(20)
        assert sorted(watch.changes) == [
            ("file.created", "b/through the other name"), ("file.created", "o/new"), ("file.modified", "o/below"),
        ]  # fmt: skip


async def unmounted(root: Path) -> None:
    """A root whose file system goes is a lost source; nothing of the watching keeps it from being
    unmounted."""
    mount("-t", "tmpfs", "none", root)
    (root / "file").write_text("file")
    async with Watch(root) as watch:
        (root / "other").write_text("other")
        await watch.source.fence(20)
        umount(root)
        assert watch.task is not None
        with pytest.raises(SourceLostError, match="was unmounted"):
            await asyncio.wait_for(watch.task, 60)


async def everything(root: Path) -> None:
    """The kernel's own windows, mounted below a root, are none of its files."""
    (root / "proc").mkdir()
    mount("--rbind", "/proc", root / "proc")
    (root / "file").write_text("file")
    async with Watch(root) as watch:
        assert [data["path"] for _, data in watch.said] == ["file"]
        assert watch.alarms == []


SCENES: dict[str, Callable[[Path], Awaitable[None]]] = {
    scene.__name__: scene
    for scene in (
        few_watches,
        no_instance,
        mounted_below,
        bound_and_overlaid,
        unmounted,
        everything,
    )
}


async def play(scene: str, folder: Path) -> None:
    root = folder / "root"
    root.mkdir()
    os.chdir(folder)
    await SCENES[scene](root)


if __name__ == "__main__":
    asyncio.run(play(sys.argv[1], Path(sys.argv[2])))

"""What went while nobody watched is told when somebody watches again: after a loss, and after a
restart."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentd.core.source import SourceLostError
from agentd.sources.files import FilesSource
from agentd.sources.files.memory import Memory
from tests.agentd.support.peer import Peer
from tests.agentd.support.process import DaemonProcess
from tests.files.watching import Watch


async def test_a_root_removed_and_made_again(tmp_path: Path) -> None:
    """What is deleted before the loss is told as it goes; what goes in the gap is told with the
    next baseline."""
    root, aside = tmp_path / "root", tmp_path / "aside"
    (root / "sub").mkdir(parents=True)
    (root / "kept").write_text("kept")
    (root / "sub" / "gone").write_text("gone")
    (root / "half.tmp").write_text("half")
    source = FilesSource({"root": root})
    async with Watch(root, source) as watch:
        (root / "made").mkdir()
        (root / "made" / "in").write_text("in")
        (root / "kept.tmp").write_text("told")
        await watch.until(
            lambda: (
                {("file.created", "made/in"), ("file.created", "kept.tmp")} <= set(watch.changes)
            )
        )
        root.rename(aside)
        assert watch.task is not None
        with pytest.raises(SourceLostError, match="root is gone"):
            await asyncio.wait_for(watch.task, 60)
    root.mkdir()
    (root / "kept").write_text("changed meanwhile")
    (root / "new").write_text("new")
    for name in ("half.tmp", "kept.tmp"):
        (root / name).write_text(name)
    async with Watch(root, source) as watch:
        assert [(kind, data["path"]) for kind, data in watch.said] == [
            ("file.present", "kept"), ("file.present", "kept.tmp"), ("file.present", "new"),
            ("file.deleted", "made/in"), ("file.deleted", "sub/gone"), ("folder.deleted", "made"),
        ]  # fmt: skip
        assert all(data["baseline"] is True for _, data in watch.said)
        (root / "kept").unlink()
        assert await watch.fenced() == [*watch.changes[:3], ("file.deleted", "kept")]
        assert "baseline" not in watch.data("kept")


async def test_a_restarted_daemon_tells_what_went_meanwhile(tmp_path: Path) -> None:
    """As far as its journal tells: what was there at the start, came, moved and stayed, is gone or
    is not."""
    root = tmp_path / "root"
    root.mkdir()
    for name in ("old", "moved", "stays"):
        (root / name).write_text(name)
    async with Peer() as peer, DaemonProcess(peer.url, tmp_path, "--files", str(root)) as daemon:
        await daemon.all_ready()
        await daemon.post("/v1/steps")
        (root / "new").write_text("new")
        (root / "moved").rename(root / "there")
        await daemon.post("/v1/steps/0:end?wait=seal")
        await daemon.kill()
        for name in ("old", "new", "there"):
            (root / name).unlink()
        await daemon.start()
        await daemon.all_ready()
        await daemon.post("/v1/close")
        await daemon.ended()
        assert peer.data("file.deleted") == [
            {"root": "root", "path": name, "name": name, "baseline": True}
            for name in ("new", "old", "there")
        ]


async def test_the_daemons_own_files_are_none_of_its_business(tmp_path: Path) -> None:
    """A journal that lay in a watched folder would tell of itself for ever."""
    async with (
        Peer() as peer,
        DaemonProcess(peer.url, tmp_path, "--files", f"all={tmp_path}") as daemon,
    ):
        await daemon.all_ready()
        await daemon.post("/v1/steps")
        (tmp_path / "file").write_text("file")
        await daemon.post("/v1/steps/0:end?wait=seal")
        await daemon.post("/v1/close")
        await daemon.ended()
        told = [event.data["path"] for event in peer.events if event.source == "files"]
        assert told == ["file"]


def test_of_a_folder_that_may_not_be_read_nobody_says_that_it_is_empty() -> None:
    memory = Memory()
    for path in ("shut/a", "open/b"):
        memory.note("file.present", {"root": "r", "path": path})
    assert [data["path"] for _, data in memory.removal_events("r", {"shut", "open"}, {"shut"})] == [
        "open/b"
    ]


async def test_names_that_are_not_text_stay_apart(tmp_path: Path) -> None:
    """Two names that no codec reads are told as two, and known again after a loss."""
    for name in ("caf\udce9.txt", "caf\udce8.txt"):  # Python's way of writing such names
        (tmp_path / name).write_text("old")
    source = FilesSource({"root": tmp_path})
    async with Watch(tmp_path, source) as watch:
        assert sorted(data["path"] for _, data in watch.said) == ["caf\\xe8.txt", "caf\\xe9.txt"]
        (tmp_path / "new\udcff").write_text("new")
        assert await watch.fenced() == [("file.created", "new\\xff")]
    async with Watch(tmp_path, source) as watch:
        assert [kind for kind, _ in watch.said] == ["file.present"] * 3
        (tmp_path / "new\udcff").rename(tmp_path / "newer")
        assert await watch.fenced() == [("file.moved", "newer")]
        assert watch.data("newer")["from"] == "new\\xff"

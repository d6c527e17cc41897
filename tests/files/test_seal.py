"""Before a step's seal, and at the close, what was done to files is told, also what nobody said to
be done."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agentd.sources.files import attachment, looks
from agentd.sources.files.facts import FileFacts
from agentd.sources.files.look import UnsettledError, look
from agentd.sources.files.notify import Note
from agentd.sources.files.walk import Root
from tests.files.watching import Watch

LAST = {
    "touched": (lambda at: (at / "new").touch(), [("file.created", "new")]),
    "a link": (lambda at: (at / "new").symlink_to("old"), [("file.created", "new")]),
    "a second name": (lambda at: (at / "new").hardlink_to(at / "old"), [("file.created", "new")]),
    "put aside": (lambda at: (at / "old").rename(at / "old~"), [("file.deleted", "old")]),
    "large": (lambda at: (at / "new").write_bytes(bytes(100 << 20)), [("file.created", "new")]),
}


async def of(watch: Watch, *, closing: bool) -> None:
    """What the daemon does at a step's end, or at the close."""
    await watch.source.fence(0.1)
    await watch.source.before_seal(0, closing=closing)


@pytest.mark.parametrize("closing", [False, True], ids=["seal", "close"])
@pytest.mark.parametrize(("act", "said"), LAST.values(), ids=LAST)
async def test_the_last_action_is_told(
    tmp_path: Path, act: Callable[[Path], object], said: list[tuple[str, str]], closing: bool
) -> None:
    (tmp_path / "old").write_text("old")
    async with Watch(tmp_path) as watch:
        act(tmp_path)
        await of(watch, closing=closing)
        assert [one for one in watch.changes if one[1] != "old~"] == said


@pytest.mark.parametrize("closing", [False, True], ids=["seal", "close"])
async def test_a_file_that_is_held_open_is_told(tmp_path: Path, closing: bool) -> None:
    """When it rests, or as it stands at the close."""
    async with Watch(tmp_path) as watch:
        with (tmp_path / "held").open("w") as file:
            file.write("held")
            file.flush()
            await of(watch, closing=closing)
            assert watch.changes == [("file.created", "held")]
            assert watch.data("held")["size"] == 4


async def test_temporary_names_are_told_at_the_close(tmp_path: Path) -> None:
    """Those that nobody writes any more; what is still being downloaded is none of the task's files
    yet."""
    async with Watch(tmp_path) as watch:
        with (tmp_path / "half.crdownload").open("w") as download:
            download.write("half")
            download.flush()
            (tmp_path / "payload.sh~").write_text("rm")
            await of(watch, closing=False)
            assert watch.changes == []
            await of(watch, closing=True)
            assert watch.changes == [("file.created", "payload.sh~")]


async def test_where_nothing_is_open_a_seal_does_not_wait(tmp_path: Path) -> None:
    """Not for one turn of the loop."""
    async with Watch(tmp_path) as watch:
        (tmp_path / "a").write_text("a")
        await watch.source.fence(20)
        with pytest.raises(StopIteration):
            watch.source.before_seal(0, closing=False).send(None)
        assert watch.changes == [("file.created", "a")]


async def test_what_is_written_on_and_on_does_not_hold_up_seals(tmp_path: Path) -> None:
    """It is told when it rests, in whatever step that is; at the close as it is then."""
    async with Watch(tmp_path) as watch:
        with (tmp_path / "log").open("w") as file:

            async def write() -> None:
                while True:
                    file.write("line")
                    file.flush()
                    await asyncio.sleep(0.01)

            writing = asyncio.create_task(write())
            try:
                while (tmp_path / "log").stat().st_size == 0:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                await of(watch, closing=False)
                assert watch.changes == []
                await of(watch, closing=True)
                # Told once, and as it went on to grow until the close was done.
                assert watch.changes[0] == ("file.created", "log")
                assert set(watch.changes[1:]) <= {("file.modified", "log")}
                assert watch.data("log")["sha256"]
            finally:
                writing.cancel()


GROW = """
import sys
with open(sys.argv[1], "r+b") as file:
    if sys.argv[2] == "grows":
        file.seek(0, 2)
    file.write(b"x")
    file.flush()
    print("writes", flush=True)
    while True:
        file.write(bytes(1 << 16))
        if file.tell() > 128 << 20 or sys.argv[2] == "is written over":
            file.seek(0)
        file.flush()
"""


@pytest.mark.parametrize("how", ["grows", "is written over"])
async def test_what_changes_faster_than_it_is_read_is_told_without_content(
    tmp_path: Path, how: str
) -> None:
    """A recording, a large copy: known to be there, so that what else the step did is not lost with
    it."""
    file = tmp_path / "screen.mkv"
    file.write_bytes(bytes(40 << 20))
    command = [sys.executable, "-c", GROW, str(file), how]
    async with Watch(tmp_path) as watch:
        writing = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        try:
            assert writing.stdout is not None
            await writing.stdout.readline()
            (tmp_path / "report.txt").write_text("report")
            began = asyncio.get_running_loop().time()
            await of(watch, closing=True)
            # Three looks are enough; on a busy machine the bound ends them.
            assert asyncio.get_running_loop().time() - began < 2 * attachment.CLOSE_S
            # As long as it is written: once the writer has ended it rests, and is told again.
            changes, said = sorted(watch.changes), watch.data("screen.mkv")
        finally:
            writing.kill()
            await writing.wait()
        assert changes == [("file.created", "report.txt"), ("file.modified", "screen.mkv")]
        assert [kind for kind, _ in watch.said if kind == "events.dropped"] == []
        assert (said["sha256"], said["unread_reason"], said["size"] >= 40 << 20) == (
            None,
            "busy",
            True,
        )
        assert watch.data("report.txt")["sha256"]


async def test_a_download_goes_on_while_folders_are_made(tmp_path: Path) -> None:
    """The root is read anew: what is half there is not told for that, at the close neither."""
    async with Watch(tmp_path) as watch:
        with (tmp_path / "half.crdownload").open("w") as download:
            download.write("half")
            download.flush()
            (tmp_path / "made").mkdir()
            await of(watch, closing=False)
            await of(watch, closing=True)
            assert watch.changes == [("folder.created", "made")]
        await of(watch, closing=True)
        assert watch.files == [("file.created", "half.crdownload")]


async def test_folders_that_are_not_read_anew_at_the_close_are_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may hide a file."""
    monkeypatch.setattr(attachment, "CLOSE_S", 0.1)  # before a review begins
    async with Watch(tmp_path) as watch:
        (tmp_path / "made").mkdir()
        await of(watch, closing=True)
        assert [data["source"] for kind, data in watch.said if kind == "events.dropped"] == [
            "files"
        ]


async def test_a_file_written_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though nobody closes it: the look that was overtaken does not stand in the way of the later
    one."""
    held, reads = tmp_path / "held", 0

    def slowly(root: Root, path: str) -> FileFacts | None:
        nonlocal reads
        reads += 1
        if reads == 1:
            with held.open("ab", buffering=0) as more:
                more.write(b"more")
                files.append(os.dup(more.fileno()))  # not closed: nothing more is told
            time.sleep(0.2)  # fixed: until the loop has heard of it
            raise UnsettledError
        return look(root, path)

    files: list[int] = []
    async with Watch(tmp_path) as watch:
        monkeypatch.setattr(looks, "look", slowly)
        with held.open("wb", buffering=0) as file:
            file.write(b"some")
            await watch.until(lambda: watch.changes, 10)
            assert watch.data("held")["size"] == 8
    os.close(files[0])


@pytest.mark.slow
async def test_what_can_not_be_told_at_the_close_is_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program holds a lease on what it writes: the file is not gone, and nobody can say what it
    holds."""
    monkeypatch.setattr(attachment, "CLOSE_S", 0.3)
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    (tmp_path / "leased").write_text("old")
    try:
        async with Watch(tmp_path) as watch:
            fd = os.open(tmp_path / "leased", os.O_RDWR)
            try:
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
                os.pwrite(fd, b"new", 0)
                await of(watch, closing=True)
                assert watch.changes == []
                assert [data["count"] for kind, data in watch.said if kind == "events.dropped"] == [
                    1
                ]
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
                await watch.until(lambda: watch.changes)
                assert watch.changes == [("file.modified", "leased")]
            finally:
                os.close(fd)
    finally:
        signal.signal(signal.SIGIO, before)


async def test_a_file_that_is_closed_and_not_read_by_the_seal_is_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its disk hangs: that nothing happened to it in this step would be wrong."""
    monkeypatch.setattr(attachment, "STEP_S", 0.3)
    hangs = threading.Event()
    async with Watch(tmp_path) as watch:
        attached = watch.source._attached
        assert attached is not None
        for _ in range(2):
            attached._threads.submit(hangs.wait)
        try:
            (tmp_path / "late").write_text("late")
            await of(watch, closing=False)
            assert [kind for kind, _ in watch.said] == ["events.dropped"]
        finally:
            hangs.set()
        await watch.until(lambda: watch.changes)
        assert watch.changes == [("file.created", "late")]
        await of(watch, closing=False)
        assert [kind for kind, _ in watch.said] == ["events.dropped", "file.created"]


async def test_an_overflow_is_read_before_the_seal(tmp_path: Path) -> None:
    """What the kernel did not tell is on the disk; the step in which it happened pays."""
    async with Watch(tmp_path) as watch:
        attached = watch.source._attached
        assert attached is not None
        dropped = threading.Event()
        tell = attached._watcher._tell

        def drop(note: Note) -> None:
            """As if the kernel's queue were full; what the daemon itself asks for comes later."""
            if note.op == "fence":
                tell(note)
            else:
                dropped.set()

        attached._watcher._tell = drop
        (tmp_path / "unheard").write_text("unheard")
        assert await asyncio.to_thread(dropped.wait, 60)
        attached._overflowed("too much")
        await watch.source.before_seal(0, closing=False)
        assert watch.changes == [("file.created", "unheard")]
        assert not [kind for kind, _ in watch.said if kind == "events.dropped"]

"""Thousands of files at once, and more notifications than the kernel keeps: nothing is lost, memory
is bounded."""

from __future__ import annotations

import asyncio
import shutil
import threading
from pathlib import Path

import pytest

from agentd.sources.files import attachment
from tests.files.watching import Watch


def make(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / f"{number:05}.txt").write_text(f"content {number}")


def kept() -> int:
    return int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())


@pytest.mark.slow
async def test_ten_thousand_files(tmp_path: Path) -> None:
    """In an old folder and in new ones, as fast as they can be written: each is told once, with its
    content."""
    async with Watch(tmp_path) as watch:
        threads = [threading.Thread(target=make, args=(tmp_path, 5000))]
        for name in "ab":
            (tmp_path / name).mkdir()
            threads.append(threading.Thread(target=make, args=(tmp_path / name, 2500)))
        for thread in threads:
            thread.start()
        await watch.until(lambda: len(watch.said) >= 10_002, 60)
        assert len(set(watch.files)) == len(watch.files) == 10_000
        assert {kind for kind, _ in watch.files} == {"file.created"}
        sizes = [
            (data["size"], int(data["name"][:5])) for kind, data in watch.said if "size" in data
        ]
        assert all(size == len(f"content {number}") for size, number in sizes)


async def test_more_than_the_kernel_keeps(tmp_path: Path) -> None:
    """Its queue overflows: an alarm, and what was lost is found on the disk, as new and not as a
    baseline."""
    (tmp_path / "before").write_text("before")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "gone").write_text("gone")
    if (limit := kept()) > 20_000:
        pytest.skip(f"this machine keeps {limit} notifications")
    async with Watch(tmp_path) as watch:
        attached = watch.source._attached
        assert attached is not None
        with attached._watcher.places._guard:  # the reader waits here, and the kernel's queue fills
            make(tmp_path, limit // 2)
            for name in ("x", "y"):
                (tmp_path / name).mkdir()
                (tmp_path / name / "in").write_text(name)
            shutil.rmtree(tmp_path / "sub")
            (tmp_path / "before").write_text("changed")
        # All that is expected below, what was there before, the folders that came and went, and the
        # alarm twice.
        await watch.until(lambda: len(watch.said) >= limit // 2 + 11, 60)
        assert watch.alarms == [("alarm.raised", "notifications"), ("alarm.ended", "notifications")]
        expected = {("file.created", f"{number:05}.txt") for number in range(limit // 2)}
        expected |= {
            ("file.created", "x/in"),
            ("file.created", "y/in"),
            ("file.modified", "before"),
        }
        assert set(watch.files) == expected | {("file.deleted", "sub/gone")}
        assert not any(data.get("baseline") for kind, data in watch.said if kind != "file.present")
        (tmp_path / "y" / "later").write_text("later")
        await watch.until(lambda: watch.files[-1] == ("file.created", "y/later"))


async def test_more_than_the_loop_keeps_up_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for a busy loop is bounded too; of more, the disk is read instead."""
    monkeypatch.setattr(attachment, "MAX_NOTES", 100)
    async with Watch(tmp_path) as watch:
        make(tmp_path, 1000)  # on the loop's own thread: nothing is followed meanwhile
        await watch.until(lambda: len(watch.said) > 1000)
        await watch.until(lambda: len(watch.alarms) == 2)
        assert "could not keep up" in next(
            data["reason"] for kind, data in watch.said if kind == "alarm.raised"
        )


async def test_a_busy_file_is_not_read_all_the_time(tmp_path: Path) -> None:
    """A file that is written to a thousand times is told when it rests, and a fence does not wait
    for that."""
    async with Watch(tmp_path) as watch:
        with (tmp_path / "log").open("w") as log:
            for number in range(1000):
                log.write(f"line {number}\n")
                log.flush()
                if number % 100 == 0:
                    await asyncio.sleep(0)
            assert await watch.fenced() == []
        assert await watch.fenced() == [("file.created", "log")]

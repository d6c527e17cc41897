"""What the source says of files that it can't see, or not all of: nobody knows is never none."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentd.sources.reader import read_requests
from agentd.sources.reader import source as reader
from tests.readers.making import sqlite
from tests.readers.test_source import Said, reading

SOMEBODY = 64_003
"""Another user, who may not look into what root has shut."""


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no matter of these tests."""
    monkeypatch.setattr(reader, "BUDGET_S", 60.0)
    monkeypatch.setattr(reader, "MOMENT_S", 120.0)


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that another user reaches too."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def shut(folder: Path) -> Iterator[None]:
    """The daemon's user may not look into the folder."""
    folder.chmod(0)
    root = os.geteuid() == 0
    if root:
        os.seteuid(SOMEBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)


def told(said: Said) -> list[tuple[str, Any]]:
    """Kinds, and of readings what became of which file."""
    return [(kind, data.get("path", data.get("part")) + (" " + data["status"] if "status" in data else ""))
            for kind, data in said]  # fmt: skip


async def test_a_look_that_is_called_off_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two files one is read when the step's settling is stopped: both are told at the next
    look."""
    real, done, second = reader.read_in_child, asyncio.Event(), asyncio.Event()

    async def slowly(*args: Any) -> dict[str, Any]:
        if second.is_set():
            await asyncio.Event().wait()
        second.set()
        answer = await real(*args)
        done.set()
        return answer

    async with reading(tmp_path, "a.txt", "b.txt") as running:
        (tmp_path / "a.txt").write_text("one")
        (tmp_path / "b.txt").write_text("two")
        monkeypatch.setattr(reader, "read_in_child", slowly)
        look = asyncio.create_task(running.source.before_seal(0, closing=False))
        await asyncio.wait_for(done.wait(), 60)
        for _ in range(20):  # turns of the loop: the first answer reaches its task
            await asyncio.sleep(0)
        look.cancel()
        await asyncio.gather(look, return_exceptions=True)
        assert running.said == []
        monkeypatch.setattr(reader, "read_in_child", real)
        assert told(await running.at(0)) == [
            ("file.read", "a.txt read"),
            ("file.read", "b.txt read"),
        ]


@pytest.mark.parametrize("format_", [None, "sqlite"])
async def test_a_commit_that_stands_in_the_log_alone_is_read(
    format_: str | None, tmp_path: Path
) -> None:
    """The database's own file stays as it is until the program folds its log into it."""
    path = tmp_path / "a.sqlite"
    sqlite(path)
    query = "SELECT count(*) AS n FROM bookmark"
    with closing(sqlite3.connect(path)) as program:
        program.execute("PRAGMA journal_mode = wal")
        async with reading(
            tmp_path, {"path": "a.sqlite", "format": format_, "query": query}
        ) as running:
            before = path.stat()
            for n in (3, 4):
                program.execute("INSERT INTO bookmark VALUES (?, 'Chairs')", (n,))
                program.commit()
                ((_, data),) = await running.at(n)
                assert data["facts"]["sheets"][0]["rows"] == [["n"], [n]]
            assert (path.stat().st_mtime_ns, path.stat().st_size) == (
                before.st_mtime_ns,
                before.st_size,
            )
            assert await running.at(5) == []


@pytest.mark.parametrize("wish", ["in/a.txt", "*.txt", "in/*.txt"])
async def test_what_may_not_be_looked_at_is_not_gone(wish: str, home: Path) -> None:
    """It is a gap until it can be looked at; then it is read again, and told as gone only where it
    is."""
    folder = home / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("x")
    async with reading(home, wish) as running:
        assert told(running.said) == [("file.read", "in/a.txt read")]
        with shut(folder):
            assert told(await running.at(0)) == [("gap.began", wish)]
            assert await running.at(1) == []
        assert told(await running.at(2))[-1] == ("gap.ended", wish)
        with shut(folder):
            assert told(await running.at(3)) == [("gap.began", wish)]
        (folder / "a.txt").unlink()
        assert told(await running.at(4))[:2] == [
            ("file.read", "in/a.txt gone"),
            ("gap.ended", wish),
        ]


@pytest.mark.parametrize(
    ("wish", "gaps"), [("shut/a.txt", 1), ("s*.txt", 1), ("open/*.txt", 0), ("open/a.txt", 0)]
)
async def test_only_what_may_lie_in_a_shut_folder_is_not_known(
    wish: str, gaps: int, home: Path
) -> None:
    """At the start already, when nothing was ever told; a folder that nobody asks about blinds
    nobody."""
    for name in ("open", "shut"):
        (home / name).mkdir()
    async with reading(home, wish) as running:
        with shut(home / "shut"):
            said = await running.at(0)
        assert [kind for kind, _ in said] == ["gap.began"] * gaps
        assert [kind for kind, _ in await running.at(1)] == ["gap.ended"] * gaps


async def test_files_beyond_a_limit_are_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was told keeps its place before one whose name is earlier; neither is told as
    gone."""
    monkeypatch.setattr(read_requests, "MAX_FILES", 2)
    for name in ("b.txt", "c.txt"):
        (tmp_path / name).write_text("x")
    async with reading(tmp_path, "*.txt") as running:
        assert told(running.said) == [("file.read", "b.txt read"), ("file.read", "c.txt read")]
        (tmp_path / "a.txt").write_text("new")
        assert told(await running.at(0)) == [("gap.began", "*.txt")]
        (tmp_path / "b.txt").unlink()
        assert told(await running.at(1)) == [
            ("file.read", "b.txt gone"), ("gap.ended", "*.txt"), ("file.read", "a.txt read"),
        ]  # fmt: skip


async def test_entries_beyond_a_limit_are_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is filled up hides nothing that was told; only the folders before the first *
    count."""
    monkeypatch.setattr(read_requests, "MAX_SEEN", 2)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "c.txt").write_text("x")
    async with reading(tmp_path, "in/*.txt") as running:
        for name in ("a", "b", "in/a"):
            (tmp_path / name).write_text("")
        assert await running.at(0) == []
        (tmp_path / "in" / "b").write_text("")
        assert told(await running.at(1)) == [("gap.began", "in/*.txt")]
        (tmp_path / "in" / "a").unlink()
        assert told(await running.at(2)) == [("gap.ended", "in/*.txt")]

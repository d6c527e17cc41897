"""An editor's swap file, with a real vim: nothing while it is held open, an event where it stays
with nobody at it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.files.watching import Watch

pytestmark = pytest.mark.skipif(shutil.which("vim") is None, reason="wants vim")
SWAP = ".letter.txt.swp"


@asynccontextmanager
async def vim(root: Path, watch: Watch) -> AsyncIterator[asyncio.subprocess.Process]:
    """A vim that has ``letter.txt`` open and changed; its swap file is there."""
    (root / "letter.txt").write_text("first")
    await watch.until(lambda: ("file.created", "letter.txt") in watch.changes)
    argv = ("vim", "-u", "NONE", "--cmd", "set updatecount=1", "-es", "letter.txt")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*argv, cwd=root, stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"normal osecond\npreserve\ncall writefile(['ready'], '/dev/stdout')\n")
    assert (await asyncio.wait_for(process.stdout.readline(), 60)).strip() == b"ready"
    assert (root / SWAP).stat().st_size > 0
    yield process
    if process.returncode is None:
        process.kill()
        await process.wait()


async def test_a_swap_file_is_nothing_while_vim_runs_and_when_it_has_ended(tmp_path: Path) -> None:
    async with Watch(tmp_path) as watch, vim(tmp_path, watch) as process:
        assert await watch.fenced() == [("file.created", "letter.txt")]
        assert process.stdin is not None
        process.stdin.write(b"quit!\n")
        await process.wait()
        assert not (tmp_path / SWAP).exists()
        assert await watch.fenced() == [("file.created", "letter.txt")]


async def test_a_swap_file_that_stays_is_told(tmp_path: Path) -> None:
    """Its editor was killed, so nobody will take it away: a guard sees it, as it sees any file."""
    async with Watch(tmp_path) as watch, vim(tmp_path, watch) as process:
        process.kill()
        await process.wait()
        await watch.until(lambda: ("file.created", SWAP) in watch.changes)


@pytest.mark.parametrize(
    "content", [b"\0\1\2\3" * 4000, b"b0VIM 9.0\0" + b"\0hidden" * 500, b"words"]
)
async def test_whatever_is_in_a_swap_file_that_nobody_holds_is_told(
    content: bytes, tmp_path: Path
) -> None:
    async with Watch(tmp_path) as watch:
        (tmp_path / "letter.txt").write_text("first")
        (tmp_path / SWAP).write_bytes(content)
        await watch.until(lambda: ("file.created", SWAP) in watch.changes)

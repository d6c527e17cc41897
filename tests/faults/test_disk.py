"""A disk that is full for a while: of the journal, of the database, of a recording. Real disks of a
few megabytes."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from milestoned_client import Episode, ServiceFaultError

from tests.faults.checks import as_without_the_fault, whole
from tests.faults.script import FULL, run, task
from tests.support.postgres import Postgres, needs_postgres
from tests.support.small_disk import SmallDisk, needs_root
from tests.support.stack import Stack, gist

pytestmark = needs_root
STEPS = 5
AT = (1, 3)
"""The steps within which the disk is full."""


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    """Where Postgres' own user may go too."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        with SmallDisk(Path(folder) / "small", 150) as small:
            yield small


@pytest.mark.slow
@pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgres", marks=[pytest.mark.slow, needs_postgres])]
)
def test_the_journals(
    tmp_path: Path, disk: SmallDisk, database: str, request: pytest.FixtureRequest
) -> None:
    """The harness is told 507 and says it again; what was lost meanwhile is counted, and its step
    is masked."""
    url = request.getfixturevalue("postgres").database() if database == "postgres" else ""
    folder = tmp_path / "notes"
    with Stack(tmp_path, url) as stack:
        stack.states = disk.folder
        calm = run(stack, folder, STEPS)

        def full(step: int, episode: Episode) -> None:
            if step not in AT:
                return
            disk.fill()
            with pytest.raises(ServiceFaultError) as refused:
                _talk(episode)
            assert refused.value.status == FULL
            (folder / f"unseen-{step}.txt").write_text("written while the journal takes nothing")
            disk.free()

        shaken = run(stack, folder, STEPS, within=full)
        events = whole(stack, shaken, task(STEPS))
        lost = [event.data for event in events if event.kind == "events.dropped"]
        assert {data["source"] for data in lost} <= {"steps", "files"}
        assert all("disk" in data["reason"] for data in lost)
        told = {event.data["path"] for event in events if event.kind == "file.created"}
        unseen = [step for step in AT if f"unseen-{step}.txt" not in told]
        assert sum(data["count"] for data in lost if data["source"] == "files") >= len(unseen)
        assert as_without_the_fault(calm, shaken, events, {"files"}) >= set(unseen)


def _talk(episode: Episode) -> None:
    for _ in range(50):  # what SQLite has set aside is used up first
        episode.answer("x" * 50_000)


def _fill_database(disk: SmallDisk, stack: Stack) -> None:
    """Fill the disk and write until the service says that it is full."""
    disk.fill()
    headers = {"authorization": f"Bearer {stack.service.token}"}
    body = {"task": "test/notes", "labels": {"run": "x" * 200}}
    with httpx.Client(base_url=stack.service.url, headers=headers, timeout=30) as http:
        for _ in range(5_000):
            answer = http.post("/v1/episodes", json=body)
            if answer.status_code == 503:
                assert answer.headers["retry-after"] == "1"
                assert answer.headers["content-type"] == "application/problem+json"
                return
            assert answer.status_code == 201, answer.text
    raise AssertionError("the disk was never full")


def _full_and_free(stack: Stack, disk: SmallDisk, folder: Path) -> None:
    calm = run(stack, folder, STEPS)

    def full(step: int, _: Episode) -> None:
        if step in AT:
            _fill_database(disk, stack)
            disk.free()

    shaken = run(stack, folder, STEPS, within=full)
    assert gist(shaken) == gist(calm)
    whole(stack, shaken, task(STEPS))


@pytest.mark.slow
def test_sqlites(tmp_path: Path, disk: SmallDisk) -> None:
    """503 while it lasts; the daemon sends again, and the rewards are the same."""
    with Stack(tmp_path, f"sqlite:///{disk.folder / 'milestoned.db'}") as stack:
        _full_and_free(stack, disk, tmp_path / "notes")


@pytest.mark.slow
@needs_postgres
def test_postgres(tmp_path: Path, disk: SmallDisk) -> None:
    """The same on a server whose disk is full."""
    with Postgres(disk.folder / "postgres") as server, Stack(tmp_path, server.database()) as stack:
        _full_and_free(stack, disk, tmp_path / "notes")


@pytest.mark.slow
def test_a_recordings(tmp_path: Path, disk: SmallDisk) -> None:
    """It is said, the journal is kept, and the same command writes the recording once there is
    room."""
    watched, out = tmp_path / "watched", disk.folder / "it.mrec"
    watched.mkdir()
    command = [sys.executable, "-m", "agentd", "record", "--out", str(out), "--files", str(watched)]

    def recording() -> subprocess.Popen[str]:
        return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    first = recording()
    _read_until(first, "ctrl-C ends it")
    (watched / "a").write_text("a")
    disk.fill()
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=60)
    assert first.returncode == 1, said
    assert "disk" in said or "No space left" in said
    assert "Traceback" not in said
    assert not out.exists()
    disk.free()
    again = recording()
    _read_until(again, "Going on with an episode")
    again.send_signal(signal.SIGINT)
    told, said = again.communicate(timeout=60)
    assert again.returncode == 0, said
    assert out.exists()
    assert "events" in told


def _read_until(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    while words not in (line := process.stderr.readline()):
        assert line, f"it ended before it said {words!r}"

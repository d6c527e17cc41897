"""The daemon as a process: whole episodes, kills, restarts, and what it refuses. Only the files
source runs."""

from __future__ import annotations

import asyncio
import hashlib
import stat
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from milestoned_client import ControlDir
from milestoned_client.errors import NotReadyError

from agentd.journal.journal import Journal
from detectors.model.codec import decode_segment
from detectors.model.kinds import catalogue_fields
from tests.agentd.support.peer import Peer
from tests.agentd.support.process import DaemonProcess


def chained(peer: Peer, *, time: bool = True) -> None:
    """Every segment of the peer names the one before; numbers have no gap; time does not go
    back."""
    seqs = [event.seq for text in peer.texts for event in decode_segment(text).events]
    assert seqs == list(range(1, len(seqs) + 1))
    times = [event.at for event in peer.events]
    assert times == sorted(times) or not time


async def test_an_episode_from_opening_to_close(tmp_path: Path) -> None:
    """Steps over the loopback port reach the service in order, and the closed daemon exits 0."""
    async with Peer() as peer, DaemonProcess(peer.url, tmp_path) as daemon:
        assert stat.S_IMODE(daemon.state.stat().st_mode) == 0o700
        assert await daemon.post("/v1/steps", {"action": "click"}) == {"step": 0, "seq": 2}
        assert (await daemon.post("/v1/steps/0:end?wait=seal"))["sealed"] == 4
        await daemon.post("/v1/answers", {"text": "42"})
        await daemon.post("/v1/close", {"reason": "done", "truncated": True})
        code, said = await daemon.ended()
        assert code == 0, said
        assert peer.kinds == [
            "episode.opened", "step.began", "step.ended", "step.sealed", "agent.answered", "episode.closed",
        ]  # fmt: skip
        chained(peer)
        opened = {"task": "t", "digest": "d", "asked": [], **catalogue_fields()}
        assert peer.data("episode.opened") == [opened]
        assert peer.data("step.began") == [{"step": 0, "action": "click"}]
        assert peer.data("step.sealed") == [{"step": 0, "reason": "quiet"}]
        assert peer.data("episode.closed") == [{"reason": "done", "truncated": True}]
        assert not (daemon.state / "agentd.json").exists()


async def test_a_file_says_when_the_first_step_can_begin(tmp_path: Path) -> None:
    """There once every source sees and not before; gone with the daemon, and a killed one's is no
    sign."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "ready").touch()
    (tmp_path / "seen").mkdir()
    async with (
        Peer() as peer,
        DaemonProcess(peer.url, tmp_path, "--files", f"x={tmp_path / 'seen'}") as daemon,
    ):
        await asyncio.to_thread(ControlDir(daemon.state).wait_ready, 30)
        await daemon.post("/v1/steps")
        await daemon.post("/v1/close")
        assert (await daemon.ended())[0] == 0
        assert peer.kinds.index("gap.ended") < peer.kinds.index("step.began")
        assert not (daemon.state / "ready").exists()


@pytest.mark.slow
async def test_what_a_killed_daemon_left_is_no_sign(tmp_path: Path) -> None:
    """Neither its file nor where it listened, for who waits before the next one is started."""
    (tmp_path / "seen").mkdir()
    async with (
        Peer() as peer,
        DaemonProcess(peer.url, tmp_path, "--files", f"x={tmp_path / 'seen'}") as daemon,
    ):
        await asyncio.to_thread(ControlDir(daemon.state).wait_ready, 30)
        await daemon.kill()
        assert (daemon.state / "ready").exists()
        with pytest.raises(NotReadyError, match="no daemon listens"):
            await asyncio.to_thread(ControlDir(daemon.state).wait_ready, 0.5)


async def test_a_source_that_is_lost_takes_the_sign_away_until_it_is_back(tmp_path: Path) -> None:
    """The service is told soon, though nobody follows: who waits for a first step asks it."""
    folder = tmp_path / "seen"
    folder.mkdir()
    async with (
        Peer() as peer,
        DaemonProcess(peer.url, tmp_path, "--files", f"x={folder}") as daemon,
    ):
        ready = daemon.state / "ready"
        await asyncio.to_thread(ControlDir(daemon.state).wait_ready, 30)
        assert int(ready.read_text()) == int((daemon.state / "agentd.pid").read_text())
        folder.rename(tmp_path / "away")
        await peer.until(lambda: len(peer.data("gap.began")) == 2)
        await _until(lambda: not ready.exists())
        with pytest.raises(NotReadyError, match=r"files \("):
            await asyncio.to_thread(ControlDir(daemon.state).wait_ready, 0.2)
        (tmp_path / "away").rename(folder)
        await asyncio.to_thread(ControlDir(daemon.state).wait_ready, 30)
        await peer.until(lambda: len(peer.data("gap.ended")) == 2)
        await _until(ready.exists)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)


async def test_a_daemon_that_waits_for_its_browser_is_not_ready(tmp_path: Path) -> None:
    async with (
        Peer() as peer,
        DaemonProcess(peer.url, tmp_path, "--profile", str(tmp_path)) as daemon,
    ):
        with pytest.raises(
            NotReadyError, match=r"is not ready after 1 s: it waits for cdp \("
        ) as refused:
            await asyncio.to_thread(ControlDir(daemon.state).wait_ready, 1)
        assert set(refused.value.waiting) == {"cdp"}
        await daemon.post("/v1/close")


async def test_a_source_that_the_task_needs_and_nobody_gave_is_a_gap(tmp_path: Path) -> None:
    """Else its steps would be sealed with 0.0, though nobody watched."""
    async with (
        Peer(hears=["page.navigated", "file.created"]) as peer,
        DaemonProcess(peer.url, tmp_path) as daemon,
    ):
        await daemon.post("/v1/steps")
        await daemon.post("/v1/close")
        assert (await daemon.ended())[0] == 0
        assert peer.data("gap.began") == [
            {"source": "cdp", "reason": "not watched: the daemon was given no --cdp or --profile"},
            {"source": "files", "reason": "not watched: the daemon was given no --files"},
        ]
        assert "gap.ended" not in peer.kinds


async def test_files_are_seen_in_the_step_that_made_them(tmp_path: Path) -> None:
    """What lies there is baseline before the source is ready; what a step writes comes before its
    seal."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / "old").write_text("old")
    async with (
        Peer() as peer,
        DaemonProcess(peer.url, tmp_path, "--files", f"dl={folder}") as daemon,
    ):
        await daemon.all_ready()
        await daemon.post("/v1/steps")
        (folder / "new.csv").write_text("a,b")
        await daemon.post("/v1/steps/0:end?wait=seal")
        await peer.until(lambda: "step.sealed" in peer.kinds)
        assert peer.kinds == [
            "episode.opened", "gap.began", "file.present", "gap.ended",
            "step.began", "step.ended", "file.created", "step.sealed",
        ] or peer.kinds == [
            "episode.opened", "gap.began", "file.present", "gap.ended",
            "step.began", "file.created", "step.ended", "step.sealed",
        ]  # fmt: skip
        created = peer.data("file.created")[0]
        assert (created["root"], created["path"], created["via"]) == ("dl", "new.csv", "write")
        assert created["sha256"] == hashlib.sha256(b"a,b").hexdigest()


async def test_killed_twice_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    """kill -9 in the middle of two steps, once with the service away: every acknowledged word is
    there once."""
    folder = tmp_path / "files"
    folder.mkdir()
    async with Peer() as peer, DaemonProcess(peer.url, tmp_path, "--files", str(folder)) as daemon:
        await daemon.all_ready()
        await daemon.post("/v1/steps", {"action": 0})
        (folder / "a").write_text("a")
        await daemon.post("/v1/steps/0:end?wait=seal")
        await daemon.post("/v1/steps", {"action": 1})
        (folder / "b").write_text("b")
        await daemon.kill()

        await daemon.start()
        await daemon.all_ready()
        assert (await daemon.health())["step"] == 1
        await daemon.post("/v1/steps/1:end?wait=seal")
        await peer.stop()
        await daemon.post("/v1/steps", {"action": 2})
        (folder / "c").write_text("c")
        await daemon.post("/v1/steps/2:end?wait=seal")
        await daemon.kill()

        await peer.start()
        await daemon.start()
        await daemon.all_ready()
        assert (await daemon.post("/v1/steps/2:end"))["step"] == 2, (
            "an end said again after the kill"
        )
        await daemon.post("/v1/steps", {"action": 3})
        await daemon.post("/v1/close")
        code, said = await daemon.ended()
        assert code == 0, said

        chained(peer)
        assert peer.kinds.count("episode.opened") == peer.kinds.count("episode.closed") == 1
        assert [data["action"] for data in peer.data("step.began")] == [0, 1, 2, 3]
        assert [data["step"] for data in peer.data("step.ended")] == [0, 1, 2, 3]
        gaps = [(e.kind, e.data.get("reason")) for e in peer.events if e.kind.startswith("gap.")]
        assert gaps == [
            ("gap.began", "starting"), ("gap.ended", None),
            ("gap.began", "daemon restarted"), ("gap.ended", None),
            ("gap.began", "daemon restarted"), ("gap.ended", None),
        ]  # fmt: skip
        seen = {
            data["path"] for kind in ("file.created", "file.present") for data in peer.data(kind)
        }
        assert seen == {"a", "b", "c"}
        assert [data["path"] for data in peer.data("file.created")].count("a") == 1


@pytest.mark.slow
async def test_a_restart_says_first_that_it_was_blind(tmp_path: Path) -> None:
    """The gap is the first event after the restart, before any baseline."""
    async with (
        Peer() as peer,
        DaemonProcess(peer.url, tmp_path, "--files", str(tmp_path)) as daemon,
    ):
        await peer.until(
            lambda: "gap.ended" in peer.kinds
        )  # ready is said a moment before it is in the journal
        await daemon.kill()
        await daemon.start()
        await peer.until(lambda: peer.kinds.count("gap.ended") == 2)
        first_life = peer.kinds.index("gap.ended") + 1
        restart = [
            kind for kind in peer.kinds[first_life:] if kind.startswith(("gap", "file.present"))
        ]
        assert restart[0] == "gap.began"
        assert restart[-1] == "gap.ended"


async def test_commands_are_applied_exactly_once(tmp_path: Path) -> None:
    """Over kills too: each command's event is in the log once, by its number, and close ends the
    daemon."""
    async with Peer() as peer, DaemonProcess(peer.url, tmp_path) as daemon:
        await peer.command("step.began", step=0, action={"type": "click"})
        await peer.command("agent.tool_called", call="c", tool="t", arguments={"x": 1})
        await peer.until(lambda: "agent.tool_called" in peer.kinds)
        await daemon.kill()
        await peer.command("agent.tool_returned", call="c", ok=True, result=1)
        await peer.command("step.began", step=7)
        await peer.command("step.ended", step=0)
        await daemon.start()
        await peer.until(lambda: "step.sealed" in peer.kinds)
        await peer.command("agent.answered", text="done")
        await peer.command("episode.close", reason="enough", truncated=True)
        code, said = await daemon.ended()
        assert code == 0, said
        chained(peer)
        commands = [(e.kind, e.data["command"]) for e in peer.events if "command" in e.data]
        assert commands == [
            ("step.began", 1), ("agent.tool_called", 2), ("agent.tool_returned", 3), ("step.ended", 5),
            ("agent.answered", 6),
        ]  # fmt: skip
        assert peer.data("episode.closed") == [{"reason": "enough", "truncated": True}]
        assert "passed over" in said


async def test_told_to_stop_it_leaves_the_episode_open(tmp_path: Path) -> None:
    """TERM ships what there is and exits 0; the next start goes on."""
    async with Peer() as peer, DaemonProcess(peer.url, tmp_path) as daemon:
        await daemon.post("/v1/steps")
        assert (await daemon.terminate())[0] == 0
        assert peer.kinds == ["episode.opened", "step.began"]
        await daemon.start()
        await daemon.post("/v1/steps/0:end")
        await daemon.post("/v1/close")
        assert (await daemon.ended())[0] == 0
        assert peer.kinds[-1] == "episode.closed"


@pytest.mark.slow
async def test_told_to_stop_without_a_service_it_does_not_hang(tmp_path: Path) -> None:
    """What cannot be shipped stays in the journal, and the exit says so."""
    async with Peer() as peer, DaemonProcess(peer.url, tmp_path) as daemon:
        await peer.until(lambda: peer.kinds)
        await peer.stop()
        await daemon.post("/v1/steps")
        code, said = await daemon.terminate()
        assert code == 0
        assert "start again to ship them" in said
        journal = Journal(daemon.state / "journal.sqlite3", "E")
        assert [kind for _, kind, _ in journal.rows()] == ["episode.opened", "step.began"]
        journal.close()
        await peer.start()


@pytest.mark.slow
async def test_told_to_stop_before_there_is_a_plan(tmp_path: Path) -> None:
    """A daemon that still waits for its service ends at once, with 0."""
    daemon = DaemonProcess("http://127.0.0.1:9", tmp_path)
    await daemon.launch()
    await daemon.has_said("no plan yet")
    assert (await daemon.terminate())[0] == 0


async def test_a_refused_log_is_kept_on_disk(tmp_path: Path) -> None:
    """The daemon goes on journalling, and its exit code says that the service took not all."""
    async with Peer() as peer, DaemonProcess(peer.url, tmp_path) as daemon:
        await peer.until(lambda: peer.kinds)
        peer.fail = [422]
        await daemon.post("/v1/steps")
        await daemon.post("/v1/steps/0:end?wait=seal")
        await daemon.post("/v1/close")
        code, said = await daemon.ended()
        assert (code, peer.kinds) == (4, ["episode.opened"])
        assert "422" in said
        journal = Journal(daemon.state / "journal.sqlite3", "E")
        assert journal.last == 5
        journal.close()


@pytest.mark.slow
async def test_the_journal_is_removed_on_request(tmp_path: Path) -> None:
    """Once the episode is closed and acknowledged, and not before."""
    async with (
        Peer() as peer,
        DaemonProcess(peer.url, tmp_path, "--journal-after", "remove") as daemon,
    ):
        await daemon.post("/v1/steps")
        assert (await daemon.terminate())[0] == 0
        assert (daemon.state / "journal.sqlite3").exists()
        await daemon.start()
        await daemon.post("/v1/close")
        assert (await daemon.ended())[0] == 0
        assert not list(daemon.state.glob("journal*"))


async def test_a_closed_episode_waits_for_the_service(tmp_path: Path) -> None:
    """Killed after the close, before it was shipped: the next start ships the rest and exits 0."""
    async with Peer() as peer, DaemonProcess(peer.url, tmp_path) as daemon:
        await peer.until(lambda: peer.kinds)
        await peer.stop()
        await daemon.post("/v1/close")
        await daemon.kill()
        await peer.start()
        await daemon.launch()
        code, said = await daemon.ended()
        assert code == 0, said
        assert peer.kinds == ["episode.opened", "episode.closed"]


async def test_a_second_daemon_is_refused(tmp_path: Path) -> None:
    """It is told who holds the state directory, and exits 2."""
    async with Peer() as peer, DaemonProcess(peer.url, tmp_path) as daemon:
        assert daemon.process is not None
        second = DaemonProcess(peer.url, tmp_path)
        await second.launch()
        code, said = await second.ended()
        assert code == 2
        assert f"pid {daemon.process.pid}" in said


async def test_a_refused_token_ends_the_daemon(tmp_path: Path) -> None:
    """Exit 3, and the word names the file that the token came from."""
    async with Peer() as peer:
        daemon = DaemonProcess(peer.url, tmp_path, token="wrong")
        await daemon.launch()
        code, said = await daemon.ended()
        assert code == 3
        assert "append token of episode E" in said
        assert str(tmp_path / "token") in said


@pytest.mark.slow
async def test_an_unknown_episode_ends_the_daemon(tmp_path: Path) -> None:
    """Exit 2, and the word names the option."""
    async with Peer() as peer:
        daemon = DaemonProcess(peer.url, tmp_path, episode="F")
        await daemon.launch()
        code, said = await daemon.ended()
        assert code == 2
        assert "--episode F" in said


async def test_a_lost_state_directory_goes_on_after_the_service(tmp_path: Path) -> None:
    """Numbers continue, the loss is an event, every source was a gap, the step is taken from the
    service."""
    folder = tmp_path / "files"
    folder.mkdir()
    async with Peer() as peer:
        async with DaemonProcess(peer.url, tmp_path, "--files", str(folder)) as first:
            await first.all_ready()
            await first.post("/v1/steps")
            await peer.until(lambda: "step.began" in peer.kinds)
            await first.kill()
        before = peer.through
        (tmp_path / "new").mkdir()
        async with DaemonProcess(peer.url, tmp_path / "new", "--files", str(folder)) as second:
            await second.all_ready()
            await second.post("/v1/steps/0:end")
            await second.post("/v1/close")
            assert (await second.ended())[0] == 0
        chained(peer, time=False)  # the lost journal knew the time, the service tells it to nobody
        after = [event for event in peer.events if event.seq > before]
        assert [event.kind for event in after[:3]] == ["events.dropped", "gap.began", "gap.ended"]
        assert after[0].data["count"] == before
        assert peer.kinds.count("episode.opened") == 1


@pytest.mark.slow
async def test_a_full_journal_is_said_in_the_log(tmp_path: Path) -> None:
    """Beyond --journal-max observations are dropped and counted; the episode goes on to its end."""
    folder = tmp_path / "files"
    folder.mkdir()
    async with Peer() as peer, DaemonProcess(
        peer.url, tmp_path, "--files", str(folder), "--journal-max", "4K"
    ) as daemon:  # fmt: skip
        await daemon.all_ready()
        await peer.stop()
        await daemon.post("/v1/steps")
        for number in range(60):
            (folder / f"{number}").write_text(str(number))
        await daemon.post("/v1/steps/0:end?wait=seal")
        await peer.start()
        await daemon.post("/v1/close")
        assert (await daemon.ended())[0] == 0
        chained(peer)
        lost = peer.data("events.dropped")
        assert {data["source"] for data in lost} == {"files"}
        assert len(peer.data("file.created")) + sum(data["count"] for data in lost) == 60


async def test_a_recording_without_a_service(tmp_path: Path) -> None:
    """`agentd record` writes what zstd and the codec read back: one step over the port, closed at
    its end."""
    import sys

    import zstandard

    from detectors.model.codec import split_segments
    from tests.agentd.support.process import ROOT

    folder, out = tmp_path / "files", tmp_path / "it.mrec"
    folder.mkdir()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "agentd", "record", "--out", str(out), "--files", str(folder),
        cwd=ROOT, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    said = b""
    async with asyncio.timeout(30):
        while b"ctrl-C ends it" not in said:
            said = await process.stderr.readline()
    (folder / "a").write_text("a")
    process.send_signal(2)
    async with asyncio.timeout(30):
        out_said, err = await process.communicate()
    assert process.returncode == 0, err
    text = (
        zstandard.ZstdDecompressor().stream_reader(out.read_bytes(), read_across_frames=True).read()
    )
    events = [event for part in split_segments(text) for event in decode_segment(part).events]
    kinds = [event.kind for event in events]
    told = [kind for kind in kinds if not kind.startswith("gap.")]
    assert told in (
        ["episode.opened", "step.began", "step.ended", "file.created", "episode.closed"],
        ["episode.opened", "step.began", "file.created", "step.ended", "episode.closed"],
    )
    assert [event.data["source"] for event in events if event.kind == "gap.ended"] == ["files"]
    assert f"{len(events)} events" in out_said.decode()
    assert not (tmp_path / "it.mrec.state").exists()


async def test_agentd_json_says_where_it_listens(tmp_path: Path) -> None:
    """Port, pid and episode; the port asks for the token."""
    async with Peer() as peer, DaemonProcess(peer.url, tmp_path) as daemon:
        where = orjson.loads((daemon.state / "agentd.json").read_bytes())
        assert daemon.process is not None
        assert (where["pid"], where["episode"]) == (daemon.process.pid, "E")
        health = await daemon.health()
        assert health == {
            "episode": "E",
            "through": 1,
            "shipped": health["shipped"],
            "step": None,
            "sources": {},
        }

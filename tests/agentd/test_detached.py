"""`agentd run --detach`: exit 0 when every source sees and the daemon runs, else the reason, and
nothing runs."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
from pathlib import Path

import httpx
import orjson
import pytest
from milestoned_client import ControlDir

from tests.agentd.support.peer import Peer
from tests.agentd.support.process import ROOT, DaemonProcess


async def detach(
    peer: str, folder: Path, *args: str, token: str = "secret", episode: str = "E"
) -> tuple[int, str]:
    """The command's exit code and all that it said: its pipes end with it, though the daemon goes
    on."""
    (folder / "token").write_text(token)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "agentd", "run", "--detach", "--service", peer, "--episode", episode,
        "--token-file", str(folder / "token"), "--state", str(folder / "state"), *args,
        cwd=ROOT, env=os.environ | {"PYTHONWARNINGS": "error"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    async with asyncio.timeout(60):
        said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


async def ended(pid: int) -> None:
    """Return once the process is gone."""
    async with asyncio.timeout(30):
        while _runs(pid):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


async def over_port(state: Path, path: str) -> httpx.Response:
    url, token = ControlDir(state).locate()
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {token}"}) as client:
        return await client.post(url + path, json={})


async def test_the_command_ends_and_the_daemon_sees(tmp_path: Path) -> None:
    (tmp_path / "seen").mkdir()
    state = tmp_path / "state"
    async with Peer() as peer:
        code, said = await detach(peer.url, tmp_path, "--files", f"x={tmp_path / 'seen'}")
        assert code == 0, said
        pid = int((state / "agentd.pid").read_text())
        assert said == f"agentd: ready, pid {pid}; its log: {state / 'agentd.log'}\n"
        assert (state / "ready").read_text() == f"{pid}\n"
        assert orjson.loads((state / "agentd.json").read_bytes())["pid"] == pid
        assert os.getsid(pid) == pid, "a signal to the caller's terminal must not reach it"
        assert stat.S_IMODE((state / "agentd.log").stat().st_mode) == 0o600
        assert (await over_port(state, "/v1/steps")).json()["step"] == 0
        await peer.until(lambda: "step.began" in peer.kinds)
        assert peer.kinds.index("gap.ended") < peer.kinds.index("step.began")
        assert (await over_port(state, "/v1/close")).status_code == 200
        await ended(pid)
        assert not {"agentd.pid", "agentd.json", "ready"} & {one.name for one in state.iterdir()}
        assert "The episode is closed" in (state / "agentd.log").read_text()


async def test_it_goes_on_after_a_kill_and_does_not_believe_what_the_killed_one_left(
    tmp_path: Path,
) -> None:
    (tmp_path / "seen").mkdir()
    state = tmp_path / "state"
    async with Peer() as peer:
        pids = []
        for _ in range(2):
            code, said = await detach(peer.url, tmp_path, "--files", f"x={tmp_path / 'seen'}")
            assert code == 0, said
            pids.append(int((state / "agentd.pid").read_text()))
            os.kill(pids[-1], signal.SIGKILL)
            await ended(pids[-1])
            assert (state / "ready").exists(), "nobody could remove it"
        assert pids[0] != pids[1]


async def test_one_that_runs_is_left_alone(tmp_path: Path) -> None:
    async with Peer() as peer, DaemonProcess(peer.url, tmp_path) as daemon:
        code, said = await detach(peer.url, tmp_path)
        assert (code, "another daemon works here" in said) == (2, True), said
        assert (await daemon.post("/v1/steps"))["step"] == 0


REFUSED: dict[str, tuple[dict[str, str], tuple[str, ...], int, str]] = {
    "a token that the service refuses": (
        {"token": "other"},
        (),
        3,
        "the service answered 401 to the token",
    ),
    "an episode that is none": (
        {"episode": "F"},
        (),
        2,
        "--episode F: the service does not know it",
    ),
    "a browser that does not come": (
        {},
        ("--profile", "{folder}", "--ready-wait", "8"),
        1,
        "it waits for cdp (",
    ),
}


@pytest.mark.slow_where("a browser that does not come")
@pytest.mark.parametrize(("given", "args", "code", "why"), REFUSED.values(), ids=REFUSED)
async def test_what_can_not_become_ready_ends_with_the_reason_and_the_log_s_place(
    tmp_path: Path, given: dict[str, str], args: tuple[str, ...], code: int, why: str
) -> None:
    async with Peer() as peer:
        options = [one.format(folder=tmp_path) for one in args]
        found, said = await detach(peer.url, tmp_path, *options, **given)
        assert found == code, said
        assert why in said
        assert f"its log: {tmp_path / 'state' / 'agentd.log'}" in said
        _nothing_runs(tmp_path / "state")


async def test_a_source_that_the_task_needs_and_that_is_not_given_is_the_reason_at_once(
    tmp_path: Path,
) -> None:
    """No waiting makes it seen; without --detach the daemon says so in a warning and goes on."""
    async with Peer(hears=["file.created"]) as peer:
        code, said = await detach(peer.url, tmp_path, "--ready-wait", "3600")
        assert code == 1
        assert (
            "the task needs what is not watched: files (not watched: the daemon was given no"
            " --files)" in said
        )
        _nothing_runs(tmp_path / "state")


async def test_a_service_that_does_not_answer_is_waited_for(tmp_path: Path) -> None:
    code, said = await detach("http://127.0.0.1:9", tmp_path, "--ready-wait", "1")
    assert code == 1
    assert "not ready within 1 s: it waits for the service's plan of the episode" in said
    _nothing_runs(tmp_path / "state")


def _nothing_runs(state: Path) -> None:
    assert not {"agentd.pid", "agentd.json", "ready"} & {one.name for one in state.iterdir()}
    lock = state / "lock"  # not there where the daemon was ended before it began
    assert not (lock.exists() and _runs(int(lock.read_text())))


async def test_harness_and_daemon_over_a_unix_socket(tmp_path: Path) -> None:
    """No port is open at all; the client finds the socket in the state folder."""
    (tmp_path / "seen").mkdir()
    path = tmp_path / "control.sock"
    async with Peer() as peer:
        code, said = await detach(
            peer.url, tmp_path, "--files", f"x={tmp_path / 'seen'}", "--socket", str(path)
        )
        assert code == 0, said
        where = orjson.loads((tmp_path / "state" / "agentd.json").read_bytes())
        assert (where["socket"], "port" in where) == (str(path), False)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        await asyncio.to_thread(ControlDir(tmp_path / "state").wait_ready, 10)
        pid = int((tmp_path / "state" / "agentd.pid").read_text())
        os.kill(pid, signal.SIGTERM)
        await ended(pid)
        assert not path.exists()
